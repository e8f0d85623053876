"""A DAG file of a user, for Airflow: three fleets, each with an operator of its own."""

from typing import Any

from airflow.sdk import BaseOperator
from rebalance_audit_factory import audits  # type: ignore[import-not-found]
from rebalance_audit_tasks import CommandOperator  # type: ignore[import-not-found]


class PodOperator(BaseOperator):
    """Stands for one that starts a pod."""

    template_fields = ("arguments",)

    def __init__(self, *, arguments: list[str], **settings: Any) -> None:
        super().__init__(**settings)
        self.arguments = arguments


def in_pod(*, words: list[str], connection: str, **settings: Any) -> BaseOperator:
    return PodOperator(arguments=words, **settings)


audits("eu", warehouse="s3a://lake/eu", connection="spark_eu", config="/etc/eu.yaml")
audits("us", warehouse="s3a://lake/us", operator=CommandOperator, hourly="15 * * * *")
audits("cn", warehouse="s3a://lake/cn", operator=in_pod)
