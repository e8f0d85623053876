"""The page in a real browser: what it shows, how it is used, and that nothing in it comes alive."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.show.page.page import page
from tests.support.browser import needs_browser
from tests.support.opened import Opened
from tests.support.pages import content, finding, fleet_row, lag, member, minutes, sampled, span, state, troubled, twins
from tests.support.times import ms

pytestmark = needs_browser
Open = Callable[..., Opened]

HTML = page(content(twins(troubled()), others=(fleet_row("quiet"), fleet_row("idle", rank=2))))


def report(**changes: Any) -> str:
    """The page of the group `twins` alone."""
    return page(content(replace(twins(troubled()), **changes)))


def test_its_foot_says_where_its_numbers_come_from() -> None:
    foot = HTML.partition("<footer")[2]
    assert all(text in foot for text in ("run-1", "abcdef0123456789", "route_snapshots 7"))


def test_it_asks_for_nothing_but_itself_and_complains_of_nothing(open_page: Open) -> None:
    seen = open_page(HTML, "#group-1", drawn="group-1")
    assert [url.partition("#")[0].rpartition("/")[2] for url in seen.asked] == ["0.html"]
    assert seen.complaints == []


@pytest.mark.parametrize(
    ("attempt", "forbidden"),
    [
        ("new Image().src = 'https://example.org/x.png'", "img-src"),
        ("fetch('https://example.org/').catch(() => 0)", "connect-src"),
        (
            "Object.assign(document.head.appendChild(document.createElement('script')), {src: '//example.org'})",
            "script-src-elem",
        ),
    ],
)
def test_it_could_not_load_anything_if_it_wanted_to(open_page: Open, attempt: str, forbidden: str) -> None:
    wait = "new Promise((tell) => addEventListener('securitypolicyviolation', (one) => tell(one.effectiveDirective)))"
    assert open_page(HTML).page.evaluate(f"() => {{ const told = {wait}; {attempt}; return told; }}") == forbidden


def test_the_fleet_says_what_is_known_of_each_group(open_page: Open) -> None:
    rows = open_page(HTML).page.locator(".fleet tbody tr")
    assert " ".join(rows.nth(0).inner_text().split()) == (
        "ERROR twins c UNASSIGNED_QUEUE unknown unknown never 2 d 00 h 1,234 43 % 2 2 Nothing to help."
    )
    assert rows.nth(1).inner_text().split()[:3] == ["fine", "quiet", "c"]
    assert rows.nth(1).locator("a").count() == 0


def test_the_filter_keeps_the_groups_that_have_all_its_words(open_page: Open) -> None:
    seen = open_page(HTML).page
    shown = seen.locator(".fleet tbody tr:visible td:nth-child(2)")
    for words, groups in (("QUI", ["quiet"]), ("error", ["twins"]), ("unassigned twi", ["twins"]), ("error quiet", [])):
        seen.fill("#filter", words)
        assert [text.split()[0] for text in shown.all_inner_texts()] == groups
        assert seen.inner_text("#shown") == f"{len(groups)} of 3 groups"
    seen.fill("#filter", "")
    assert shown.count() == 3


def test_twins_are_hatched_no_owner_is_red_and_what_was_not_observed_is_grey(open_page: Open) -> None:
    seen = open_page(HTML, "#group-1", drawn="group-1")
    blue, orange, green = "#0072B2", "#E69F00", "#009E73"
    assert seen.marks("Owners", "spans", "queue", "left", "right", "color") == [
        ("b:0", ms(0), ms(600), blue),
        ("b:1", ms(0), ms(600), orange),
        ("b:0", ms(600), ms(3000), green),
        ("b:1", ms(600), ms(3000), "#D7191C"),
        ("b:0", ms(3000), ms(3600), "#9A9A9A"),
        ("b:1", ms(3000), ms(3600), "#9A9A9A"),
    ]
    assert seen.marks("Owners", "several", "queue", "left", "right") == [("b:0", ms(600), ms(3000))]
    moved = (ms(600), "MEMBER_JOINED", "1 of 2 queues moved, at least 1 had to")
    assert seen.marks("Owners", "rebalances", "x", "trigger", "moved") == [moved]
    assert seen.page.locator(".topic .note").count() == 0  # the chart says what was not observed
    members = [(1, "one"), (2, "two"), (3, "twin"), (4, "twin")]
    assert seen.marks("Members", "spans", "y", "client_id") == members
    assert seen.marks("Members", "several", "y", "client_id") == members[2:]


def test_lines_add_up_the_queues_and_break_where_nothing_is_known(open_page: Open) -> None:
    seen = open_page(HTML, "#group-1", drawn="group-1")
    assert seen.marks("Backlog", "total", "x", "y", "lags") == [
        (ms(0), 20, "20 messages"),
        (ms(600), 40, "40 messages"),
        (ms(3000), 1520, "1,520 messages"),
    ]
    of_queue_1 = [(ms(0), 10), (ms(600), 20), (ms(3000), 1500)]
    assert seen.marks("Backlog", "b:1", "x", "y") == of_queue_1
    assert {*seen.marks("Rates", "produced", "x", "y")} == {(ms(s), 2.0) for s in (0, 600, 3000)}
    assert {*seen.marks("Rates", "consumed", "y")} == {(1.0,)}


def test_a_line_is_broken_where_nothing_is_known(open_page: Open) -> None:
    lags = {0: (10, 5), 20: (20, None), 40: (30, 7), 60: (None, None), 80: (1, None), 100: (2, None), 200: (3, None)}
    rows = [lag(0, 600, 0, 10, 3), lag(0, 600, 1, 5, None)]
    seen = open_page(report(backlog=rows, samples={"t": sampled(lags)}), drawn="group-1")
    total = seen.marks("Backlog", "total", "x", "y", "lags")
    # Nor does the total of one queue go on from that of two, nor over 100 s where samples are 20 s apart.
    assert [y for _, y, _ in total] == [15, None, 20, None, 37, None, None, None, 1, 2, None, 3]
    assert [(x, text) for x, y, text in total if y == 20] == [(ms(20), "20 messages, and 1 queue unknown")]
    # What is known at one moment only has no line.
    assert seen.marks("Backlog", "b:1 alone", "x", "y") == [(ms(0), 5), (ms(40), 7)]
    assert "it is unknown: the group had not committed an offset" in seen.page.locator(".topic .note").inner_text()
    assert [y for (y,) in seen.marks("Backlog", "b:0", "y")] == [10, 20, 30, None, 1, 2, None, 3]


def test_an_interval_whose_samples_are_gone_is_not_joined(open_page: Open) -> None:
    rows = [lag(0, 600, 0, 10, 20), lag(0, 600, 1, 5, None), lag(600, 900, 0, None, None), lag(900, 1200, 0, 1, 2)]
    published = minutes(
        {0: (9, 15, 0), 60: (20, 20, 0), 600: (20, 24, 1), 660: (3, 4, 1), 960: (6, 6, 0), 1020: (6, 6, 0)}
    )
    samples = {"t": sampled({1000: (5, 0), 1020: (6, 0)})}
    seen = open_page(report(backlog=rows, samples=samples, minutes={"t": published}), drawn="group-1")
    # Of published minutes the last backlog, and a higher one before; of those with samples of all queues, the samples.
    assert seen.marks("Backlog", "total", "x", "y", "lags") == [
        *((ms(0), 15, "15 messages"), (ms(60) - 1, 9, "9 messages")),
        (ms(120) - 1, 20, "20 messages"),
        (ms(600), None, "unknown messages, and 1 queue unknown"),
        *((ms(600), 24, "24 messages, and 1 queue unknown"), (ms(660) - 1, 20, "20 messages, and 1 queue unknown")),
        *((ms(660), 4, "4 messages, and 1 queue unknown"), (ms(720) - 1, 3, "3 messages, and 1 queue unknown")),
        *((ms(1000), 5, "5 messages"), (ms(1020), 6, "6 messages")),
    ]
    assert seen.marks("Backlog", "b:0", "x", "y") == [
        *((ms(0), 10), (ms(0), None), (ms(600), 20), (ms(600), None), (ms(1000), 5), (ms(1020), 6)),
    ]
    assert [y for (y,) in seen.marks("Rates", "produced", "y")] == [2, 2, None, 2, 2]
    assert "Dots of the backlog are the first and last sample" in seen.page.locator(".topic .note").first.inner_text()


def test_a_tooltip_says_queue_owners_times_and_lag(open_page: Open) -> None:
    seen = open_page(HTML, "#group-1", drawn="group-1")
    tip = seen.hover("Owners", ms(1800), 1)
    for text in ("b:0", "3 twin twin:1, 4 twin twin:2", "2026-03-01 10:10:00 – 2026-03-01 10:50:00 UTC", "10 → 20"):
        assert text in tip
    assert "no owner" in seen.hover("Owners", ms(1800), 2)


def test_a_keyboard_is_enough(open_page: Open) -> None:
    seen = open_page(HTML)
    keyboard, body = seen.page.keyboard, seen.page
    for _ in ("the title", "incidents", "groups", "sources", "the filter"):
        keyboard.press("Tab")
    keyboard.type("twins")
    for _ in range(body.locator(".fleet .sort").count() + 1):
        keyboard.press("Tab")
    assert body.evaluate("document.activeElement.textContent") == "twins"
    keyboard.press("Enter")
    seen.charts("group-1")
    assert not body.is_visible("#fleet")
    body.focus("#group-1 .finding summary")
    keyboard.press("Enter")
    keyboard.press("Tab")
    assert body.evaluate("document.activeElement.textContent") == "Show in the timelines"
    keyboard.press("Enter")
    # Forty minutes of the finding, and a quarter of it at both sides, as far as the hour goes.
    assert seen.time() == (ms(0), ms(3600))
    assert seen.has_marked(ms(600), ms(3000))
    keyboard.press("+")
    assert seen.time() == (ms(900), ms(2700))
    keyboard.press("ArrowLeft")
    assert seen.time() == (ms(450), ms(2250))
    keyboard.press("ArrowRight")
    keyboard.press("-")
    assert seen.time() == (ms(0), ms(3600))
    keyboard.press("Escape")
    body.wait_for_selector("#fleet", state="visible")


def test_the_allocation_before_and_after_a_rebalance_can_be_chosen(open_page: Open) -> None:
    seen = open_page(HTML, "#group-1", drawn="group-1")
    seen.page.click(".allocation summary")
    rows = seen.page.locator(".allocation tbody tr")
    assert [row.split("\t") for row in rows.all_inner_texts()] == [
        ["b:0", "3 twin twin:1, 4 twin twin:2", "unobserved (NO_ROUTE_SNAPSHOT)"],
        ["b:1", "no owner (DUPLICATE_CLIENT_ID)", "unobserved (NO_ROUTE_SNAPSHOT)"],
    ]
    seen.page.select_option(".allocation select", index=1)
    assert [row.split("\t") for row in rows.all_inner_texts()] == [
        ["b:0", "1 one one:1", "3 twin twin:1, 4 twin twin:2"],
        ["b:1", "2 two two:1", "no owner (DUPLICATE_CLIENT_ID)"],
    ]


def test_it_is_dark_where_the_reader_likes_it_dark(open_page: Open) -> None:
    seen = open_page(HTML, "#group-1", "dark", drawn="group-1")
    paper = "getComputedStyle(document.body).backgroundColor"
    chart = "Bokeh.documents.at(-1).get_model_by_name('Owners').background_fill_color"
    assert (seen.page.evaluate(paper), seen.page.evaluate(chart)) == ("rgb(22, 24, 28)", "#16181c")
    seen.page.emulate_media(color_scheme="light")
    seen.page.wait_for_selector("#group-1[data-drawn=light]")
    assert (seen.page.evaluate(paper), seen.page.evaluate(chart)) == ("rgb(255, 255, 255)", "#ffffff")


def test_paper_has_no_buttons(open_page: Open) -> None:
    seen = open_page(HTML, "#group-1").page
    seen.emulate_media(media="print")
    assert not seen.is_visible("nav.time")
    assert seen.is_visible(".finding")


def test_a_heading_sorts_the_groups_by_what_its_cells_mean_and_unknown_stays_at_the_end(open_page: Open) -> None:
    rows = (
        fleet_row("Beta", backlog_end=1200, catches_up=True, catch_up_seconds=90.0, severity="WARN"),
        fleet_row("alpha", backlog_end=90, catches_up=True, catch_up_seconds=4000.0, severity="ERROR"),
        fleet_row("gamma", backlog_end=None, severity="INFO"),
    )
    seen = open_page(page(content(twins(troubled()), others=rows))).page

    def after(heading: str) -> list[str]:
        seen.click(f".fleet th:has-text('{heading}') button")
        names = seen.locator(".fleet tbody td:nth-child(2)").all_inner_texts()
        return [name.split()[0] for name in names if not name.startswith("twins")]

    assert after("consumer group") == ["alpha", "Beta", "gamma"]
    assert after("consumer group") == ["gamma", "Beta", "alpha"]
    assert after("at end") == ["Beta", "alpha", "gamma"]
    assert after("at end") == ["alpha", "Beta", "gamma"]
    assert after("caught up in") == ["alpha", "Beta", "gamma"]
    assert after("severity") == ["alpha", "Beta", "gamma"]
    assert seen.get_attribute(".fleet th:nth-child(1)", "aria-sort") == "descending"
    assert seen.locator(".fleet th[aria-sort]").count() == 1
    seen.focus(".fleet th:nth-child(1) button")
    seen.keyboard.press("Enter")
    assert seen.get_attribute(".fleet th:nth-child(1)", "aria-sort") == "ascending"


@pytest.mark.parametrize(("place", "is_shown"), [("", False), ("#group-1", False), ("#incident-gone", True)])
def test_a_link_to_what_the_report_lacks_says_so(place: str, is_shown: bool, open_page: Open) -> None:
    opened = open_page(report(), place, drawn="group-1")
    assert opened.page.is_visible("#missing") is is_shown
    opened.page.evaluate("location.hash = '#fleet'")
    opened.page.wait_for_function("() => location.hash === '#fleet'")


def test_where_one_group_was_asked_for_there_is_no_fleet(open_page: Open) -> None:
    seen = open_page(report(), drawn="group-1")
    assert not seen.page.is_visible("#fleet")
    assert seen.page.locator(".back").count() == 0
    assert seen.page.title() == "Consumer group twins of c, 2026-03-01 (UTC)"


def test_a_group_without_findings_has_its_sentence(open_page: Open) -> None:
    quiet = replace(twins(fleet_row("quiet")), findings=[])
    text = open_page(page(content(quiet))).page.inner_text("#group-1")
    assert "No rule found a problem." in text


def test_a_topic_that_was_never_replayed_says_why_in_words(open_page: Open) -> None:
    states = [
        state(0, 600, None, status="UNOBSERVED", reason="NO_ROUTE_SNAPSHOT"),
        state(600, 3600, None, status="NOT_APPLICABLE", reason="BROADCASTING"),
    ]
    group = replace(twins(fleet_row("g")), members=[], ownership=[], states=states, backlog=[])
    seen = open_page(page(content(group)), drawn="group-1")
    assert seen.page.locator(".topic .note").all_inner_texts() == [
        "Unobserved (NO_ROUTE_SNAPSHOT): 2026-03-01 10:00:00 – 2026-03-01 10:10:00 UTC.",
        "Not applicable (BROADCASTING): 2026-03-01 10:10:00 – 2026-03-01 11:00:00 UTC.",
    ]
    assert seen.page.locator(".topic .chart").count() == 0


def test_a_change_of_members_is_no_rebalance_where_nothing_is_replayed(open_page: Open) -> None:
    joined = state(600, 3600, "MEMBER_JOINED", status="NOT_REPLAYABLE", reason="UNKNOWN_STRATEGY")
    seen = open_page(report(states=[state(0, 600, None), joined]), drawn="group-1")
    assert seen.data("Owners", "rebalances") == []


_MORE_HOSTILE = (
    "{{ 7 * 7 }}",
    "$$\\href{javascript:window.hit=1}{x}$$",
    '=HYPERLINK("http://evil.example","x")',
    "right\u202eto\u200fleft",
    "@{owner} @y $name",
    "n" * 255,
)
HOSTILE = (
    "<script>window.hit = 1</script>",
    '"><img src=x onerror="window.hit = 1">',
    "javascript:window.hit=1",
    *(pytest.param(name, marks=pytest.mark.slow) for name in _MORE_HOSTILE),
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_stays_text_wherever_it_stands(open_page: Open, name: str) -> None:
    evidence = finding(0, 1)["evidence"]
    evidence |= {"client_ids": [name], "connections": [{"client_id": name, "client_addr": name}]}
    evidence |= {
        "measures": [{"name": name, "value": 1.0}],
        "conflicting_values": [{"name": name, "client_ids": [name]}],
    }
    of_queue = {"topic": name, "broker_name": name}
    row = troubled(name) | {"cluster": name, "advice": name, "rules": [{"rule": name, "findings": 1}]}
    group = replace(
        twins(row),
        members=[member(0, 3600, name)],
        ownership=[span(0, 3600, 0, name, **of_queue), span(0, 3600, 1, **of_queue, unassigned_cause=name)],
        states=[state(0, 3600, name, topic=name, trigger_subject=name)],
        backlog=[lag(0, 3600, 0, 1, 2) | of_queue],
        findings=[finding(0, 3600, topic=name, subject=name, cause=name, advice=name, evidence=evidence)],
    )
    seen = open_page(page(content(group, warehouse=name, others=(fleet_row(name),))), "#group-1", drawn="group-1")
    told = seen.page
    for summary in told.locator("#group-1 summary").all():
        summary.click()
    of_group = ("#group-1 .finding", "#group-1 h2", "#group-1 .topic h3", "#group-1 .allocation tbody")
    for place in (*of_group, "footer"):
        assert name in told.inner_text(place)
    assert name in seen.hover("Owners", ms(1800), 1)
    assert told.locator("script").count() == 3  # the charts' data, Bokeh, and the page's own
    seen.check_inert()
    assert len(seen.asked) == 1
