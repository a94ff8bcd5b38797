"""Lists of candidates as files: streamed page by page, so that a long one takes no memory."""

# Without postponed annotations: FastAPI reads them as they stand.
import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import StringIO
from typing import Any, Final

import orjson
from fastapi import Request
from fastapi.responses import StreamingResponse

from verifier_ladder.analysis.candidates import Listed, Listing, ListPage
from verifier_ladder.server.pages.asking import ListingAsked, campaign_of, viewer_of
from verifier_ladder.server.pages.rendering import plain
from verifier_ladder.status import tiers_of
from verifier_ladder.text import csv_cell, json_printable, mended

_KINDS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
_SIZE = 500
_FIELDS: Final = (
    "key", "task", "kind", "label", "samples", "reward", "uncertainty", "predicted", "deviation",
    "known", "spread", "known_by", "truth", "standing", "reached", "run", "first_step", "step",
    "position",
)  # fmt: skip
_Lines = Callable[[Sequence[Listed]], str]


def as_csv(request: Request, listing: ListingAsked) -> StreamingResponse:
    """The whole list as CSV, in its order; text that a spreadsheet would run is quoted."""
    row = campaign_of(viewer_of(request), listing.campaign)
    tiers = [tier.label for tier in tiers_of(row)]
    head = [*_FIELDS, *(f"{what}_{tier}" for tier in tiers for what in ("said", "score", "error"))]

    def lines(rows: Sequence[Listed]) -> str:
        return _csv([_cells(row, tiers) for row in rows])

    return _streamed(request, listing, lines, "csv", _csv([head]))


def as_jsonl(request: Request, listing: ListingAsked) -> StreamingResponse:
    """The whole list as JSON, one candidate a line, in its order."""
    campaign_of(viewer_of(request), listing.campaign)

    def lines(rows: Sequence[Listed]) -> str:
        return "".join(
            json_printable(orjson.dumps(mended(plain(row))).decode()) + "\n" for row in rows
        )

    return _streamed(request, listing, lines, "jsonl")


def _streamed(
    request: Request, listing: Listing, lines: _Lines, ending: str, head: str = ""
) -> StreamingResponse:
    # What can't be asked for is said before anything is sent.
    first = viewer_of(request).index.page(listing, _SIZE)
    return StreamingResponse(
        _parts(request, listing, first, lines, head), media_type=_KINDS[ending],
        headers={"Content-Disposition": f'attachment; filename="candidates.{ending}"'},
    )  # fmt: skip


def _parts(
    request: Request, listing: Listing, page: ListPage, lines: _Lines, head: str
) -> Iterator[bytes]:
    index = viewer_of(request).index
    yield head.encode()
    while True:
        yield lines(page.rows).encode("utf-8", "replace")
        if not page.after:
            return
        page = index.page(replace(listing, after=page.after), _SIZE)


def _cells(row: Listed, tiers: Sequence[str]) -> list[Any]:
    told = [getattr(row, name) for name in _FIELDS]
    for tier in tiers:
        score = row.scores.get(tier, {})
        told += [row.stands.get(tier), score.get("value"), score.get("uncertainty")]
    return told


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    made = StringIO()
    csv.writer(made).writerows([map(csv_cell, row) for row in rows])
    return made.getvalue()
