"""Recording a cluster, without one."""
