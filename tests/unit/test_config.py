"""Configuration files: every mistake is named with its place, and precedence is as documented."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.config.file import load
from spark_jobs.domain.model.silences import Silence, silence_reason
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings, to_micros
from spark_jobs.domain.rocketmq.strategies import ConfigQueues, Strategy, StrategySettings
from spark_jobs.errors import ConfigurationError

EXAMPLES = Path(__file__).parents[2] / "examples"


def write(tmp_path: Path, text: str | bytes) -> Path:
    file = tmp_path / "audit.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


MISTAKES = {
    "- 1": "must be a mapping of keys to values, not [1]",
    "step: 3600": "step: unknown key; did you mean 'step_seconds'?",
    "1: 2": "[1]: unknown key; known are step_seconds, cadence_seconds, max_gap_seconds, sightings_days, "
    "complete_share, thresholds, quality, groups, mutes, routes, report_url, language",
    "groups: [{strateggy: AVG}]": "groups[0].strateggy: unknown key; did you mean 'strategy'?",
    "thresholds: {heart_beat: 3}": "thresholds.heart_beat: unknown key; did you mean 'heartbeat_seconds'?",
    "quality: {max_quarantined: 3}": ("quality.max_quarantined: unknown key; did you mean 'max_quarantined_percent'?"),
    "quality: {seen_percent: 101}": "quality.seen_percent: must be less than or equal to 100, not 101",
    "quality: {usual_deviations: 0}": "quality.usual_deviations: must be greater than 0, not 0",
    "quality: {usual_days: 1.5}": "quality.usual_days: must be a whole number, not 1.5",
    "groups: [{config_queues: [{client: a, topic: t, broker: b, queue: [], queues: []}]}]":
     "groups[0].config_queues[0].queue: unknown key; did you mean 'queues'?",
    "groups: [{config_queues: [{client: a, topic: t, broker: b}]}]": ("groups[0].config_queues[0].queues: is missing"),
    "step_seconds: '3600'": "step_seconds: must be a whole number, not '3600'",
    "step_seconds: 3600.0": "step_seconds: must be a whole number, not 3600.0",
    "step_seconds: yes": "step_seconds: must be a whole number, not true",
    "step_seconds:": "step_seconds: must be a whole number, not empty",
    "thresholds: 30": "thresholds: must be a mapping of keys to values, not 30",
    "groups: AVG": "groups: must be a list, not 'AVG'",
    "groups: [AVG]": "groups[0]: must be a mapping of keys to values, not 'AVG'",
    "groups: [{group: on}]": "groups[0].group: must be text (quote it), not true",
    "groups: [{rooms: dc1}]": "groups[0].rooms: must be a list, not 'dc1'",
    "cadence_seconds: -20": "cadence_seconds: must be greater than 0, not -20",
    "cadence_seconds: 99999999999999999999":
     "cadence_seconds: must be less than or equal to 604800, not 99999999999999999999",
    "thresholds: {heartbeat_seconds: -1}": ("thresholds.heartbeat_seconds: must be greater than or equal to 0, not -1"),
    "groups: [{virtual_node_count: -1}]": ("groups[0].virtual_node_count: must be greater than or equal to 0, not -1"),
    "step_seconds: 7000": "step_seconds: a step of 7000 s does not divide a day: choose for example 300, 3600 or 86400",
    "step_seconds: 10": ("step_seconds (10) is shorter than cadence_seconds (20): a step would hold no snapshot"),
    "max_gap_seconds: 19":
     "max_gap_seconds (19) is shorter than cadence_seconds (20): a gap would follow every snapshot",
    "groups: [{strategy: AVG_BY_CIRCEL}]":
     "groups[0].strategy: unknown strategy 'AVG_BY_CIRCEL'; did you mean 'AVG_BY_CIRCLE'?",
    "groups: [{strategy: MACHINE_ROOM_NEARBY-CONFIG}]":
     "groups[0].strategy: unknown strategy 'MACHINE_ROOM_NEARBY-CONFIG'; did you mean 'MACHINE_ROOM_NEARBY-AVG'?",
    "groups: [{group: '('}]": "groups[0].group: '(' is not a regular expression that Python and Java agree on: "
     "missing ), unterminated subpattern at position 0",
    "groups: [{group: '[a&&b]'}]":
     "groups[0].group: '[a&&b]' is not a regular expression that Python and Java agree on: "
     "Possible set intersection at position 2",
    "groups: [{group: '(?P<g>a)'}]": "groups[0].group: '(?P<g>a)' has '(?P', which Java reads differently",
    "groups: [{broker_room: 'a'}]": ("groups[0].broker_room: 'a' must have exactly one (group), which is the room"),
    "groups: [{client_room: '(a)(b)'}]":
     "groups[0].client_room: '(a)(b)' must have exactly one (group), which is the room",
    "groups: [{thresholds: {allowed_lug: 1}}]":
     "groups[0].thresholds: unknown key 'allowed_lug'; did you mean 'allowed_lag'?",
    "groups: [{thresholds: {allowed_lag: -1}}]":
     "groups[0].thresholds: allowed_lag must be greater than or equal to 0, not -1",
    "groups: [{thresholds: {persistent_after_seconds: 9}}]":
     "groups[0].thresholds: persistent_after_seconds is the same for all groups: it says how far back a run reads",
    "mutes: [{rule: SLOW_LISTNER, reason: r}]":
     "mutes[0].rule: unknown rule 'SLOW_LISTNER'; did you mean 'SLOW_LISTENER'?",
    "mutes: [{rule: SLOW_LISTENER}]": "mutes[0].reason: is missing",
    "mutes: [{reason: ''}]": "mutes[0].reason: String should have at least 1 character, not ''",
    "mutes: [{reason: r, until: soon}]":
     "mutes[0].until: 'soon' is not a time: write it as 2026-11-21T02:00 or 2026-11-21T02:00:00Z (UTC)",
    "routes: [{team: a, to: f, groups: g}]": "routes[0].groups: unknown key; did you mean 'group'?",
    "routes: [{team: a, to: f}, {team: ''}]":
     "routes[1].team: String should have at least 1 character, not ''\n{file}: routes[1].to: is missing",
    "routes: [{team: a, to: f, cluster: '['}]":
     "routes[0].cluster: '[' is not a regular expression that Python and Java agree on: "
     "unterminated character set at position 0",
    "routes: [{team: a, to: f, rule: SLOW}]": "routes[0].rule: 'SLOW' matches no rule; did you mean 'SLOW_LISTENER'?",
    "routes: [{team: a, to: f, severity: warn}]": "routes[0].severity: must be 'INFO', 'WARN' or 'ERROR', not 'warn'",
    "report_url: http://a/b": "report_url: 'http://a/b' must contain {id}, which becomes the id of an incident",
    # Every mistake of a file is reported at once.
    "step_seconds: x\ngroups: [{grup: a}]":
     "step_seconds: must be a whole number, not 'x'\n{file}: groups[0].grup: unknown key; did you mean 'group'?",
    "step_seconds: 60\nstep_seconds: 300": "line 2: the key 'step_seconds' stands twice in one mapping",
    "groups:\n- {group: a,\n   group: b}": "line 3: the key 'group' stands twice in one mapping",
    "groups: [\n": "line 2: expected the node content, but found '<stream end>'",
    "a: 1\n---\nb: 2": "line 2: but found another document",
    "step_seconds: 2026-99-99": "is not YAML: month must be in 1..12",
}  # fmt: skip


@pytest.mark.parametrize(("text", "mistake"), MISTAKES.items())
def test_a_mistake_is_named_with_file_and_place(tmp_path: Path, text: str, mistake: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigurationError) as raised:
        load(file)
    assert str(raised.value) == f"{file}: {mistake}".replace("{file}", str(file))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    with pytest.raises(ConfigurationError, match=r"missing\.yaml: cannot be read: No such file or directory"):
        load(missing)
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        load(tmp_path)
    with pytest.raises(ConfigurationError, match=r"audit.yaml: is not UTF-8 \(byte 3\)"):
        load(write(tmp_path, b"a: \xff"))
    with pytest.raises(ConfigurationError, match="is not YAML: unacceptable character #x0001"):
        load(write(tmp_path, "\x01"))


def test_nothing_is_required(tmp_path: Path) -> None:
    assert load(write(tmp_path, "# nothing\n")) == load(None) == Configuration()
    assert strategy_settings(Configuration(), "any", "group") == StrategySettings()


def test_times_follow_from_each_other() -> None:
    default = Configuration()
    assert (default.cadence, default.max_gap) == (timedelta(seconds=20), timedelta(seconds=60))
    assert (default.warm_up, default.look_back) == (timedelta(seconds=360), timedelta(seconds=420))
    # The longest of: what is persistent, the window of a verdict in seconds, and in samples.
    for thresholds, warm_up in (
        ({"persistent_after_seconds": 301}, 361),
        ({"verdict_window_seconds": 301}, 361),
        ({"verdict_window_readings": 17}, 380),
    ):
        assert Configuration(thresholds=Thresholds(**thresholds)).warm_up == timedelta(seconds=warm_up)
    assert default.grid.length == timedelta(hours=1)
    assert Configuration(cadence_seconds=10, max_gap_seconds=45).max_gap == timedelta(seconds=45)


def test_the_hash_is_of_the_meaning_not_of_the_text(tmp_path: Path) -> None:
    configuration = load(
        write(tmp_path, "max_gap_seconds: 60\nthresholds: {convergence_seconds: 20, skew_ratio: 2}\ngroups: []")
    )
    assert configuration.hash() == Configuration().hash() == Configuration(complete_share=0.5).hash()
    assert Configuration(report_url="http://a/{id}", language="zh").canonical_json() == configuration.canonical_json()
    assert configuration.canonical_json() == (
        '{"cadence_seconds":20,"complete_share":0.9,"groups":[],"max_gap_seconds":60,"mutes":[],"quality":{"max_quarantined_percent":1.0,'
        '"offset_tolerance":10000,"seen_percent":90.0,"usual_days":14,"usual_deviations":5.0},"sightings_days":7,'
        '"step_seconds":3600,"thresholds":'
        '{"allowed_lag":32,"busy_after_seconds":120,"busy_percent":90,"cached_messages":1000,"cached_mib":100,'
        '"cached_span":1000,"convergence_seconds":20,"failing_messages":10,"failing_percent":10,"flapping_times":3,"heartbeat_seconds":30,'
        '"near_capacity_percent":80,"near_capacity_seconds":300,'
        '"persistent_after_seconds":150,"pull_idle_seconds":120,"redelivery_messages":10000,"reserved_seconds":259200,"retention_seconds":21600,'
        '"rewind_tolerance":64,"route_poll_seconds":30,"rt_rise_ratio":3.0,"silent_after_seconds":60,'
        '"skew_messages_per_queue":100,"skew_ratio":2.0,"slow_rt_ms":100,"stalled_after_seconds":120,"storm_rebalances":5,"storm_seconds":600,'
        '"verdict_window_readings":5,"verdict_window_seconds":300}}'
    )
    assert Configuration(cadence_seconds=10).hash() != configuration.hash()
    assert load(EXAMPLES / "routes.yaml").hash() == Configuration().hash(), "an audit is the same whoever is told of it"


ENTRIES = """
groups:
  - {group: 'pay.*', strategy: AVG_BY_CIRCLE}
  - {cluster: eu, strategy: CONSISTENT_HASH, virtual_node_count: 20}
  - {virtual_node_count: 5}
  - {cluster: eu, group: pay, virtual_node_count: 7}
  - {group: pay, rooms: [dc1]}
  - {cluster: e, group: rooms, rooms: [dc9]}
  - {cluster: us, group: rooms, rooms: [dc1, dc2]}
  - {cluster: us, group: rooms, rooms: [dc3], strategy: MACHINE_ROOM}
  - {cluster: us, group: rooms, strategy: null}
"""
#        cluster  group        strategy           nodes  rooms
PRECEDENCE = """
         us       orders       -                  5      -
         eu       orders       CONSISTENT_HASH    5      -
         us       payments     AVG_BY_CIRCLE      5      -
         eu       payments     AVG_BY_CIRCLE      5      -
         eu       pay          AVG_BY_CIRCLE      7      dc1
         us       pay          AVG_BY_CIRCLE      5      dc1
         us       repay        -                  5      -
         eu       rooms        CONSISTENT_HASH    5      -
         us       rooms        MACHINE_ROOM       5      dc3
"""


@pytest.mark.parametrize("row", PRECEDENCE.strip().splitlines())
def test_group_beats_cluster_and_later_beats_earlier(tmp_path: Path, row: str) -> None:
    cluster, group, strategy, nodes, rooms = (None if word == "-" else word for word in row.split())
    settings = strategy_settings(load(write(tmp_path, ENTRIES)), str(cluster), str(group))
    assert settings == StrategySettings(strategy, int(nodes or 0), frozenset({rooms}) if rooms else None)


def test_the_demo_configuration_has_what_the_recording_cannot_have() -> None:
    demo = load(EXAMPLES / "demo.yaml")
    assert demo.cadence == timedelta(seconds=10)
    assert strategy_settings(demo, "demo", "geo-service") == StrategySettings("MACHINE_ROOM", rooms=frozenset({"dc1"}))
    assert strategy_settings(demo, "demo", "order-service") == StrategySettings()
    config = strategy_settings(demo, "demo", "config-service")
    assert (config.strategy, config.config_queues) == (
        "CONFIG",
        (
            ConfigQueues(r"10\.31\.91\.1@.*", "config-feed", "broker-a", (0, 1)),
            ConfigQueues(r"10\.31\.91\.2@.*", "config-feed", "broker-a", (1, 2)),
        ),
    )
    near = strategy_settings(demo, "demo", "near-service")
    expected = ("MACHINE_ROOM_NEARBY-AVG", "^[^-]*-(.+)$", "@([^-]+)-")
    assert (near.strategy, near.broker_room, near.client_room) == expected


KERNEL = """
cadence_seconds: 10
sightings_days: 2
groups:
  - {group: g, strategy: CONFIG, virtual_node_count: 3, rooms: [a, b],
     config_queues: [{client: c1, topic: t, broker: b, queues: [0, 2]}]}
"""


def test_the_kernel_gets_all_that_is_configured(tmp_path: Path) -> None:
    configuration = load(write(tmp_path, KERNEL))
    # A snapshot holds for three times the cadence.
    assert configuration.audit_settings == AuditSettings(
        3600 * SECOND, 10 * SECOND, 30 * SECOND, configuration.thresholds, sightings=172_800 * SECOND
    )
    settings = strategy_settings(configuration, "any", "g")
    assert settings.strategy == "CONFIG"
    lists = (ConfigQueues("c1", "t", "b", (0, 2)),)
    assert settings.named("CONFIG") == Strategy("CONFIG", 3, frozenset({"a", "b"}), config_queues=lists)
    assert strategy_settings(configuration, "any", "other").strategy is None


OF_GROUPS = """
thresholds: {allowed_lag: 40, slow_rt_ms: 300}
groups:
  - {group: 'pay.*', thresholds: {allowed_lag: 50}}
  - {cluster: eu, thresholds: {allowed_lag: 60, skew_ratio: 3}}
  - {group: pay, thresholds: {skew_ratio: 4.0}}
mutes:
  - {group: 'pay.*', rule: SLOW_LISTENER, until: 2026-12-01, reason: "till December"}
  - {cluster: eu, reason: "a test"}
  - {group: pay, until: 2026-11-21T02:00Z, reason: "over soon"}
"""


@pytest.mark.parametrize(
    ("cluster", "group", "lag", "skew", "mutes"),
    [
        ("us", "other", 40, 2.0, []),
        ("us", "pays", 50, 2.0, ["till December"]),
        ("eu", "other", 60, 3.0, ["a test"]),
        ("eu", "pay", 50, 4.0, ["till December", "a test", "over soon"]),
    ],
)
def test_a_group_has_thresholds_and_mutes_of_its_own(
    tmp_path: Path, cluster: str, group: str, lag: int, skew: float, mutes: list[str]
) -> None:
    """A pattern of the group goes before one of the cluster, threshold by threshold; all mutes that match hold."""
    configuration = load(write(tmp_path, OF_GROUPS))
    settings = audit_settings(configuration, cluster, group)
    thresholds = settings.thresholds
    assert (thresholds.allowed_lag, thresholds.skew_ratio, thresholds.slow_rt_ms) == (lag, skew, 300)
    assert [one.reason for one in settings.silences] == mutes
    assert replace(settings, thresholds=configuration.thresholds, silences=()) == configuration.audit_settings
    kept = configuration.canonical_json()
    assert Configuration.model_validate_json(kept).canonical_json() == kept


def test_a_mute_ends_with_its_time(tmp_path: Path) -> None:
    december, two = datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 11, 21, 2, tzinfo=UTC)
    mutes = audit_settings(load(write(tmp_path, OF_GROUPS)), "us", "pay").silences
    assert mutes == (
        Silence("SLOW_LISTENER", to_micros(december), "till December"),
        Silence(None, to_micros(two), "over soon"),
    )
    for rule, moment, reason in (
        ("SLOW_LISTENER", two, "till December"),
        ("SLOW_LISTENER", december, None),
        ("CLIENT_HUNG", two - timedelta(microseconds=1), "over soon"),
        ("CLIENT_HUNG", two, None),
    ):
        assert silence_reason(mutes, rule, to_micros(moment)) == reason
