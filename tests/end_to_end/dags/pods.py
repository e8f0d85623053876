"""Print the DAGs of `examples/airflow_pods.py` as Airflow reads them, as JSON."""

import json
from pathlib import Path
from typing import Any

from airflow.dag_processing.dagbag import BundleDagBag

from tests.end_to_end.dags.describe import context

EXAMPLE = Path(__file__).parents[3] / "examples" / "airflow_pods.py"


def main() -> None:
    bag = BundleDagBag(EXAMPLE, bundle_path=EXAMPLE.parent, bundle_name="pods")
    tasks: dict[str, tuple[Any, Any]] = {
        f"{dag.dag_id}.{task.task_id}": (dag, task) for dag in bag.dags.values() for task in dag.tasks
    }
    for dag, task in tasks.values():
        task.render_template_fields(context(dag, task))
    found = {
        "errors": bag.import_errors,
        "types": sorted({task.task_type for _, task in tasks.values()}),
        "then": {name: sorted(task.downstream_task_ids) for name, (_, task) in tasks.items()},
        "undocumented": [name for name, (_, task) in tasks.items() if not task.doc_md],
        "until": tasks["audit_hourly.wait"][1].target_time,
        "words": {name: task.arguments for name, (_, task) in tasks.items() if hasattr(task, "arguments")},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
