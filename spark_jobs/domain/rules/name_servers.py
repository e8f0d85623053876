"""Name servers that do not know a broker of a topic: clients that ask them do not reach it."""

from collections.abc import Collection, Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.window import Time
from spark_jobs.domain.phrases import names_text


def server_routes(step: AuditedStep, topic: str, time: Time) -> Iterator[tuple[str, tuple[RouteEntry, ...]]]:
    """(address, route) of what single name servers said of a topic in the time; of one server each route once."""
    series = step.history.server_routes.get(topic)
    if series is not None:
        codes = series.codes[series.inside(*time)].tolist()
        yield from dict.fromkeys(answer for code in dict.fromkeys(codes) for answer in series.states[code])


def unknown_to(step: AuditedStep, topic: str, brokers: Collection[str], time: Time) -> str | None:
    """Sentences: which name server's route lacked which of the brokers in the time; None: none did."""
    lacking: dict[str, set[str]] = {}
    for address, route in server_routes(step, topic, time):
        if missing := set(brokers) - {entry.broker_name for entry in route}:
            lacking.setdefault(address, set()).update(missing)
    texts = (
        f"Name server {address} does not know {names_text(sorted(names))}: clients that ask it for the route "
        "do not connect there."
        for address, names in sorted(lacking.items())
    )
    return " ".join(texts) or None
