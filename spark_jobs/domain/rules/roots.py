"""Which findings of a step are consequences, and of which root: what each rule's `follows` says, applied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.follows import Follows
from spark_jobs.domain.rules.rule import Rule

if TYPE_CHECKING:
    from spark_jobs.domain.model.finding import Finding

#: A consequence may be seen before its cause is: by another source, or over another window. What had stood for longer
#: when the cause came is no consequence of it.
LEAD = 600 * SECOND

#: Findings by what they have, in the order in which a root is chosen.
_Index = Mapping[Hashable, Sequence["Finding"]]


def with_roots(found: Sequence[Finding], rules: Iterable[Rule]) -> list[Finding]:
    """The findings of one step of one group, in their order, each with the root that it follows from, if any.

    Of several the rule's first `Follows` counts, then the earliest start, then the id. A root's own root is the root:
    so all that one cause brought about names one finding. The rules' links have no cycle, which a test says.
    """
    if len(found) < 2:
        return list(found)
    follows = {rule.name: rule.follows for rule in rules}
    linked = {each for name in {one.rule for one in found} for each in follows.get(name, ())}
    indexes = {each: _index(found, each) for each in linked}
    causes = {one.finding_id: _cause(one, follows.get(one.rule, ()), indexes) for one in found}
    return [one._replace(root_finding_id=_root(one.finding_id, causes)) for one in found]


def _index(found: Iterable[Finding], link: Follows) -> _Index:
    by_share: dict[Hashable, list[Finding]] = defaultdict(list)
    for one in sorted((one for one in found if one.rule == link.root), key=lambda one: (one.start, one.finding_id)):
        for share in link.shares(one):
            by_share[share].append(one)
    return by_share


def _cause(one: Finding, links: Iterable[Follows], indexes: Mapping[Follows, _Index]) -> str | None:
    """The finding that brought this one about, be it a consequence itself."""
    for link in links:
        index = indexes[link]
        if index and (link.causes is None or one.cause in link.causes):
            shared = (root for share in link.shares(one) for root in index.get(share, ()) if is_in_time(one, root))
            found = min(shared, key=lambda root: (root.start, root.finding_id), default=None)
            if found is not None:
                return found.finding_id
    return None


def is_in_time(one: Finding, root: Finding) -> bool:
    """Whether both stand at the same time, and the one did not long before the root."""
    return root.start < one.end and one.start < root.end and root.start <= one.start + LEAD


def _root(finding_id: str, causes: Mapping[str, str | None]) -> str | None:
    root = causes[finding_id]
    while root is not None and causes[root] is not None:
        root = causes[root]
    return root
