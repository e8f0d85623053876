"""docs/findings.md and docs/rules are what the rules say."""

from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.status.capacity import SIGNS
from spark_jobs.show.text.handbook import INDEX, RULE_PAGES, index, rule_pages


def test_the_pages_are_those_the_rules_make() -> None:
    written = {page: page.read_text(encoding="utf-8") for page in [INDEX, *RULE_PAGES.glob("*.md")]}
    assert written == {INDEX: index(), **rule_pages()}, "run python -m spark_jobs.show.text.handbook"


def test_every_rule_is_explained() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        texts = [rule.meaning, rule.decided_by]
        texts += [text for cause in rule.causes.values() for text in (cause.when, cause.advice)]
        assert all(texts), rule.name
        assert rule.causes, rule.name


def test_the_signs_of_capacity_are_rules_and_causes_that_exist() -> None:
    known = {rule.name for rule in RULES} | {f"{rule.name}/{cause}" for rule in RULES for cause in rule.causes}
    assert {sign for signs in SIGNS.values() for sign in signs} <= known
