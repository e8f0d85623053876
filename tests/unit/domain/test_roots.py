"""Which findings are consequences of which, by hand; and what the rules' links say together."""

import pytest

from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.findings import with_roots
from tests.support.findings import finding
from tests.support.tables import described

#: what | findings, each `id rule[:cause] start-end about`: a client that it names (`@`: and is about, `!`: is about
#: only), a `topic/queue` of broker b, a `topic/` | each consequence behind its root
_TABLE = """
what shares a client with its root follows          | d DUPLICATE_CLIENT_ID 0-600 @c1; u UNASSIGNED_QUEUE:DUPLICATE_CLIENT_ID 0-600 c1 | d u
… whichever comes first                             | u UNASSIGNED_QUEUE:DUPLICATE_CLIENT_ID 0-600 c1; d DUPLICATE_CLIENT_ID 0-600 @c1 | d u
… not with another cause                            | d DUPLICATE_CLIENT_ID 0-600 @c1; u UNASSIGNED_QUEUE:CONFIG_HOLE 0-600 c1 |
… at another time                                   | d DUPLICATE_CLIENT_ID 0-600 @c1; u UNASSIGNED_QUEUE:DUPLICATE_CLIENT_ID 600-609 c1 |
… or of another client                              | d DUPLICATE_CLIENT_ID 0-600 @c1; u UNASSIGNED_QUEUE:DUPLICATE_CLIENT_ID 0-600 c2 |
near its capacity because its threads are busy      | n NEAR_CAPACITY:HOT_QUEUE 0-900 @c1 t/0; s SLOW_LISTENER 0-900 @c1; p PRODUCER_SKEW:HOT_QUEUES 0-900 t/0 | s n
… because a queue is hot                            | n NEAR_CAPACITY:HOT_QUEUE 0-900 @c1 t/0; p PRODUCER_SKEW:HOT_QUEUES 0-900 t/0 | p n
… falls behind then                                 | n NEAR_CAPACITY:HOT_QUEUE 0-900 @c1 t/0; l CONSUMER_LAGGING 60-900 c1 | n l
… not because another client is busy                | n NEAR_CAPACITY:HOT_QUEUE 0-900 @c1 t/0; s SLOW_LISTENER 0-900 @c2 |
a retry topic fills with what was sent back         | f CONSUME_FAILING:SENT_BACK 0-900 %RETRY%g/0; l CONSUMER_LAGGING 60-900 %RETRY%g/ %RETRY%g/0 | f l
a popped topic lags as its messages come again      | p POP_REDELIVERING 0-900 t/ %RETRY%g_t/0; l CONSUMER_LAGGING 60-900 t/ | p l
… and no other topic                                | p POP_REDELIVERING 0-900 t/ %RETRY%g_t/0; l CONSUMER_LAGGING 60-900 u/ |
clients of several languages leave queues unowned   | m MIXED_CLIENTS:DIFFERENT_RULES 0-600; q UNASSIGNED_QUEUE:MIXED_CLIENTS 0-600 | m q
… a hole of the configuration is not theirs         | m MIXED_CLIENTS:DIFFERENT_RULES 0-600; q UNASSIGNED_QUEUE:CONFIG_HOLE 0-600 |
who broadcasts leaves queues unowned                | m MIXED_CLIENTS:DIFFERENT_MESSAGE_MODELS 0-600; q UNASSIGNED_QUEUE:MEMBER_BROADCASTS 0-600 | m q
… and give queues two owners                        | m MIXED_CLIENTS:DIFFERENT_RULES 0-600; q DOUBLE_OWNED_QUEUE:MIXED_CLIENTS 0-600 | m q
… but for a hole                                    | m MIXED_CLIENTS:DIFFERENT_RULES 0-600; q DOUBLE_OWNED_QUEUE:CONFIG_HOLE 0-600 |
busy with what went back, for 2 minutes             | r OFFSET_REWOUND:RESET 280-300 c1; s SLOW_LISTENER:ALL_THREADS_BUSY 419-900 @c1; o SLOW_LISTENER:ALL_THREADS_BUSY 419-900 @c2 | r s
… and no longer                                     | r OFFSET_REWOUND:RESET 280-300 c1; s SLOW_LISTENER:ALL_THREADS_BUSY 420-900 @c1; o SLOW_LISTENER:ALL_THREADS_BUSY 420-900 @c2 |
busy with the history of a topic                    | b BEGINS_AT_OLDEST:FIRST_COMMIT 100-900; s SLOW_LISTENER:ALL_THREADS_BUSY 160-900 @c1; t SLOW_LISTENER:RESPONSE_TIME_ROSE 160-900 @c1 | b s
a consequence of a consequence names the root       | r RETENTION_RISK:LOST 300-900 t/0; o RETENTION_RISK:LOST 300-900 t/1; l CONSUMER_LAGGING 60-900 c1 t/0; s SLOW_LISTENER 0-900 @c1 | s r, s l
of several roots the earliest counts, then by id    | l CONSUMER_LAGGING 100-900 c1 t/0; a SLOW_LISTENER 60-900 @c1; c SLOW_LISTENER 50-900 @c1; b SLOW_LISTENER 50-900 @c1 | b l
… but first the order of the rules                  | l CONSUMER_LAGGING 100-900 c1 t/0; b SLOW_LISTENER 50-900 @c1; h CLIENT_HUNG 90-900 !c1 t/0 | h l
the queues of a ghost stop                          | g GHOST_MEMBER 100-900 !c1 t/0; x CONSUMER_STOPPED 200-900 t/0; y CONSUMER_STOPPED 200-900 t/1 | g x
… stall                                             | g GHOST_MEMBER 100-900 !c1 t/0; x CONSUMER_STALLED 200-900 t/0; y CONSUMER_STALLED 200-900 t/1 | g x
… lag                                               | g GHOST_MEMBER 100-900 !c1 t/0; x CONSUMER_LAGGING 200-900 t/0; y CONSUMER_LAGGING 200-900 t/1 | g x
… and may lose messages                             | g GHOST_MEMBER 100-900 !c1 t/0; x RETENTION_RISK 200-900 t/0; y RETENTION_RISK 200-900 t/1 | g x
queues that can be written are stranded by removal  | b BROKER_NOT_READABLE:QUEUES_REMOVED 100-900 t/4; s STRANDED_WRITE_QUEUES 100-900 t/4 | b s
… not by a broker that left                         | b BROKER_NOT_READABLE:LEFT_ROUTE 100-900 t/4; s STRANDED_WRITE_QUEUES 100-900 t/4 |
a group lags on messages that were sent back        | f CONSUME_FAILING:SENT_BACK 100-900 %RETRY%g/0; l CONSUMER_LAGGING 100-900 c1 t/0 | f l
… a listener that fails is known by its client      | f CONSUME_FAILING:LISTENER_FAILS 100-900 %RETRY%g/0; l CONSUMER_LAGGING 100-900 c1 t/0 |
a queue lags that stopped, but not long before      | s CONSUMER_STOPPED 1000-1900 t/0; l CONSUMER_LAGGING 1000-2000 t/0; m CONSUMER_LAGGING 300-2000 t/0; n CONSUMER_LAGGING 1000-2000 t/1 | s l
… or stalled                                        | s CONSUMER_STALLED 1000-1900 t/0; l CONSUMER_LAGGING 1000-2000 t/0; m CONSUMER_LAGGING 300-2000 t/0; n CONSUMER_LAGGING 1000-2000 t/1 | s l
a queue may stand because its owner is slow         | s SLOW_LISTENER 0-900 @c1; a CONSUMER_STOPPED:SLOW_CALLS 200-900 c1; b CONSUMER_STALLED:LISTENER_HANGS 200-900 c1; c CONSUMER_STOPPED:UNEXPLAINED 200-900 c1; d CONSUMER_STOPPED:NOT_REPORTED 200-900 c1 | s a, s b, s c, s d
… or pulls seldom                                   | l LONG_PULL_INTERVAL 0-900 @c1; p CONSUMER_STOPPED:PULLS_SELDOM 200-900 c1 | l p
what stood until its group went offline             | s CONSUMER_STOPPED:SUSPENDED 100-300 t/0; g GROUP_OFFLINE:NO_HEARTBEATS 300-900 | g s
… and not if it moved before that                   | s CONSUMER_STOPPED:SUSPENDED 100-299 t/0; g GROUP_OFFLINE:NO_HEARTBEATS 300-900 |
a queue stands for a while after its broker is back | b BROKER_NOT_READABLE:LEFT_ROUTE 100-300 t/0; x CONSUMER_STOPPED 310-900 t/0 | b x
… but a flood that begins then is another matter    | b BROKER_NOT_READABLE:LEFT_ROUTE 100-300 t/0; l CONSUMER_LAGGING 310-900 t/0 |
what the application did not pull is skipped        | m MESSAGES_SKIPPED:BEGAN_AT_END 400-420 t/0; s CONSUMER_STALLED:NOT_PULLED 100-440 t/0; o CONSUMER_STALLED:NOT_PULLED 100-440 t/1 | m s
… not if it stands for another reason               | s SLOW_LISTENER 0-900 @c1; m CONSUMER_STOPPED:NO_MASTER 200-900 c1; n CONSUMER_STALLED:NOT_LISTED 200-900 c1; p CONSUMER_STOPPED:SUSPENDED 200-900 c1 |
"""  # noqa: E501 - a table


def roots(*found: Finding) -> dict[str, str | None]:
    return {finding.finding_id: finding.root_finding_id for finding in with_roots(found)}


def written(text: str) -> Finding:
    finding_id, kind, time, *about = text.split()
    rule, _, cause = kind.partition(":")
    start, end = map(int, time.split("-"))
    places = [word.partition("/") for word in about if "/" in word]
    clients = [word for word in about if "/" not in word]
    return finding(
        *(finding_id, rule, start, end, cause or None),
        topic=next((topic for topic, _, number in places if not number), None),
        queues=[(topic, "b", int(number), "") for topic, _, number in places if number],
        client_id=next((word[1:] for word in clients if word[0] in "@!"), None),
        client_ids=[word.lstrip("@") for word in clients if word[0] != "!"],
    )


@pytest.mark.parametrize(("findings", "expected"), described(_TABLE))
def test_a_consequence_names_its_root(findings: str, expected: str) -> None:
    found = [written(text) for text in findings.split(";")]
    named = {symptom: root for root, symptom in map(str.split, filter(None, expected.split(",")))}
    assert roots(*found) == dict.fromkeys(one.finding_id for one in found) | named


def test_a_group_whose_name_is_a_client_id_is_no_client() -> None:
    duplicates = written("d DUPLICATE_CLIENT_ID 0-600 @c1")
    unowned = written("u UNASSIGNED_QUEUE:DUPLICATE_CLIENT_ID 0-600 c2")._replace(subject="c1")
    assert roots(duplicates, unowned)["u"] is None


@pytest.mark.parametrize(("began", "root"), [(1, "twins"), (601, None)])
def test_what_stood_long_before_is_no_consequence(began: int, root: str | None) -> None:
    """The twins come so many seconds after the uneven shares."""
    uneven = finding("l", "LOAD_IMBALANCE", 0, 3600, "HASH_RING", conflicting_values=[("4 queues", ("c1", "c2"))])
    later = finding("twins", "DUPLICATE_CLIENT_ID", began, 3000, client_id="c1", client_ids=["c1"])
    assert roots(uneven, later)["l"] == root


def test_the_links_of_the_rules_name_rules_and_causes_that_exist_and_make_no_circle() -> None:
    follows = {rule.name: [link.root for link in rule.follows if link.root != rule.name] for rule in RULES}
    causes = {rule.name: set(rule.causes) for rule in RULES}
    for rule in RULES:
        for link in rule.follows:
            assert link.root in follows
            # Of one rule, a cause follows from others that follow from none of it.
            assert link.root != rule.name or not set(link.causes or causes[rule.name]) & set(link.root_causes or ())
            assert set(link.causes or ()) <= causes[rule.name]
            assert set(link.root_causes or ()) <= causes[link.root]
    settled: set[str] = set()
    while waiting := [name for name, above in follows.items() if name not in settled and settled.issuperset(above)]:
        settled.update(waiting)
    assert settled == set(follows)


@pytest.mark.parametrize(
    ("sources", "root"),
    [
        (["offset_snapshots: u"], "m"),
        (["offset_snapshots: t"], None),  # all members subscribe to it
        (["membership_snapshots", "offset_snapshots: u"], None),  # the recorder stood
    ],
)
def test_brokers_leave_out_the_offsets_of_topics_that_only_some_subscribe(sources: list[str], root: str | None) -> None:
    said = [("t: *", ("c1",)), ("t: *, u: a, b", ("c2",))]
    mismatch = finding("m", "SUBSCRIPTION_MISMATCH", 0, 900, "DIFFERENT_TOPICS", conflicting_values=said)
    gap = finding("g", "UNOBSERVED", 300, 900, "NO_SNAPSHOTS", conflicting_values=[(name, None) for name in sources])
    assert roots(mismatch, gap) == {"m": None, "g": root}
