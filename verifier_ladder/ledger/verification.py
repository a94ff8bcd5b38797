"""Verifications: what was found when a ledger's history was compared with what was signed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from verifier_ladder.ledger.encoding import leaf
from verifier_ladder.ledger.offline import (
    WIDTH,
    Checkpoint,
    Frontier,
    Key,
    RejectedError,
    check_openings,
    open_checkpoint,
    read_checkpoint,
    root_of,
    time_text,
)
from verifier_ladder.ledger.tiles import Tile
from verifier_ladder.ledger.values import unpack

NOT_COMPARED: Final = ("rows in transit (work queue, repeated calls)", "accounts", "inbox")
"""What changes all the time, and does not follow from the entries."""
_MOST = 50
"""Problems that are told one by one; one changed byte shows in many places."""


@dataclass
class Verification:
    """Everything that was compared, and all that did not fit."""

    origin: str = ""
    """The log's name."""
    entries: int = 0
    """Entries of the log whose every byte was hashed."""
    pending: int = 0
    """Entries that nobody has signed for yet."""
    checkpoints: int = 0
    """Signed checkpoints that were compared with the entries."""
    records: int = 0
    """Rows that were rebuilt from the entries and compared; 0 if that was not asked for."""
    artifacts: int = 0
    """Artifacts whose bytes are what the entries say."""
    artifacts_missing: int = 0
    """Artifacts that entries name and whose bytes are not there; no proof needs them."""
    artifacts_erased: int = 0
    """Artifacts whose bytes were erased on purpose."""
    artifacts_left_out: int = 0
    """Artifacts whose bytes were not kept, because their campaign kept enough."""
    is_pinned: bool = False
    """Whether the caller has said who must have signed; else any key that the ledger names may."""
    is_compared_with_note: bool = False
    """Whether it was compared with what is noted here, or by the witness, to be signed last."""
    keys: Sequence[Key] = ()
    """Who may have signed."""
    newest: str | None = None
    """The newest signed checkpoint."""
    problems: list[str] = field(default_factory=list)
    """What does not fit, at most fifty lines."""
    more: int = 0
    """How many further problems there are."""
    of_note: int = 0
    """How many problems are that it differs from what is noted here, or that nothing is."""

    @property
    def is_intact(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    @property
    def may_be_accepted(self) -> bool:
        """Whether it fits itself, and differs only from what is noted to have been signed."""
        return 0 < self.of_note == len(self.problems) + self.more

    def add(self, problem: str, *, of_note: bool = False) -> None:
        """Note a problem.

        Args:
            problem: What is wrong.
            of_note: Whether it is that the ledger differs from what is noted here.
        """
        self.of_note += of_note
        if len(self.problems) < _MOST:
            # What is named may hold what can't be printed.
            self.problems.append(problem.encode(errors="backslashreplace").decode())
        else:
            self.more += 1

    def as_json(self) -> dict[str, Any]:
        """The findings as JSON values."""
        return {
            "is_intact": self.is_intact, "origin": self.origin, "entries": self.entries,
            "pending": self.pending, "checkpoints": self.checkpoints, "records": self.records,
            "artifacts": self.artifacts, "artifacts_missing": self.artifacts_missing,
            "artifacts_erased": self.artifacts_erased,
            "artifacts_left_out": self.artifacts_left_out,
            "keys": [str(key) for key in self.keys], "is_pinned": self.is_pinned,
            "is_compared_with_note": self.is_compared_with_note,
            "newest": self.newest, "problems": self.problems, "more": self.more,
            "not_compared": list(NOT_COMPARED),
        }  # fmt: skip


class Row(NamedTuple):
    """An entry as its table holds it; None where it is gone."""

    id: int
    kind: str | None
    campaign: str | None
    recorded_at: float | None
    leaf: Any
    body: Any


class Saved(NamedTuple):
    """What a log must begin with."""

    checkpoint: Checkpoint
    name: str
    """What messages call it."""
    may_wait: bool = False
    """Whether its last entries may still wait for their place in the log."""
    is_note: bool = False
    """Whether it is what is noted here, which a restored backup differs from."""


class Walk:
    """Goes through a log from its first entry and compares all that stands beside it."""

    def __init__(self, found: Verification, saved: Iterable[Saved]) -> None:
        """Begin at the first entry.

        Args:
            found: Where to note problems.
            saved: What the log must begin with.
        """
        self.frontier = Frontier()
        self.last = 0
        """The last entry that has come."""
        self._time = ""
        self._found = found
        self._saved = list(saved)
        self._waiting: Frontier | None = None
        self._signers: set[Key] = set()
        self._leaves: list[bytes] = []
        self._roots: list[bytes] = []
        self._differs = False

    def step(self, index: int, row: Row) -> None:
        """Go on to the next entry of the log."""
        if index != self.frontier.size:
            self._found.add(f"the log has a gap before place {index}")
        if row.id <= self.last:
            self._found.add(f"entry {row.id} stands in the log behind entry {self.last}")
        self.last = max(self.last, row.id)
        self._time = time_text(row.recorded_at)
        hashed = check_row(row, self._found)
        self.frontier.append(hashed)
        self._leaves.append(hashed)
        self._found.entries += 1
        self._compare(self.frontier, self._time)

    def stray(self, what: str) -> None:
        """Note a row that stands where no row of this log may stand."""
        self._found.add(f"table {what}: no such place is in the log")

    def wait(self, row: Row) -> None:
        """Go on to the next entry that waits for its place in the log."""
        if self._waiting is None:
            self._waiting = Frontier(self.frontier.size, self.frontier.roots)
        self._waiting.append(check_row(row, self._found))
        self._compare(self._waiting, time_text(row.recorded_at))

    def _compare(self, frontier: Frontier, time: str) -> None:
        """Compare with what was saved of a log of this size, whose last entry is of this time."""
        for saved in self._saved:
            if saved.checkpoint.size != frontier.size:
                continue
            if saved.checkpoint.root != frontier.root():
                self._found.add(
                    f"the first {frontier.size} entries are not those of {saved.name}: "
                    "the history was rewritten",
                    of_note=saved.is_note,
                )
            elif saved.checkpoint.time not in {"", time}:
                self._found.add(
                    f"{saved.name}: the last of its {frontier.size} entries was not recorded at "
                    f"{saved.checkpoint.time}"
                )

    def tile(self, tile: Tile, data: bytes | None) -> None:
        """Compare the full tile that the last 256 entries make."""
        if data != b"".join(self._leaves):
            self._found.add(f"{tile.path} is not made of its entries")
        self._roots.append(root_of(self._leaves))
        self._leaves.clear()

    @property
    def fills_tile(self) -> bool:
        """Whether 256 entries have come since the last full tile."""
        return len(self._leaves) == WIDTH

    def upper_tiles(self) -> Iterator[tuple[Tile, bytes]]:
        """The full tiles above level 0, as they must be."""
        level, roots = 1, self._roots
        while len(roots) >= WIDTH:
            parts = [roots[at : at + WIDTH] for at in range(0, len(roots) - WIDTH + 1, WIDTH)]
            for index, part in enumerate(parts):
                yield Tile(level, index), b"".join(part)
            level, roots = level + 1, [root_of(part) for part in parts]

    def checkpoint(self, size: int, note: str, frontier: bytes) -> None:
        """Compare a checkpoint with the entries before it; it must come at its size."""
        found = self._found
        found.checkpoints += 1
        try:
            signed, key = open_checkpoint(str(note), found.keys)
        except RejectedError as error:
            found.add(f"checkpoint {size}: {error}")
            return
        self._signers.add(key)
        if signed.origin != found.origin or signed.size != size:
            found.add(f"checkpoint {size} was signed for {signed.size} of {signed.origin}")
        elif size != self.frontier.size:
            found.add(f"checkpoint {size}: only {self.frontier.size} of its entries are there")
        elif signed.root != self.frontier.root():
            if not self._differs:
                found.add(f"checkpoint {size}: the entries before it are not those signed for")
            self._differs = True
        elif signed.time not in {"", self._time}:
            found.add(f"checkpoint {size}: its last entry was not recorded at {signed.time}")
        elif frontier != b"".join(self.frontier.roots):
            found.add(f"checkpoint {size}: its frontier was changed")

    def finish(self) -> None:
        """Compare the end of the log with what was saved, and signers with what they signed."""
        size, waiting = self.frontier.size, (self._waiting or self.frontier).size
        for saved in self._saved:
            if saved.checkpoint.size > (waiting if saved.may_wait else size):
                self._found.add(
                    f"the log has {size} entries; {saved.name} has {saved.checkpoint.size}: "
                    "its end was cut off",
                    of_note=saved.is_note,
                )
        if not self._found.is_pinned:
            for key in self._found.keys:
                if key not in self._signers:
                    self._found.add(f"{key} is named as a signer and has signed nothing here")


def check_row(row: Row, found: Verification) -> bytes:
    """Compare an entry with its own hash and columns; returns the hash that the log holds.

    Of an entry that was changed this is the hash it had, so that the others can be compared.
    """
    if row.body is None:
        found.add(f"entry {row.id} is gone")
        return b""
    if not isinstance(row.body, bytes) or not isinstance(row.leaf, bytes):
        found.add(f"entry {row.id} was changed: its bytes are of another type")
        return b""
    if leaf(row.body) != row.leaf:
        found.add(f"entry {row.id} was changed: its bytes have another hash")
        return row.leaf
    try:
        check_openings(row.body)
    except RejectedError as error:
        found.add(f"entry {row.id} was changed: {error}")
    try:
        head = orjson.loads(row.body.partition(b"\n")[0])
        told = (head["kind"], unpack(head["campaign"]), head["recorded_at"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        found.add(f"entry {row.id} can't be read")
        return row.leaf
    if told != (row.kind, row.campaign, row.recorded_at):
        found.add(f"entry {row.id}: its kind, campaign or time beside the body was changed")
    return row.leaf


def saved_checkpoint(text: str | None, keys: Iterable[Key], origin: str) -> Checkpoint | None:
    """A checkpoint that was kept elsewhere, if it is this log's.

    Raises:
        RejectedError: If it is another log's, or none of the keys has signed it.
    """
    if text is None:
        return None
    told = read_checkpoint(text)
    if origin and told.origin != origin:
        raise RejectedError(f"the saved checkpoint is of {told.origin}, this ledger is {origin}")
    return open_checkpoint(text, keys)[0]
