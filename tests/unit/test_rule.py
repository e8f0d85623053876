"""`rule` explains the rules without a warehouse."""

import re

import pytest

from spark_jobs.domain.rules.catalog import RULES
from tests.support.commands import Typed


def test_a_page_is_markdown_where_nobody_watches(typed: Typed) -> None:
    page = typed("rule flapping_member").out
    assert page.startswith("# FLAPPING_MEMBER\n\nOne member keeps joining and leaving.")
    assert "\n**Reported when:** " in page
    assert "](" not in page, "a link to a page that is not there"


def test_a_page_is_drawn_on_a_terminal(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COLUMNS": "60", "FORCE_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    title, _, first, *_ = typed("rule FLAPPING_MEMBER").lines
    assert title.strip() == "FLAPPING_MEMBER"
    assert first.startswith("One member keeps joining and leaving.")


def test_without_a_name_it_lists_the_rules(typed: Typed) -> None:
    *lines, summary = typed("rule").lines
    assert "FLAPPING_MEMBER: One member keeps joining and leaving." in lines
    assert summary == f"{len(lines)} rules; rebalance-audit rule NAME explains one"
    assert len(lines) == len(RULES)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "GROUP_OFFLINE",
            [
                "# GROUP_OFFLINE",
                "该组没有在线的消费者。其 Topic 有消息写入或有堆积。",
                "- **`NO_MEMBERS`**：该组曾有消费者，或其消费位点仍在 Broker 保留的消息范围内。<br>",
            ],
        ),
        (
            "LONG_PULL_INTERVAL",
            [
                "**报告条件：** 其 `pullInterval` 大于 `pull_idle_seconds`（120）。依据：ProcessQueue.isPullExpired。"
                "需要 `client_snapshots`。",
            ],
        ),
    ],
)
def test_a_page_is_in_the_language(name: str, lines: list[str], typed: Typed) -> None:
    assert {*lines} <= {*typed(f"rule {name} --language zh").lines}


def test_the_list_is_in_the_language(typed: Typed) -> None:
    first, *_, summary = typed("rule --language zh").lines
    assert first == "DUPLICATE_CLIENT_ID: 组内多个连接使用同一个客户端 ID。"
    assert summary.endswith(" 条规则；rebalance-audit rule NAME 解释其中一条")


@pytest.mark.parametrize(
    ("name", "hint"), [("FLAPPING", "did you mean FLAPPING_MEMBER?"), ("X", "rebalance-audit rule lists them")]
)
def test_an_unknown_name_has_a_hint(name: str, hint: str, typed: Typed) -> None:
    assert typed(f"rule {name}", code=3).err == f"rebalance-audit: there is no rule {name}: {hint}\n"


@pytest.mark.parametrize(("option", "has_colors"), [("", True), ("--no-color", False)])
def test_no_color_leaves_out_colors(
    option: str, has_colors: bool, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "NO_COLOR": ""}.items():
        monkeypatch.setenv(name, value)
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-7]", typed(f"rule FLAPPING_MEMBER {option}").out)) is has_colors
