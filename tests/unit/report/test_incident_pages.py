"""The incidents in a real browser: what one who was paged reads first, and where the links lead."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from spark_jobs.domain.incidents.trends import WEEK, GroupTrend, GroupWeek
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.window import to_micros
from spark_jobs.show.page.incident_pages import INCIDENTS
from spark_jobs.show.page.page import page
from tests.support.browser import needs_browser
from tests.support.opened import Opened
from tests.support.pages import content, finding, fleet_row, incident, troubled, twins
from tests.support.times import at, ms
from tests.unit.report.test_page import HOSTILE

pytestmark = needs_browser
Open = Callable[..., Opened]

TWINS = incident(600, 3000)
IDLE = incident(
    1200, None, "quiet", "twins", severity="WARN", headline="c1 of quiet owns no queue", peak_backlog_messages=None
)
HTML = page(content(twins(troubled()), others=(fleet_row("quiet"),), incidents=(IDLE, TWINS)))


def words(text: str) -> str:
    return " ".join(text.split())


def shown(*incidents: Incident) -> str:
    return page(content(twins(troubled()), others=(fleet_row("quiet"),), incidents=incidents))


def test_it_begins_with_how_many_are_open_the_worst_and_what_to_do(open_page: Open) -> None:
    seen = open_page(HTML)
    assert words(seen.page.inner_text(".answer")) == (
        "2 incidents: 1 ERROR, 1 WARN; 1 is open "
        "ERROR The worst: Consumers of twins share the client id twin "
        "2026-03-01 10:10:00 – 2026-03-01 10:50:00, peak backlog 1,234 messages "
        "What to do: Nothing now: each connection had a client id of its own at 2026-03-01 10:50:00. "
        "To prevent it, or if it happens again: Make it unique."
    )
    assert seen.page.locator("main > *").first.get_attribute("id") == "incidents"


@pytest.mark.parametrize(
    ("incidents", "text"),
    [
        ((), "No incidents are known."),
        (
            (replace(TWINS, resolved_at=None, peak_backlog_messages=None),),
            "1 incident: 1 ERROR; 1 is open ERROR Consumers of twins share the client id twin "
            "open since 2026-03-01 10:10:00 What to do: Make it unique.",
        ),
    ],
)
def test_one_or_no_incident_has_its_sentence(open_page: Open, incidents: tuple[Incident, ...], text: str) -> None:
    seen = open_page(shown(*incidents))
    assert words(seen.page.inner_text(".answer")) == text
    assert seen.page.locator("#incidents .chart").count() == len(incidents)


def test_the_table_has_them_the_worst_first(open_page: Open) -> None:
    rows = open_page(HTML).page.locator(".incidents tbody tr")
    assert [words(row) for row in rows.all_inner_texts()] == [
        "ERROR Consumers of twins share the client id twin DUPLICATE_CLIENT_ID, FIXED_INSTANCE_NAME "
        "2026-03-01 10:10:00 2026-03-01 10:50:00 twins 1,234 40.0",
        "WARN c1 of quiet owns no queue DUPLICATE_CLIENT_ID, FIXED_INSTANCE_NAME 2026-03-01 10:20:00 open "
        "quiet, twins unknown 40.0",
    ]


def test_a_click_on_a_bar_opens_the_page_of_the_incident(open_page: Open) -> None:
    seen = open_page(HTML, drawn="incidents")
    assert "10:10:00 to 2026-03-01 10:50:00" in seen.hover("Incidents", ms(1200), 1)
    seen.page.mouse.down()
    seen.page.mouse.up()
    seen.page.wait_for_selector("#incident-twins-600", state="visible")
    assert not seen.page.is_visible("#index")
    assert seen.complaints == []


def test_a_page_says_what_happened_what_to_do_and_what_it_did_to_each_group(open_page: Open) -> None:
    seen = open_page(HTML, "#incident-twins-600").page
    told = words(seen.inner_text("#incident-twins-600"))
    for text in (
        "ERROR Consumers of twins share the client id twin "
        "From 2026-03-01 10:10:00 to 2026-03-01 10:50:00 (40 min 00 s). "
        "Peak backlog: 1,234 messages. Queues had no owner for 40.0 queue-minutes in total. "
        "What to do: Nothing now: each connection had a client id of its own at 2026-03-01 10:50:00. "
        "To prevent it, or if it happens again: Make it unique.",
        "twins Consumers of twins share the client id twin No consumer of twins owns t b:1 1,234 40.0",
        "rule DUPLICATE_CLIENT_ID about the rule rebalance-audit rule DUPLICATE_CLIENT_ID "
        "cause FIXED_INSTANCE_NAME cluster c group twins topic t 2 queues t b:0-1 consumer twin",
        "ERROR UNASSIGNED_QUEUE DUPLICATE_CLIENT_ID; a symptom twins t b:1",
    ):
        assert text in told, text


def test_a_page_shows_the_charts_of_its_groups_at_that_time(open_page: Open) -> None:
    """Forty minutes of an hour, and a quarter of it at both sides as far as the hour goes: all of it."""
    later = incident(1200, 1500)
    seen = open_page(shown(later), "#incident-twins-1200")
    seen.page.wait_for_selector("#incident-twins-1200 details[data-drawn]")
    assert seen.time() == (ms(1125), ms(1575))
    charts = seen.page.locator("#incident-twins-1200 .chart:visible")
    assert [one.get_attribute("aria-label") for one in charts.all()] == [
        "members of the group over time",
        "who owned each queue of t, over time",
        "backlog of t in messages, over time",
        "messages produced and consumed per second in t, over time",
    ]
    assert seen.has_marked(ms(1200), ms(1500))
    seen.page.keyboard.press("0")
    assert seen.time() == (ms(0), ms(3600))
    assert seen.complaints == []


def test_topics_that_it_is_not_about_are_not_drawn(open_page: Open) -> None:
    seen = open_page(shown(replace(TWINS, topics=("other",))), "#incident-twins-600")
    seen.page.wait_for_selector("#incident-twins-600 details[data-drawn]")
    charts = seen.page.locator("#incident-twins-600 .chart:visible")
    assert [one.get_attribute("aria-label") for one in charts.all()] == ["members of the group over time"]


def test_from_the_incident_to_the_group_at_that_time_and_to_the_finding(open_page: Open) -> None:
    seen = open_page(shown(incident(1200, 1500)), "#incident-twins-1200")
    seen.page.click("#incident-twins-1200 a:text-is('twins')")
    seen.charts("group-1")
    seen.page.wait_for_function("Bokeh.documents.at(-1).get_model_by_name('time').start > 0")
    assert seen.time() == (ms(1125), ms(1575))
    seen.page.click("#group-1 li a")
    seen.page.click("#incident-twins-1200 a:text-is('UNASSIGNED_QUEUE')")
    seen.page.wait_for_selector("#group-1-f1[open]")


def test_a_group_without_a_page_is_named_and_the_page_says_so(open_page: Open) -> None:
    seen = open_page(HTML, "#incident-quiet-1200").page
    assert seen.locator("#incident-quiet-1200 a:text-is('quiet')").count() == 0
    assert "1 of its groups is not drawn here" in seen.inner_text("#incident-quiet-1200")
    assert seen.locator("#incident-quiet-1200 details.at").count() == 1


def test_a_keyboard_reaches_an_incident_and_comes_back(open_page: Open) -> None:
    seen = open_page(HTML, drawn="incidents")
    seen.page.focus(".answer a")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("#incident-twins-600", state="visible")
    seen.page.keyboard.press("Escape")
    seen.page.wait_for_selector("#index", state="visible")
    before = seen.time()
    seen.page.keyboard.press("+")
    assert seen.time()[1] - seen.time()[0] == pytest.approx((before[1] - before[0]) / 2)


def test_a_report_of_one_group_has_its_incidents_before_it(open_page: Open) -> None:
    seen = open_page(page(content(twins(troubled()), incidents=(TWINS,))), drawn="incidents")
    seen.charts("group-1")
    assert seen.page.is_visible("#incidents")
    assert seen.page.is_visible("#group-1")
    assert seen.page.locator("#fleet").count() == 0


def test_what_is_left_out_is_named(open_page: Open) -> None:
    many = [incident(place, 3000, f"g{place}", severity="WARN") for place in range(INCIDENTS + 1)]
    seen = open_page(shown(*many, TWINS)).page
    assert seen.locator(".incidents tbody tr").count() == INCIDENTS
    # The oldest of those that are least severe.
    assert seen.locator("#incident-g0-0, #incident-g1-1").count() == 0
    assert seen.locator("#incident-twins-600").count() == 1
    assert [note.split(":")[0] for note in seen.locator("#incidents .note").all_inner_texts()] == [
        "2 incidents that need attention least are left out",
        "The timeline has the 40 rows that need attention most; 460 more are in the table only.",
    ]


def test_the_page_of_trends(open_page: Open) -> None:
    start = to_micros(at(0))
    weeks = (
        GroupWeek(start, start + WEEK, 0, 5.0, 2, 8, None, 1.0),
        GroupWeek(start + WEEK, start + 2 * WEEK, 1, 40.0, 2, 8, 2400.0, 1.0),
    )
    trends = (GroupTrend("c", "twins", weeks), GroupTrend("c", "quiet", weeks[:1]))
    html = page(content(twins(troubled()), others=(fleet_row("quiet"),), incidents=(TWINS,), trends=trends))
    seen = open_page(html).page
    seen.click("nav.parts a:text-is('Week by week')")
    assert (
        seen.inner_text("#trends h2")
        == "Week by week: 2 groups; 1 of 1 that can be compared got worse in the last week."
    )
    rows = [words(row) for row in seen.locator("#trends tbody tr").all_inner_texts()]
    assert rows == [
        "twins c 35.0 more minutes with wrong owners, 1 more incident 2026-03-08 10:00 – 2026-03-15 10:00 "
        "1 40.0 2 8 0 40 min 00 s 100%",
        "2026-03-01 10:00 – 2026-03-08 10:00 0 5.0 2 8 0 unknown 100%",
        "quiet c 2026-03-01 10:00 – 2026-03-08 10:00 0 5.0 2 8 0 unknown 100%",
    ]
    assert seen.get_attribute("#trends svg", "aria-label") == "wrong minutes by week, the oldest first: 5.0, 40.0"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_stays_text_in_incidents_and_trends(open_page: Open, name: str) -> None:
    root = TWINS.root_causes[0]._replace(consumer_group=name, rule=name, cause=name, topic=name, subject=name)
    other = TWINS.symptoms[0]._replace(consumer_group=name, topic=name, subject=name)
    hostile = incident(
        600, None, name, cluster=name, headline=name, advice=name, rule=name, cause=name, causes=(name,),
        topics=(name,), queues=((name, name, 1),), client_ids=(name,), root_causes=(root,), symptoms=(other,),
        incident_id="1",
    )  # fmt: skip
    start = to_micros(at(0))
    trends = (GroupTrend(name, name, (GroupWeek(start, start + WEEK, 0, 5.0, 2, 8, None, 1.0),)),)
    group = replace(twins(troubled(name) | {"cluster": name}), findings=[finding(0, 3600, topic=name)])
    html = page(content(group, incidents=(hostile,), trends=trends, others=(fleet_row("quiet"),)))
    seen = open_page(html, drawn="incidents")
    for place in (".answer", ".incidents tbody", "#fleet"):
        assert name in seen.page.inner_text(place)
    assert name in seen.hover("Incidents", ms(1800), 1)
    seen.page.evaluate("location.hash = '#incident-1'")
    seen.page.wait_for_selector("#incident-1 details[data-drawn]")
    assert seen.page.inner_text("#incident-1").count(name) > 5
    seen.page.evaluate("location.hash = '#trends'")
    seen.page.wait_for_selector("#trends", state="visible")
    assert name in seen.page.inner_text("#trends tbody")
    seen.check_inert()


def test_a_long_command_wraps_on_a_narrow_screen(open_page: Open) -> None:
    command = "mqadmin updateTopic -n NAMESRV -b ADDRESS_OF_broker-a -t " + "legacy" * 20
    seen = open_page(shown(replace(TWINS, commands=(command,))), "#incident-twins-600").page
    seen.set_viewport_size({"width": 420, "height": 900})
    assert seen.evaluate(
        "() => { const pre = document.querySelector('pre'); return pre.scrollWidth <= pre.clientWidth; }"
    )
