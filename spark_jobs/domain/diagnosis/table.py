"""Why a queue stands: one table. The first line that fits is the cause, and the last one fits everything."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.domain.diagnosis.facts import Facts


class StandingCause(StrEnum):
    """Why a queue stands, in the order in which the table looks for it."""

    NO_MASTER = "NO_MASTER"
    PRIORITY_STARVATION = "PRIORITY_STARVATION"
    NOT_ACKNOWLEDGED = "NOT_ACKNOWLEDGED"
    NOT_CONSUMED = "NOT_CONSUMED"
    NOT_IN_GROUP = "NOT_IN_GROUP"
    NO_ANSWER = "NO_ANSWER"
    NOT_LISTED = "NOT_LISTED"
    NOT_TAKEN = "NOT_TAKEN"
    NO_LOCK = "NO_LOCK"
    PULLS_SELDOM = "PULLS_SELDOM"
    NO_PULL = "NO_PULL"
    FILTERED = "FILTERED"
    COMMITS_SELDOM = "COMMITS_SELDOM"
    NOT_COMMITTED = "NOT_COMMITTED"
    NEVER_COMMITTED = "NEVER_COMMITTED"
    OWNERS_UNKNOWN = "OWNERS_UNKNOWN"
    MISCOUNTED = "MISCOUNTED"
    EXPIRED = "EXPIRED"
    SUSPENDED = "SUSPENDED"
    NOTHING_PULLED = "NOTHING_PULLED"
    RETRIED_IN_PLACE = "RETRIED_IN_PLACE"
    NOT_SENT_BACK = "NOT_SENT_BACK"
    SPAN_LIMIT = "SPAN_LIMIT"
    HELD_BACK = "HELD_BACK"
    SLOW_CALLS = "SLOW_CALLS"
    LISTENER_HANGS = "LISTENER_HANGS"
    NOT_PULLED = "NOT_PULLED"
    UNEXPLAINED = "UNEXPLAINED"
    NOT_REPORTED = "NOT_REPORTED"


@dataclass(frozen=True)
class TableLine:
    """One line: when it is the cause (`fits`, and `when` in words), the one thing to do, and the bottleneck that it is
    (`status.capacity.Limit`). `headline`: of an incident, instead of its rule's. `rules`: those that report it.
    `thread_dump`: a message may be in a call of the listener, or the process is silent, so its stacks show why.
    """

    cause: StandingCause
    fits: Callable[[Facts], bool]
    when: str
    advice: str
    bottleneck: str
    headline: str = ""
    rules: tuple[str, ...] = ("CONSUMER_STOPPED", "CONSUMER_STALLED")
    thread_dump: bool = False


def _takes_nothing(facts: Facts) -> bool:
    """Return whether pulls continue and bring nothing."""
    return facts.in_hand == "NOTHING" and facts.pulls in ("CONTINUE", None)


def _is_not_committed(facts: Facts) -> bool:
    """Return whether the group reads on while its offset stands, and nothing that is in hand explains it."""
    if facts.in_hand in ("SOME", "SPAN_LIMIT"):
        return facts.oldest == "ANOTHER" and facts.orderly is False and facts.listener == "FINISHES"
    is_known = facts.in_hand == "NOTHING" or facts.by_hand
    return facts.commits == "OVERDUE" or (facts.reads_on is True and is_known)


def _may_be_filtered(facts: Facts) -> bool:
    """Return whether nothing shows that the owner hangs. Java clients commit what the broker skipped
    (`DefaultMQPushConsumerImpl.correctTagsOffset`), unless the application decides when to pull: none is excused.
    """
    if not facts.filtered or facts.owner != "CLIENT":
        return False
    if facts.java is True and not facts.by_hand:
        return False
    is_idle = facts.in_hand == "NOTHING" and facts.listener != "FAILS"
    return is_idle or (facts.process is None and facts.java is False)


def _leaves_out(facts: Facts) -> bool:
    """Return whether the application did not pull the queue in most of the time, and has no offset of it."""
    return facts.by_hand and facts.commits == "NEVER" and facts.reads_on is False


def _is_retried_in_place(facts: Facts) -> bool:
    """Return whether an orderly consumer takes one message again and again (`ConsumeMessageOrderlyService`)."""
    tries = facts.listener in ("FAILS", "FINISHES")
    return facts.orderly is True and tries and facts.oldest == "COMMITTED"


def _is_not_sent_back(facts: Facts) -> bool:
    """Return whether the client keeps what its listener rejects, and tries it again, as it cannot send it back
    (`ConsumeMessageConcurrentlyService.processConsumeResult`).
    """
    keeps = facts.orderly is False and facts.oldest == "COMMITTED"
    return keeps and facts.listener == "FAILS" and facts.sent_back is False


def _hangs(facts: Facts) -> bool:
    """Return whether the owner has messages in hand and finishes none. At the limit of the span it may wait for one
    message only, unless several queues, all that it has, stand.
    """
    all_stand = facts.extent in ("ALL_OF_OWNER", "ALL_OF_TOPIC")
    is_in_hand = facts.in_hand == "SOME" or (facts.in_hand == "SPAN_LIMIT" and all_stand)
    return is_in_hand and facts.listener == "DOES_NOT_RETURN"


LINES: tuple[TableLine, ...] = (
    TableLine(
        StandingCause.NO_MASTER,
        lambda facts: facts.masterless,
        "the route named only slaves of the queues' broker when they stopped",
        "Bring the broker's master back. Orderly consumers wait for locks that only a master gives. Others read from a "
        "slave, unless it does not serve them (`slaveReadEnable`, RocketMQ issue #9879) or their client uses masters "
        "only (Go: issue #4840).",
        "NO_MASTER",
    ),
    TableLine(
        StandingCause.PRIORITY_STARVATION,
        lambda facts: facts.starved,
        "a PRIORITY topic with POP, and a queue with a higher id on the same broker was consumed (INFO)",
        "Higher priorities take all that the consumers can do. Add consumers, or lower the group's `priority.factor`, "
        "so that some requests take the queues in turn.",
        "STUCK_CONSUMER",
    ),
    TableLine(
        StandingCause.NOT_ACKNOWLEDGED,
        lambda facts: facts.blocked and facts.owner in ("HANDED_OUT", "UNSEEN"),
        "POP, or behind a proxy: the topic is ordered (FIFO), and other queues of its broker are consumed",
        "The group consumes other queues of that broker. In order, a broker hands out nothing behind a message that is "
        "not acknowledged. Look which consumer has the message at the committed offset, and whether its listener "
        "returns. If none has it, the answer to a request was lost: the message comes again when its invisible time is "
        "over, which a proxy may renew for three hours (RocketMQ issue #10827).",
        "UNKNOWN_OWNERS",
        headline="A message of {queues} is not acknowledged in {groups}, and all behind it wait",
    ),
    TableLine(
        StandingCause.NOT_CONSUMED,
        lambda facts: facts.owner in ("HANDED_OUT", "UNSEEN"),
        "POP, or behind a proxy: the offsets stand",
        "No consumer asks for these messages or acknowledges them. Check that the consumers run, and that they or the "
        "proxies reach the brokers of these queues. Restart clients that get nothing since their proxy was restarted "
        "(RocketMQ issue #9170).",
        "UNKNOWN_OWNERS",
        headline="No consumer of {groups} asks for the messages of {queues}",
    ),
    TableLine(
        StandingCause.NOT_IN_GROUP,
        lambda facts: facts.process == "NOT_IN_GROUP",
        "the owner answers that it has no consumer of the group",
        "Restart that process: brokers list a member whose consumer was shut down.",
        "STUCK_CONSUMER",
    ),
    TableLine(
        StandingCause.NO_ANSWER,
        lambda facts: facts.process == "SILENT",
        "the owner does not answer",
        "The process hangs, or its host or network is down. If it runs, take a thread dump, check for long garbage "
        "collection pauses, and restart it.",
        "STUCK_CONSUMER",
        thread_dump=True,
    ),
    TableLine(
        StandingCause.NOT_LISTED,
        lambda facts: facts.listed is False,
        "the queues' broker does not list the owner, and other brokers do",
        "The client is not connected to the broker of these queues. Check that its host reaches the address that the "
        "broker registers.",
        "UNREACHABLE_BROKER",
    ),
    TableLine(
        StandingCause.NOT_TAKEN,
        lambda facts: facts.holds is False,
        "the owner does not hold the queue",
        "The owner does not hold these queues, so another client does, or none. Compare its route, strategy, version "
        "and subscriptions with those of the other members. Restart it if they are the same.",
        "ALLOCATION_DRIFT",
    ),
    TableLine(
        StandingCause.NO_LOCK,
        lambda facts: facts.lock == "MISSING",
        "the orderly owner lacks the broker's lock",
        "Another client holds the lock, which expires 60 s after its last renewal. Check for a consumer that stopped "
        "without shutdown, a shared client id, and different member lists.",
        "ORDERLY_LOCKS",
    ),
    TableLine(
        StandingCause.PULLS_SELDOM,
        lambda facts: facts.pulls == "SELDOM",
        "the owner's pullInterval is longer than `pull_idle_seconds`",
        "Set pullInterval to less than two minutes.",
        "NO_PROGRESS",
    ),
    TableLine(
        StandingCause.NO_PULL,
        lambda facts: facts.pulls == "STOPPED",
        "the owner answers, and its last pull is more than `pull_idle_seconds` old",
        "The client's pull thread (PullMessageService in Java) is stuck, or has lost the pull requests of these "
        "queues. Take a thread dump and restart the client.",
        "STUCK_CONSUMER",
        thread_dump=True,
    ),
    TableLine(
        StandingCause.FILTERED,
        _may_be_filtered,
        "the group filters, its client snapshots show no sign that it hangs, and they are not of a Java push consumer; "
        "or it has neither Java clients nor client snapshots (INFO)",
        "The waiting messages may all be ones that the group does not subscribe to. Clients such as rocketmq-client-go "
        "before its pull request 834 commit only when a message of theirs arrives: upgrade them. Record client "
        "snapshots to see whether the client pulls.",
        "FILTERED",
    ),
    TableLine(
        StandingCause.COMMITS_SELDOM,
        lambda facts: facts.commits == "SELDOM" and facts.in_hand != "SOME",
        "all queues of the topic are committed at once, at even distances of a minute or more (INFO)",
        "The application commits its offsets seldom, as with checkpoints. The lag between two commits says nothing, "
        "and what is not committed comes again after it ends. Commit more often if that is too much.",
        "COMMITS_SELDOM",
        rules=("COMMITS_SELDOM",),
    ),
    TableLine(
        StandingCause.NOT_COMMITTED,
        _is_not_committed,
        "no commit for twice the usual distance; or the broker's pull offset advances or the client finishes messages, "
        "while the committed offset stands",
        "The group reads on, or did, and does not commit. Look for checkpoints or commits that fail in the "
        "application's log. All that is not committed comes again after it ends.",
        "NOT_COMMITTED",
        headline="No offset of {queues} in {groups} is committed any more",
    ),
    TableLine(
        StandingCause.NEVER_COMMITTED,
        # If its pulls are known to bring nothing, neither its host, nor its pulls, nor its listener is the cause.
        lambda facts: (
            facts.commits == "NEVER"
            and (facts.in_hand, facts.pulls) != ("NOTHING", "CONTINUE")
            and not _leaves_out(facts)
        ),
        "no committed offset, although messages came for `stalled_after_seconds` (WARN if no queue of the topic has "
        "one: the application may keep its offsets elsewhere), and no report shows that pulls bring nothing",
        "No message of these queues was ever consumed. Check that the owner's host reaches the address that the broker "
        "registers, that the owner pulls the queue, and that its first message does not hang in the listener.",
        "NO_PROGRESS",
    ),
    TableLine(
        StandingCause.OWNERS_UNKNOWN,
        lambda facts: facts.owner == "STRATEGY_UNKNOWN",
        "the strategy or a setting of it is unknown",
        "Which members consume these queues is not known. Configure what STRATEGY_UNKNOWN names: then the owner is "
        "known, or why there is none.",
        "UNKNOWN_OWNERS",
    ),
    TableLine(
        StandingCause.MISCOUNTED,
        lambda facts: facts.in_hand == "MISCOUNTED",
        "the owner reports no message in hand, and more MiB than its `pullThresholdSizeForQueue`",
        "The client's count of what it holds is wrong, so it fetches nothing: the listener is not slow. Java clients "
        "before 5.2.0 miscount if the listener changes the body of a message (RocketMQ issue #7538). Upgrade them. "
        "Until then restart the client, and let the listener copy the message.",
        "NO_PROGRESS",
        headline="{members} in {groups} {members:fetches|fetch} nothing from {queues}: "
        "{members:it counts|they count} them as full, and {members:holds|hold} no message",
    ),
    TableLine(
        StandingCause.EXPIRED,
        lambda facts: facts.expired and _takes_nothing(facts),
        "the owner has nothing in hand, nothing came meanwhile, and the broker does not have the message before the "
        "offset, which is above its oldest offset (WARN)",
        "The broker deleted the messages before the group consumed them. Clients such as rocketmq-client-go (issue "
        "#571) do not commit past deleted messages. To be sure, ask for the message at the offset (`mqadmin "
        "queryMsgByOffset`). If it is gone, reset the group to the newest offset. If it is there, look in the client's "
        "log for a refused pull.",
        "EXPIRED",
        headline="What {groups} has not consumed of {queues} is probably deleted",
    ),
    TableLine(
        StandingCause.SUSPENDED,
        lambda facts: _takes_nothing(facts) and facts.extent != "SOME",
        "the owner answers and pulls, and has nothing in hand, in all of its queues",
        "The client was suspended by code, or its pulls are refused: nothing is in its listener. Look in its log for "
        "`consumer was paused`, or for a refused pull: permission, access control, a disabled or missing group, SQL "
        "without the broker's `enablePropertyFilter`. Call resume() or restart it.",
        "SUSPENDED",
        headline="{members} in {groups} {members:fetches|fetch} nothing from {queues}: suspended, or refused",
    ),
    TableLine(
        StandingCause.NOTHING_PULLED,
        _takes_nothing,
        "the owner answers and pulls, and has nothing in hand, in some of its queues only",
        "The broker has nothing for these pulls, or refuses them. Look for pull errors of these queues in the client's "
        "log: permission, access control, a group that was not created on that broker, SQL without the broker's "
        "`enablePropertyFilter`. Compare the subscriptions of the members.",
        "SUSPENDED",
        headline="{members} in {groups} {members:gets|get} nothing from {queues}, though {members:it pulls|they pull}",
    ),
    TableLine(
        StandingCause.RETRIED_IN_PLACE,
        _is_retried_in_place,
        "an orderly listener rejects the message at the committed offset again and again",
        "Look for the listener's exception of this message. A restart fetches it again. Skip it, or set "
        "maxReconsumeTimes: orderly consumers retry without a limit by default, then it becomes a dead letter. A Go "
        "listener that returns ConsumeRetryLater in order blocks its queues until a restart (rocketmq-client-go issue "
        "#1229).",
        "RETRIED_IN_PLACE",
        headline="One message of {queues} fails again and again in {groups}, and all behind it wait",
        rules=("CONSUME_FAILING",),
    ),
    TableLine(
        StandingCause.NOT_SENT_BACK,
        _is_not_sent_back,
        "a listener that does not consume in order fails, the client keeps the message at the committed offset, and "
        "nothing comes into the retry topic",
        "The client cannot send back what its listener rejects. It keeps it, tries it again every 5 s, and commits no "
        "offset behind it. Look in its log for `sendMessageBack exception`: access control must let the group write to "
        "the topic and to its retry topic (RocketMQ issue #2441). And look for the listener's exception.",
        "RETRIED_IN_PLACE",
        headline="{groups} cannot send back what fails of {queues}, and all behind it wait",
        rules=("CONSUME_FAILING",),
    ),
    TableLine(
        StandingCause.SPAN_LIMIT,
        lambda facts: facts.in_hand == "SPAN_LIMIT" and facts.listener != "FINISHES" and not _hangs(facts),
        "one message is not finished, the client may hold no later ones, and does not finish any",
        "One old message is not finished, newer ones are. Take a thread dump to see whether a listener call hangs, and "
        "restart the client.",
        "HELD_BACK",
        rules=("FLOW_CONTROLLED",),
        thread_dump=True,
    ),
    TableLine(
        StandingCause.HELD_BACK,
        lambda facts: facts.oldest == "COMMITTED" and facts.listener == "FINISHES" and facts.orderly is False,
        "one message is not finished, and later ones are",
        "Take a thread dump: a listener call may hang, or the client has lost the message after a call that took too "
        "long. Restart the client, and let the listener tolerate duplicates.",
        "HELD_BACK",
        rules=("OFFSET_HELD_BACK",),
        thread_dump=True,
    ),
    TableLine(
        StandingCause.SLOW_CALLS,
        lambda facts: facts.in_hand == "SOME" and facts.listener == "SLOW",
        "the owner reports that a call of its listener takes half as long, or longer (WARN)",
        "The listener works on a message for as long as the queue stands. Make it faster, or give the client more "
        "threads.",
        "LISTENER_AND_QUEUES",
    ),
    TableLine(
        StandingCause.LISTENER_HANGS,
        _hangs,
        "the owner has messages in hand and finishes none",
        "A call of the listener does not return. Take a thread dump of the queue's owner to see where it hangs, and "
        "restart it if it does not recover: that does not help if the next owner hangs as well.",
        "STUCK_CONSUMER",
        headline="Listeners of {groups} hang with messages of {queues}",
        thread_dump=True,
    ),
    TableLine(
        StandingCause.NOT_PULLED,
        lambda facts: _leaves_out(facts) or (facts.by_hand and facts.process == "ANSWERS" and facts.in_hand is None),
        "the application decides what it pulls (CONSUME_ACTIVELY), and its client answers and reports no queues; "
        "or the broker has pull offsets, and no offset of this queue",
        "The application chooses the queues that it pulls, and does not pull these, or gets nothing from them. Look at "
        "its list of queues (assign, fetchSubscribeMessageQueues): one from before they were added, or from a time "
        "without their broker, lacks them. Restart the application.",
        "NO_PROGRESS",
        headline="The application of {groups} pulls nothing from {queues}",
    ),
    TableLine(
        StandingCause.UNEXPLAINED,
        lambda facts: facts.process == "ANSWERS",
        "the owner answers, and nothing that it reports shows why",
        "What the owner reports does not show why. Look in its log for errors of these queues since then.",
        "NO_PROGRESS",
    ),
    TableLine(
        StandingCause.NOT_REPORTED,
        lambda _: True,
        "the owner's running info is not recorded",
        "Why is not known: the owner may hang, be suspended, commit seldom, or not hold the queue. Look in its log, "
        "and whether it pulls (`mqadmin consumerStatus`).",
        "NO_PROGRESS",
    ),
)
LINE_OF = {line.cause: line for line in LINES}


def line_of(facts: Facts) -> TableLine:
    """The line of these facts: the first that fits."""
    return next(line for line in LINES if line.fits(facts))
