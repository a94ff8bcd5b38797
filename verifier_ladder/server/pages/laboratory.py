"""The laboratory as pages: work orders out, results in, each row looked at before any is taken."""

# Without postponed annotations: FastAPI reads them as they stand.
from collections import OrderedDict
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import randbelow, token_urlsafe
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Annotated, Final, NamedTuple

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse

from verifier_ladder.campaign import Campaign
from verifier_ladder.casework.resultfile import Written
from verifier_ladder.casework.results import Delivered, Results, delivery, hand_in, read_results
from verifier_ladder.casework.workorders import (
    Rows,
    Sender,
    control_wells,
    left_before,
    order_csv,
    order_json,
    work_order,
)
from verifier_ladder.errors import ConfigError, VerifierError
from verifier_ladder.plates import Batches, Layout
from verifier_ladder.reviews import Reviews
from verifier_ladder.server.access import caller_of
from verifier_ladder.server.forms import Form
from verifier_ladder.server.pages.asking import Facts
from verifier_ladder.server.pages.rendering import link
from verifier_ladder.server.pages.reviewing import By, reader_of
from verifier_ladder.server.pages.visitors import shown
from verifier_ladder.server.sessions import posts, visits
from verifier_ladder.text import mended, printable

router = APIRouter(dependencies=[visits("answer")])
LARGEST: Final = 2**24
"""Bytes of a results file."""
_HELD: Final = 2**26
"""Bytes of all files that are kept until they are taken, and of what was read in them."""
_ROW: Final = 500
"""Bytes of what is kept of a row, about."""
_MOST_HELD: Final = 50
_KINDS: Final = frozenset({".csv", ".tsv", ".json", ".jsonl", ".xlsx"})
_PACKED: Final = (b"\x1f\x8b", b"PAR1")
"""What gzip and Parquet begin with: they may unpack to very much."""
_ENCODINGS: Final = ("", "utf-8", "cp1252")
_MOST_ROWS: Final = 500
"""Bad rows that a page shows; its JSON twin has all."""
_LISTED: Final = 50
"""Batches that are listed."""
BatchName = Annotated[str, Query(max_length=100, description="A batch that has left.")]
UploadId = Annotated[str, Query(max_length=100, description="A file that was uploaded.")]


@dataclass(frozen=True)
class Upload:
    """A results file that somebody has uploaded, and what became of it."""

    name: str
    data: bytes = field(repr=False)
    written: Written
    source: str
    """Who hands it in."""
    owner: str = ""
    """Id of the token with which it came."""
    found: Results = field(default_factory=Results)
    fault: str = ""
    """Why it can't be read at all."""
    delivered: Delivered | None = None

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return len(self.data) + _ROW * (len(self.found.answers) + len(self.found.bad_rows))


class Uploads:
    """Files that were uploaded, kept in memory until newer ones need the room.

    **Threads.** Any number may ask.
    """

    def __init__(self) -> None:
        """Keep none yet."""
        self._kept: OrderedDict[str, Upload] = OrderedDict()
        self._lock = Lock()
        self.taking = Lock()
        """Held by whoever takes rows: of two who take the same file, the second finds it taken."""

    def keep(self, upload: Upload, key: str = "") -> str:
        """Keep a file, or what became of it since; gives its id."""
        key = key or token_urlsafe(12)
        with self._lock:
            self._kept[key] = upload
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST_HELD or (len(self._kept) > 1 and self._is_full()):
                self._kept.popitem(last=False)
        return key

    def _is_full(self) -> bool:
        return sum(upload.size for upload in self._kept.values()) > _HELD

    def of(self, key: str, owner: str) -> Upload:
        """A file that somebody has uploaded.

        Raises:
            HTTPException: If it is not here any more, or was another's.
        """
        with self._lock:
            found = self._kept.get(key)
        if found is None or found.owner != owner:
            raise HTTPException(404, "this file is not kept any more: upload it again")
        return found


_reading = Lock()
"""Held by whoever reads a file: that takes seconds of a core, and much memory."""


def _read(campaign: Campaign, upload: Upload) -> Upload:
    """Read a file against the cases as they stand; nothing is written."""
    try:
        _check(upload)
        with _reading, TemporaryDirectory(prefix="verifier-ladder-upload-") as folder:
            path = Path(folder, f"results{_ending(upload.name)}")
            path.write_bytes(upload.data)
            try:
                found = read_results(
                    path, campaign.ledger, campaign.name, campaign.ladder, upload.source,
                    written=upload.written,
                )  # fmt: skip
            except ConfigError as error:
                named = printable(upload.name, 100)
                raise ConfigError(str(error).replace(str(path), named)) from None
    except ConfigError as error:
        return replace(upload, found=Results(), fault=str(error))
    return replace(upload, found=found, fault="")


def _check(upload: Upload) -> None:
    """Refuse what no results file may be here.

    Raises:
        ConfigError: If it is so.
    """
    if _ending(upload.name) not in _KINDS:
        raise ConfigError(
            f"{printable(upload.name, 100)}: its name must end in {', '.join(sorted(_KINDS))}"
        )
    if upload.data.startswith(_PACKED):
        raise ConfigError(
            f"{printable(upload.name, 100)} is compressed; unpack it, or read it with "
            "`vladder case in`"
        )


def _ending(name: str) -> str:
    return Path(name).suffix.lower()


# ---- What the pages say


def laboratory(request: Request, by: By = "", batch: BatchName = "") -> Facts:
    """What may leave, which batches have left, and where results are handed in."""
    campaign: Campaign = request.app.state.service.campaign
    batches = Batches(campaign.ledger, campaign.name)
    return {
        "campaign": campaign.name, "reader": reader_of(request, by), "left": batches.left,
        "verifiers": [
            {"name": each.name, "unit": each.unit, "replicates": each.replicates}
            for each in campaign.ladder.verifiers if each.waits
        ],
        "batches": [_batch(batches, name) for name in batches.names[: -_LISTED - 1 : -1]],
        "batch": batch, "_by": by, "_typed": {}, "_error": "", "_largest": LARGEST,
        "_encodings": _ENCODINGS, "_kinds": sorted(_KINDS),
    }  # fmt: skip


def _batch(batches: Batches, name: str) -> Facts:
    wells = batches.batch(name)
    plates = {well.plate for well in wells if well.well}
    return {"name": name, "rows": len(wells), "plates": len(plates)}


def results(request: Request, upload: UploadId, by: By = "") -> Facts:
    """What an uploaded file says: every bad row with its reason, and what would be taken."""
    uploads: Uploads = request.app.state.uploads
    kept = uploads.of(upload, caller_of(request))
    found = kept.found
    return {
        "campaign": request.app.state.service.campaign.name, "upload": upload,
        "file": kept.name, "size": len(kept.data), "source": kept.source, "fault": kept.fault,
        "good": len(found.answers), "known": found.known, "blank": found.blank,
        "bad_rows": found.bad_rows,
        "taken": None if kept.delivered is None else kept.delivered.taken,
        "left_out": {} if kept.delivered is None else kept.delivered.left_out,
        "_most": _MOST_ROWS, "_by": by, "_error": "",
    }  # fmt: skip


# ---- Work orders


class _Order(NamedTuple):
    """A work order that somebody wants."""

    verifier: str | None
    again: bool
    layout: Layout | None


def _order(form: Form) -> _Order:
    """Read what is wanted.

    Raises:
        ConfigError: If it makes no sense.
    """
    plates, again = form.text("plates"), form.text("again") == "on"
    layout = None
    if plates:
        controls = control_wells(form.text("controls").replace(",", " ").split())
        numbers = [plates, form.text("replicates") or "1"]
        if not all(n.isdecimal() and len(n) < 5 for n in numbers):  # noqa: PLR2004 - digits
            raise ConfigError(f"{' and '.join(numbers)!r:.60}: give whole numbers of wells")
        size, replicates = map(int, numbers)
        layout = Layout(size, randbelow(2**32), replicates, controls)
    return _Order(form.text("verifier") or None, again, layout)


@router.post("/laboratory")
def send(request: Request, form: Annotated[Form, posts()]) -> Response:
    """Have open cases leave as a batch, whose file is then downloaded."""
    by = form.text("by")
    try:
        batch = _send(request.app.state.service.campaign, _order(form), reader_of(request, by))
    except ConfigError as error:
        names = ("verifier", "plates", "replicates", "controls", "again")
        typed = {name: form.text(name) for name in names}
        facts = {**laboratory(request, by), "_typed": typed, "_error": str(error)}
        return shown(request, "laboratory", facts, 422)
    return RedirectResponse(link("laboratory", batch=batch, by=by), 303)


def _send(campaign: Campaign, wanted: _Order, by: str) -> str:
    """Have cases leave; the name of the batch.

    Raises:
        ConfigError: If none leaves.
    """
    if not by:
        raise ConfigError("say who you are: the ledger keeps who has sent a work order")
    ledger, name = campaign.ledger, campaign.name
    rows = work_order(ledger, name, campaign.ladder, wanted.verifier)
    sender = Sender(ledger, name, by=by, again=wanted.again, writing=nullcontext)
    sent = sender.on_plates(rows, wanted.layout) if wanted.layout else sender.listed(rows)
    if not sent or sender.batch is None:
        raise ConfigError(
            "no case is open" if not rows else
            "every open case has left before: choose those that have left too, or download "
            "their batch once more"
        )  # fmt: skip
    return sender.batch


@router.get("/order.csv")
def order_as_csv(request: Request, batch: BatchName) -> Response:
    """A batch that has left, so far as its cases are open, as CSV."""
    rows = _left(request, batch)
    return _file(order_csv(rows), "text/csv; charset=utf-8", f"{batch}.csv")


@router.get("/order.json")
def order_as_json(request: Request, batch: BatchName) -> Response:
    """The same as one JSON array."""
    return _file(order_json(_left(request, batch)), "application/json", f"{batch}.json")


def _left(request: Request, batch: str) -> Rows:
    campaign: Campaign = request.app.state.service.campaign
    rows = work_order(campaign.ledger, campaign.name, campaign.ladder, None)
    left = left_before(campaign.ledger, campaign.name, batch, rows)
    if not left:
        raise HTTPException(404, f"no case of the batch {batch} is open any more")
    return left


def _file(data: bytes, kind: str, name: str) -> Response:
    """A file to keep, under a name without anything that a header or a shell reads."""
    plain = "".join(c for c in name if c.isascii() and (c.isalnum() or c in ".-_"))
    headers = {"Content-Disposition": f'attachment; filename="{plain}"'}
    return Response(data, media_type=kind, headers=headers)


# ---- Results


@router.post("/upload")
def upload_file(request: Request, form: Annotated[Form, posts(LARGEST)]) -> Response:
    """Read a results file, and take nothing of it."""
    campaign: Campaign = request.app.state.service.campaign
    uploads: Uploads = request.app.state.uploads
    by, file = form.text("by"), form.files.get("file")
    source = reader_of(request, by)
    if file is None or not file.name or not source:
        what = "choose a file" if source else "say who you are, and choose a file again"
        facts = {**laboratory(request, by), "_error": what}
        return shown(request, "laboratory", facts, 422)
    encoding = form.text("encoding")
    written = Written(
        encoding if encoding in _ENCODINGS[1:] else None,
        form.text("decimal_comma") == "on", mended(form.text("sheet")).strip() or None,
    )  # fmt: skip
    made = Upload(file.name, file.data, written, source, caller_of(request))
    key = uploads.keep(_read(campaign, made))
    return RedirectResponse(link("results", upload=key, by=by), 303)


@router.post("/results")
def take(request: Request, upload: UploadId, form: Annotated[Form, posts()]) -> Response:
    """Take the good rows of a file: all of them are, or it is said that the others are left."""
    campaign: Campaign = request.app.state.service.campaign
    uploads: Uploads = request.app.state.uploads
    by = form.text("by")
    with uploads.taking:
        fresh = _read(campaign, uploads.of(upload, caller_of(request)))
        is_good = not fresh.fault and (not fresh.found.bad_rows or form.text("only_good") == "on")
        if is_good and fresh.found.answers:
            try:
                fresh = replace(fresh, delivered=_taken(campaign, fresh))
            except (ConfigError, VerifierError) as error:
                facts = {**results(request, upload, by), "_error": str(error)}
                return shown(request, "results", facts, 422)
        uploads.keep(fresh, upload)
    return RedirectResponse(link("results", upload=upload, by=by), 303)


def _taken(campaign: Campaign, upload: Upload) -> Delivered:
    reviews = Reviews(campaign.ledger, campaign.name, campaign.ladder)
    event = delivery(upload.name, upload.data, upload.found)
    return hand_in(campaign, reviews, upload.found.answers, upload.source, event)
