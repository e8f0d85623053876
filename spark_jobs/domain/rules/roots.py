"""The root of each finding of a step that is a symptom, by the `follows` of its rule."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.links import Follows

#: A symptom may be seen before its cause: by another source, or over another window. What began longer before is none.
LEAD = 600 * SECOND
#: Findings by what they share with their symptoms, in the order in which a root is chosen.
_Index = Mapping[Hashable, Sequence[Finding]]


def with_roots(findings: Sequence[Finding], links_of: Mapping[str, Sequence[Follows]]) -> list[Finding]:
    """The findings of one step of one group, in their order, each with the id of its root cause, if any; `links_of`: by
    rule, the likeliest root cause first. Of several, that of the first `Follows` counts, then one at the same time,
    then the earliest. All symptoms of one cause name one finding. The rules' links have no cycle.
    """
    if len(findings) < 2:
        return list(findings)
    links = {link for name in {finding.rule for finding in findings} for link in links_of.get(name, ())}
    indexes = {link: _index(findings, link) for link in links}
    causes = {finding.finding_id: _cause(finding, links_of.get(finding.rule, ()), indexes) for finding in findings}
    return [finding._replace(root_finding_id=_root(finding.finding_id, causes)) for finding in findings]


def _index(findings: Iterable[Finding], link: Follows) -> _Index:
    roots_of_share: dict[Hashable, list[Finding]] = defaultdict(list)
    for root in sorted(filter(link.is_root, findings), key=_by_start):
        for share in link.shares(root):
            roots_of_share[share].append(root)
    return roots_of_share


def _cause(finding: Finding, links: Iterable[Follows], indexes: Mapping[Follows, _Index]) -> str | None:
    """The id of the finding that caused this one, which may be a symptom itself."""
    for link in links:
        index = indexes[link]
        if index and (link.causes is None or finding.cause in link.causes):
            shared = (root for share in link.shares(finding) for root in index.get(share, ()))
            in_time = (root for root in shared if is_in_time(finding, root, link.within))
            cause = min(in_time, key=lambda root: (root.ended_at <= finding.started_at, *_by_start(root)), default=None)
            if cause is not None:
                return cause.finding_id
    return None


def _by_start(finding: Finding) -> tuple[int, str]:
    return finding.started_at, finding.finding_id


def is_in_time(finding: Finding, root: Finding, within: int = 0) -> bool:
    """Return whether they overlap, or it begins `within` the root's end; and at most `LEAD` before the root."""
    return (
        root.started_at < finding.ended_at
        and finding.started_at < root.ended_at + within
        and root.started_at <= finding.started_at + LEAD
    )


def _root(finding_id: str, causes: Mapping[str, str | None]) -> str | None:
    root = causes[finding_id]
    while root is not None and causes[root] is not None:
        root = causes[root]
    return root
