"""Steps whose sources changed after they were audited are audited again, and no others.

Airflow's Variables say which warehouse.
"""

from rebalance_audit_factory import Fleet, late_dag

dag = late_dag(Fleet())
dag.doc_md = __doc__
