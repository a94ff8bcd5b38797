"""Plates and other work orders: open cases that leave under an approval.

A row of a work order is a case or, on plates, a well that chance has chosen. An approval allows so
many rows more, whichever they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from secrets import token_hex
from typing import Any, Final, NamedTuple

from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block

SIZES: Final = {96: (8, 12), 384: (16, 24)}
"""Rows and columns of a plate, by its number of wells."""
APPROVAL, BATCH = "approval", "batch"
"""Kinds of entries: that so many rows more may leave, and which have left."""
_CONTROL = "control:"
_NAME = re.compile(r"[\w.+-][\w .+-]{0,39}")
_LARGEST_SEED = 2**53
_MOST_ROWS = 10**9


class Well(NamedTuple):
    """A row of a work order: a well of a plate, and what is in it, or a case."""

    plate: str
    """The plate's name; its first part names the batch."""
    well: str
    """Its place, such as B7; "" where it lies on no plate."""
    case: bytes | None
    """Key of the case; None for a control."""
    control: str = ""
    """Name of the control."""

    @property
    def batch(self) -> str:
        """Name of the batch."""
        return self.plate.rpartition("-")[0]


@dataclass(frozen=True)
class Layout:
    """How a batch is put on plates.

    Example:
        >>> layout = Layout(96, seed=7, replicates=3, controls={"blank": 6})
        >>> layout.cases_in(96), layout.cases_in(48), layout.cases_in(8)
        (30, 14, 0)
        >>> sorted(well.control for well in layout.draw([b"a"]))
        ['', '', '', 'blank', 'blank', 'blank', 'blank', 'blank', 'blank']
    """

    size: int
    """Wells of a plate: 96 or 384."""
    seed: int
    """By which the wells are drawn."""
    replicates: int = 1
    """Wells of each case, all on one plate."""
    controls: Mapping[str, int] = field(default_factory=dict)
    """Wells of each control on each plate, by its name."""

    def __post_init__(self) -> None:
        """Refuse what fits on no plate.

        Raises:
            ConfigError: If it does not fit.
        """
        if self.size not in SIZES:
            raise ConfigError(f"plates of {self.size} wells are not known; choose 96 or 384")
        if not 0 <= self.seed < _LARGEST_SEED:
            raise ConfigError(f"seed {self.seed}: give a number from 0 to 2**53 - 1")
        for name, count in self.controls.items():
            if not _NAME.fullmatch(name) or count < 1:
                raise ConfigError(
                    f"control {name!r:.60}={count}: give a name of up to 40 letters, digits and "
                    "spaces, and at least one well"
                )
        if self.replicates < 1 or self._cases < 1:
            raise ConfigError(
                f"{self.replicates} wells of a case and {self._taken} of controls don't fit on a "
                f"plate of {self.size}; give fewer, and at least one of a case"
            )

    @property
    def _taken(self) -> int:
        return sum(self.controls.values())

    @property
    def _cases(self) -> int:
        """The most cases of one plate."""
        return (self.size - self._taken) // self.replicates

    def cases_in(self, wells: int) -> int:
        """How many cases so many wells have room for, with the controls of each plate."""
        full = self._cases * self.replicates + self._taken
        rest = wells % full - self._taken
        return wells // full * self._cases + max(0, rest // self.replicates)

    def draw(self, cases: Sequence[bytes]) -> list[Well]:
        """Put cases on plates; the same cases in the same order lie in the same wells.

        Returns:
            The wells in use, plate by plate in the order in which they are read.
        """
        chance = Random(self.seed)  # noqa: S311 - it is to be repeated
        told = repr([self.size, self.seed, self.replicates, sorted(self.controls.items()), cases])
        batch = f"P{sha256(told.encode()).hexdigest()[:8]}"
        found: list[Well] = []
        for number, start in enumerate(range(0, len(cases), self._cases), 1):
            part = cases[start : start + self._cases]
            held: list[tuple[bytes | None, str]] = [
                *((case, "") for case in part for _ in range(self.replicates)),
                *((None, name) for name, count in self.controls.items() for _ in range(count)),
            ]
            places = chance.sample(range(self.size), len(held))
            found += [
                Well(f"{batch}-{number}", self._name(place), *what)
                for place, what in sorted(zip(places, held, strict=True), key=lambda one: one[0])
            ]
        return found

    def _name(self, place: int) -> str:
        row, column = divmod(place, SIZES[self.size][1])
        return f"{chr(ord('A') + row)}{column + 1}"

    def as_json(self) -> dict[str, Any]:
        """The layout as JSON values."""
        return {
            "size": self.size, "seed": self.seed, "replicates": self.replicates,
            "controls": dict(self.controls),
        }  # fmt: skip


class Batches:
    """What a campaign may send away, and what it has sent.

    Approvals and batches are added up in the order of their entries. A batch is void, so that
    nothing of it has left, if `refusal` spoke against it by what came before it.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> ledger = open_ledger(":memory:")
        >>> approve(ledger, "try", 8, by="ada")
        >>> wells = Layout(96, seed=7, replicates=3).draw([b"a", b"b"])
        >>> send(ledger, "try", Layout(96, seed=7, replicates=3), wells, by="bob")
        >>> Batches(ledger, "try").left
        2
    """

    def __init__(self, ledger: Ledger, campaign: str) -> None:
        """Read them from the ledger."""
        self.left = 0
        """Rows that may still leave."""
        self.wells: dict[tuple[str, str], Well] = {}
        """All wells that have left, by plate and place."""
        self.void: dict[int, str] = {}
        """Why batches are void, by the number of their entry."""
        self.cases: set[bytes] = set()
        """Keys of the cases that lie on plates."""
        self.sent: set[bytes] = set()
        """Keys of all cases that have left, on plates or not."""
        self._held: dict[tuple[bytes, str], set[str]] = {}
        self._batches: dict[str, list[Well]] = {}
        kinds = (APPROVAL, BATCH)
        entries = [one for k in kinds for one in ledger.entries(kind=k, campaign=campaign)]
        for entry in sorted(entries, key=lambda entry: entry.id):
            facts = ledger.read(entry).facts
            if entry.kind == APPROVAL:
                self.left += int(facts["wells"])
                continue
            wells = _rows(facts)
            again = bool(facts.get("again", True))  # Older entries tell nothing of it.
            if why := self.refusal(wells, again=again):
                self.void[entry.id] = why
            else:
                self._take(wells)

    def _take(self, wells: Sequence[Well]) -> None:
        self.left -= len(wells)
        self.wells |= {(well.plate, well.well): well for well in wells if well.well}
        for well in wells:
            self._batches.setdefault(well.batch, []).append(well)
            if well.case is not None:
                self.sent.add(well.case)
            if well.case is not None and well.well:
                self.cases.add(well.case)
                self._held.setdefault((well.case, well.plate), set()).add(well.well)

    def refusal(self, wells: Sequence[Well], *, again: bool) -> str:
        """Why a batch may not leave; "" if it may.

        Args:
            wells: The batch.
            again: Whether cases may be in it that have left before.
        """
        if not wells:
            return "no case is in it"
        if any(well.batch in self._batches for well in wells):
            return "this very batch has left before; give another seed, or none"
        if not again and any(well.case in self.sent for well in wells):
            return "some of its cases have left just now; have it drawn anew"
        if len(wells) > self.left:
            return (
                f"{len(wells):,} rows would leave, and {self.left:,} may; have more approved, "
                "with `vladder case approve`"
            )
        return ""

    def of(self, case: bytes, plate: str) -> set[str]:
        """The wells of a case on a plate."""
        return self._held.get((case, plate), set())

    @property
    def names(self) -> list[str]:
        """Names of the batches that have left, the oldest first."""
        return list(self._batches)

    def batch(self, name: str) -> list[Well]:
        """The wells of a batch that has left, plate by plate in the order in which they are read.

        Raises:
            ConfigError: If none of that name has left.
        """
        if name not in self._batches:
            known = ", ".join(self._batches) or "none"
            raise ConfigError(f"no batch {name!r:.60} has left; those that have: {known:.300}")
        return sorted(self._batches[name], key=_reading_order)


def _reading_order(well: Well) -> tuple[int, str, int]:
    return int(well.plate.rpartition("-")[2]), well.well[:1], int(well.well[1:] or 0)


def approve(ledger: Ledger, campaign: str, rows: int, *, by: str) -> None:
    """Record that so many rows more may leave: wells, controls and all, or cases.

    Raises:
        ConfigError: If that is not a number of rows, or nobody says so.
        LedgerError: If it can't be told yet what came before it.
    """
    if not 1 <= rows <= _MOST_ROWS or not by.strip():
        raise ConfigError(
            f"{rows} rows approved by {by!r:.60}: give a number from 1 to {_MOST_ROWS:,}, and a "
            "name"
        )
    facts = {"wells": rows, "by": by.strip()}
    entry = ledger.append(Block(APPROVAL, campaign, facts=facts))
    _wait_for_earlier(ledger, entry, "The approval stands; approve nothing again")


def send(
    ledger: Ledger,
    campaign: str,
    layout: Layout | None,
    wells: Sequence[Well],
    *,
    by: str,
    again: bool = False,
) -> None:
    """Record that a batch leaves.

    Args:
        ledger: The ledger.
        campaign: The campaign's name.
        layout: How its wells were drawn; None where it lies on no plates.
        wells: Its rows: those of `Layout.draw`, or of `listed`.
        by: Who sends it.
        again: Whether cases may be in it that have left before.

    Raises:
        ConfigError: If it goes beyond what was approved, or, unless `again` is given, holds a case
            that has left.
        LedgerError: If it can't be told yet what came before it.
    """
    if why := Batches(ledger, campaign).refusal(wells, again=again):
        raise ConfigError(why)
    told = _listing(wells) if layout is None else {**layout.as_json(), "plates": _plates(wells)}
    entry = ledger.append(Block(BATCH, campaign, facts={**told, "by": by, "again": again}))
    _wait_for_earlier(
        ledger, entry, f"No file of the batch {wells[0].batch} was written; once they have ended, "
        f"`vladder case out --batch {wells[0].batch}` writes it, if it may leave",
    )  # fmt: skip
    if entry in (void := Batches(ledger, campaign).void):
        raise ConfigError(void[entry])


def listed(cases: Sequence[bytes]) -> list[Well]:
    """The rows of a batch of cases that lie on no plate, under a name of its own.

    Example:
        >>> [(row.well, row.case) for row in listed([b"a", b"b"])]
        [('', b'a'), ('', b'b')]
    """
    plate = f"O{token_hex(4)}-1"
    return [Well(plate, "", case) for case in cases]


def _plates(wells: Sequence[Well]) -> dict[str, dict[str, str]]:
    plates: dict[str, dict[str, str]] = {}
    for well in wells:
        held = f"{_CONTROL}{well.control}" if well.case is None else well.case.hex()
        plates.setdefault(well.plate, {})[well.well] = held
    return plates


def _listing(rows: Sequence[Well]) -> dict[str, Any]:
    return {"listed": rows[0].batch, "cases": [row.case.hex() for row in rows if row.case]}


def _wait_for_earlier(ledger: Ledger, entry: int, what_now: str) -> None:
    """Wait until no entry can come any more before one.

    Args:
        ledger: The ledger.
        entry: The entry.
        what_now: What is told who has waited in vain.

    Raises:
        LedgerError: If others write for very long.
    """
    try:
        ledger.await_earlier(entry)
    except LedgerError as error:
        raise LedgerError(f"{error}. {what_now}") from None


def _rows(facts: Mapping[str, Any]) -> list[Well]:
    """The rows of a batch, as its entry tells of them."""
    if "listed" in facts:
        return [Well(f"{facts['listed']}-1", "", bytes.fromhex(case)) for case in facts["cases"]]
    return [
        Well(plate, well, None, held.removeprefix(_CONTROL)) if held.startswith(_CONTROL)
        else Well(plate, well, bytes.fromhex(held))
        for plate, wells in facts["plates"].items() for well, held in wells.items()
    ]  # fmt: skip
