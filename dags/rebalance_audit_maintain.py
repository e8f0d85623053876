"""Compacts the tables once a day, removes old files and rows as Airflow's Variables say, and checks constraints."""

from rebalance_audit_factory import Fleet, maintain_dag

dag = maintain_dag(Fleet())
dag.doc_md = __doc__
