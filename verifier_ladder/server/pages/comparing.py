"""Pages that compare: two candidates line by line, and two versions of a verifier."""

# Without postponed annotations: FastAPI reads them as they stand.
from typing import Annotated, Any

from fastapi import HTTPException, Query, Request

from verifier_ladder.analysis.candidates import Listed
from verifier_ladder.report import differences
from verifier_ladder.server.pages.asking import CampaignNamed, Facts, viewer_of
from verifier_ladder.server.pages.beside import PATIENCE
from verifier_ladder.server.pages.versions import Pair, known_versions
from verifier_ladder.server.pages.viewer import Viewer
from verifier_ladder.summary.versions import VersionReport
from verifier_ladder.verdict import Verdict

_HEX = "([0-9a-f]{2}){1,64}"
Named = Annotated[
    str,
    Query(
        pattern=rf"^{_HEX}(\.{_HEX})?$",
        description="Content key of a candidate; behind a point the digest of its task.",
    ),
]
VerifierNamed = Annotated[str, Query(max_length=300, description="The verifier.")]
VersionNamed = Annotated[str, Query(max_length=300)]
_MOST_ROWS = 800
"""Lines that a page shows."""
_PROGRAMS_WAIT = 30.0
"""Seconds that a JSON twin waits: a program asks once, and a page is asked for again."""


def diff(request: Request, campaign: CampaignNamed, a: Named, b: Named) -> Facts:
    """Two candidates of a campaign side by side: lines that differ, and their words."""
    viewer = viewer_of(request)
    with viewer.reader.reading() as store:
        row = next(iter(store.campaigns(campaign)), None)
        pair = [_candidate(viewer, campaign, name) for name in (a, b)]
        texts = viewer.texts(store, [each.key for each in pair])
    found = [texts.get(each.key) for each in pair]
    first, other = (differences.shown(text or "") for text in found)
    verdict = rows = None
    if None not in found:
        question = differences.question(first, other)
        verdict = viewer.read(differences.READER, question, _patience(request))
        rows = None if verdict is None else differences.rows_of(verdict, first, other)
    is_late = None not in found and verdict is None
    return {
        "campaign": campaign, "a": pair[0], "b": pair[1],
        "rows": None if rows is None else rows[:_MOST_ROWS],
        "rows_in_all": None if rows is None else len(rows),
        "counts": None if rows is None else differences.counts(rows),
        "is_ready": not is_late, "why": _why(found, verdict, rows),
        "is_cut": any(len(text or "") > differences.LONGEST for text in found),
        "unit": ((row.ladder if row else {}).get("target") or {}).get("unit", ""),
        "_again": is_late, "_texts": [first, other], "_most": differences.LONGEST,
    }  # fmt: skip


def _candidate(viewer: Viewer, campaign: str, name: str) -> Listed:
    key, _, task = name.partition(".")
    found = viewer.index.candidate(campaign, bytes.fromhex(key), bytes.fromhex(task))
    if found is None:
        raise HTTPException(404, f"the lists hold no candidate {key[:16]} of {campaign!r}")
    return found


def _patience(request: Request) -> float:
    return _PROGRAMS_WAIT if request.url.path.endswith(".json") else PATIENCE


def _why(found: list[str | None], verdict: Verdict | None, rows: Any) -> str:
    """Why there is no comparison; empty if there is one, or will be."""
    if None in found:
        return "the text of one of them stands in no entry that can be read"
    if verdict is not None and rows is None:
        return "these texts can't be compared in the time that a page has"
    return ""


def versions(
    request: Request, verifier: VerifierNamed = "", old: VersionNamed = "",
    new: VersionNamed = "", campaign: Annotated[str, Query(max_length=300)] = "",
) -> Facts:  # fmt: skip
    """Verifiers of which there are several versions, and two of one on the same candidates."""
    viewer = viewer_of(request)
    with viewer.reader.reading() as store:
        there = known_versions(store.campaigns())
    report: VersionReport | str | None = ""
    if verifier:
        for version in (old, new):
            if version not in there.get(verifier, ()):
                raise HTTPException(
                    404, f"no campaign of the ledger names {verifier!r} in version {version!r}"
                )
        report = viewer.versions(Pair(verifier, old, new), _patience(request))
    return {
        "campaign": campaign, "verifiers": there, "verifier": verifier, "old": old, "new": new,
        "report": report.as_json() if isinstance(report, VersionReport) else None,
        "is_ready": report is not None, "why": report if isinstance(report, str) else "",
        "_again": report is None,
    }  # fmt: skip
