"""The timeline of incidents, without a browser: which lanes and bars there are, and which ends are open."""

from typing import Any

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.window import to_micros
from spark_jobs.show.page.incident_chart import ROWS, incident_chart, lanes
from tests.support.pages import incident
from tests.support.times import HOUR, at, ms


def drawn(*incidents: Incident, renderer: str = "spans") -> list[dict[str, Any]]:
    """What the chart of the hour draws, a dict per mark."""
    chart: Any = incident_chart(lanes(incidents)[0], HOUR)
    (data,) = [drawing.data_source.data for drawing in chart.renderers if drawing.name == renderer]
    return [dict(zip(data, values, strict=True)) for values in zip(*data.values(), strict=True)]


def labels(*incidents: Incident) -> dict[float, str]:
    chart: Any = incident_chart(lanes(incidents)[0], HOUR)
    return dict(chart.yaxis.major_label_overrides)


def test_lanes_are_of_the_same_groups_and_what_needs_attention_comes_first() -> None:
    incidents = [
        incident(0, 60, "resolved"),
        incident(0, None, "warned", severity="WARN"),
        incident(0, None, "little", peak_backlog_messages=5),
        incident(0, None, "much", peak_backlog_messages=50),
        incident(900, 960, "little", "much", "third", peak_backlog_messages=7),
        incident(600, 660, "little", peak_backlog_messages=None),
    ]
    names, left_out = lanes(incidents)
    expected = [("much",), ("little",), ("resolved",), ("little", "much", "third"), ("warned",)]
    assert [lane.groups for lane in names] == expected
    # The second incident of `little` began while the first stood.
    assert [len(lane.rows) for lane in names] == [1, 2, 1, 1, 1]
    assert left_out == 0
    assert labels(*incidents) == {1: "much", 2: "little", 4: "resolved", 5: "little and 2 more", 6: "warned"}


def test_a_row_is_free_again_when_its_incident_is_over() -> None:
    (lane,), _ = lanes([incident(60, 120), incident(0, 60), incident(30, 90), incident(120, None)])
    expected = [["twins-0", "twins-60", "twins-120"], ["twins-30"]]
    assert [[shown.incident_id for shown in row] for row in lane.rows] == expected


def test_clusters_stand_apart_and_are_named() -> None:
    incidents = [incident(0, None, "a", cluster="west"), incident(0, 60, "b", cluster="east"), incident(0, 60, "a")]
    assert labels(*incidents) == {1: "c: a", 2: "east: b", 3: "west: a"}


def test_what_is_not_drawn_is_counted() -> None:
    incidents = [incident(0, 60, f"g{place:02}") for place in range(ROWS + 2)] + [incident(-60, -30, "g41")]
    shown, left_out = lanes(incidents)
    assert left_out == 3
    assert [lane.groups for lane in shown] == [(f"g{place:02}",) for place in range(ROWS)]
    # All at the same time: the last ones of a lane that is too high.
    (lane,), left_out = lanes([incident(place, None) for place in range(ROWS + 2)])
    assert ([row[0].incident_id for row in lane.rows], left_out) == ([f"twins-{place}" for place in range(ROWS)], 2)


def test_an_open_end_reaches_the_right_edge_and_is_called_open() -> None:
    incidents = (
        incident(600, None, "open", last_seen_at=to_micros(at(1200))),
        incident(600, 1800, "over", severity="WARN", last_seen_at=to_micros(at(1500))),
        incident(-600, 7200, "long", severity="INFO"),
    )
    bars = [(mark["y"], mark["left"], mark["seen"], mark["right"], mark["color"]) for mark in drawn(*incidents)]
    assert bars == [
        (1, ms(600), ms(1200), ms(3600), "#b3121a"),
        (2, ms(600), ms(1500), ms(1800), "#f0c340"),
        (3, ms(0), ms(3600), ms(3600), "#2b6cb0"),
    ]
    ends = drawn(*incidents, renderer="open")
    expected = [(1, ms(3600), "open"), (3, ms(3600), "ends later")]
    assert [(mark["y"], mark["x"], mark["goes_on"]) for mark in ends] == expected
    assert [mark["y"] for mark in drawn(*incidents, renderer="earlier")] == [3]


def test_a_tooltip_says_what_when_and_how_much_and_a_click_opens_the_page() -> None:
    broad = incident(600, 1200, *(f"g{place}" for place in range(10)), peak_backlog_messages=None)
    (bar,) = drawn(broad)
    assert bar["id"] == "incident-g0-600"
    assert (bar["headline"], bar["what"]) == (broad.headline, "ERROR DUPLICATE_CLIENT_ID, FIXED_INSTANCE_NAME")
    assert (bar["groups"], bar["cost"]) == ("g0, g1, g2, g3, g4, g5, g6, g7 and 2 more", "unknown")
    assert bar["time"] == "From 2026-03-01 10:10:00 to 2026-03-01 10:20:00 (10 min 00 s)."


def test_a_headline_is_drawn_where_it_fits_and_shortened_where_most_room_is() -> None:
    """A thousand pixels are an hour: a headline of 43 letters needs 18 minutes, and ten minutes are 24 letters."""
    incidents = [
        incident(0, 3000, "inside"),
        incident(0, 60, "behind"),
        incident(3000, 3060, "before"),
        *(incident(0, 60, "next"), incident(700, 760, "next"), incident(900, 3600, "next", headline="x" * 999)),
        *(incident(0, 60, "full"), incident(300, 360, "full"), incident(400, 3600, "full", headline="x" * 999)),
    ]
    labelled = {mark["label"]: (mark["x"], mark["ink"]) for mark in drawn(*incidents, renderer="labels")}
    assert labelled[incidents[0].headline] == (ms(0), "#FFFFFF")
    assert labelled[incidents[1].headline] == (ms(60), "#010101")
    assert labelled[incidents[2].headline] == (ms(3000), "#010101")
    # Behind its bar, where it leaves no room for the next one's.
    both = incident(0, 60, "same"), incident(1300, 1360, "same"), incident(1400, 3600, "same", severity="WARN")
    labels = drawn(*both, renderer="labels")
    assert [(mark["x"], mark["align"]) for mark in labels] == [(ms(60), "left"), (ms(1400), "left")]
    assert [mark["align"] for mark in drawn(incidents[2], renderer="labels")] == ["right"]
    shortened = ["Consumers of next share…", f"{'x' * 114}…"]
    assert [mark["label"] for mark in drawn(*incidents[3:6], renderer="labels")] == shortened
    # Room for eleven letters is too little.
    assert [mark["x"] for mark in drawn(*incidents[6:], renderer="labels")] == [ms(400)]
