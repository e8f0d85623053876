"""Audits every hour (checks the sources, stages the results), publishes it (checks the results), and sends
notifications.

`audit` and `publish` are the tasks of `rebalance-audit task`, a Spark application each; the others need no Spark. Each
may be retried or cleared at any time. Airflow's Variables say which warehouse.
"""

from rebalance_audit_factory import Fleet, hourly_dag

dag = hourly_dag(Fleet())
dag.doc_md = __doc__
