"""Re-audit the steps whose sources changed since, in the warehouse of Airflow's Variables."""

from rebalance_audit_factory import Fleet, late_dag

dag = late_dag(Fleet())
dag.doc_md = __doc__
