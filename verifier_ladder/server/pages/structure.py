"""The route that serves structures: of a candidate, or of a file beside one of its verdicts."""

# Without postponed annotations: FastAPI reads them as they stand.
from typing import Annotated

from fastapi import HTTPException, Query, Request, Response

from verifier_ladder.analysis.candidates import Listed
from verifier_ladder.ledger import Ledger
from verifier_ladder.report.structures import (
    FORMATS,
    KINDS,
    LARGEST,
    READERS,
    format_of,
    structure_of,
)
from verifier_ladder.server.pages.asking import CampaignNamed, Digest, Task, viewer_of
from verifier_ladder.server.pages.viewer import Viewer

_WAIT = 30.0
"""Seconds to wait for a structure to be read."""
_TYPE = "text/plain; charset=utf-8"


def structure(
    request: Request,
    campaign: CampaignNamed,
    key: Digest,
    *,
    task: Task = "",
    check: Annotated[str, Query(pattern="^([0-9a-f]{2}){0,64}$")] = "",
    file: Annotated[str, Query(max_length=64, description="The file's name.")] = "",
) -> Response:
    """A structure as text: XYZ with all atoms of a cell, or a PDB file of ATOM records."""
    viewer = viewer_of(request)
    found = viewer.index.candidate(campaign, bytes.fromhex(key), bytes.fromhex(task))
    if found is None:
        raise HTTPException(404, f"the lists hold no candidate {key[:16]} of {campaign!r}")
    with viewer.reader.reading() as store:
        text = _file(viewer, store, found, check, file) if file else _content(viewer, store, found)
    form = FORMATS.get(file.rpartition(".")[2].lower()) if file else KINDS.get(found.kind)
    if text is None or form is None or len(text) > LARGEST:
        raise HTTPException(404, "there is no structure, or none that is small enough to be shown")
    form = format_of(text, form)
    verdict = viewer.read(READERS[form], text, _WAIT)
    if verdict is None:
        return Response("It takes too long to read this structure.", 503, media_type=_TYPE)
    made = structure_of(verdict, form)
    if made is None:
        why = verdict.reason or "it holds none"
        return Response(f"This structure can't be read: {why}.", 422, media_type=_TYPE)
    return Response(made.text, media_type=_TYPE)


def _content(viewer: Viewer, store: Ledger, found: Listed) -> str | None:
    return viewer.texts(store, [found.key]).get(found.key)


def _file(viewer: Viewer, store: Ledger, found: Listed, check: str, name: str) -> str | None:
    """The text of a file that one of the candidate's own verdicts names; None if there is none."""
    entries, _ = viewer.index.entries_of(found)
    for number in entries:
        block = viewer.block(store, number)
        for row in block.verdicts if block is not None else ():
            if row.check_key.hex() == check and row.content_key.hex() == found.key:
                file = row.verdict.files.get(name)
                if file is not None and file.size <= LARGEST:
                    data = store.artifact(file.digest)
                    return None if data is None else data.decode("utf-8", "replace")
    return None
