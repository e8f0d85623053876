"""Audits what was recorded and no run has audited, a few steps an hour, in the warehouse of Airflow's Variables."""

from rebalance_audit_factory import Fleet, missing_dag

dag = missing_dag(Fleet())
dag.doc_md = __doc__
