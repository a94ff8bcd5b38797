"""Counting: how many checks ended how, and what samples earn, kept beside the entries.

Each number is a sum over entries, and what an entry adds follows from its own records alone. So it
is the same in whatever order entries become visible, `verify` counts it anew, and no entry has to
be read to tell it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import floor, fsum
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from verifier_ladder.candidate import MOST_PLACES
from verifier_ladder.group import MEMBERS, holds_members
from verifier_ladder.ledger.records import Block, CandidateRow, SampleColumns
from verifier_ladder.ledger.sections import Columns, verdict_columns
from verifier_ladder.ledger.table import columns_of
from verifier_ladder.ledger.values import pack, unpack
from verifier_ladder.reward import CANONICAL
from verifier_ladder.text import printable
from verifier_ladder.verdict import Outcome

if TYPE_CHECKING:
    from sqlalchemy import Connection

COUNTED: Final = "counted"
"""Where a connection gathers what its transaction adds; it is written as the transaction ends."""
ALL_STEPS: Final = -1
"""Step of the row that holds the sums of a whole run."""
BEFORE_TIERS: Final = -1
"""Tier of what canonicalisers say, which is counted where there is no canonical form."""
FAILED: Final = "failed"
"""Outcome of an attempt that gave no answer."""
OPEN: Final = "open"
"""Outcome of a check that only opened a case of the world: it is no answer."""
TOGETHER: Final = "group"
"""Outcome of a check of a whole group; what it says of members is counted by member."""
_LONGEST: Final = 60
"""Characters of a boundary's name."""
_BITS: Final = 40
_PARTS: Final = 2**_BITS
"""Parts of one that sums of rewards are kept in: whole numbers add up alike in any order."""
_REWARD: Final = (float, int, NoneType)
_LARGEST: Final = 2.0**40
"""No entry adds more to a sum of rewards, so that no sum leaves the range of the database."""
_TELLING: Final = frozenset({"waiting", MEMBERS})
"""Evidence that makes more of a verdict than its outcome."""
_ELSEWHERE: Final = frozenset({"import", "merge"})
"""Kinds of entries whose verdicts were asked for by somebody else."""


class VerdictCount(NamedTuple):
    """How many checks of one version of a verifier ended alike in a campaign.

    They are those that its entries tell of: a correction of the world counts once more, and what
    was imported, or known from another campaign, does not count.
    """

    tier: int
    verifier: str
    version: str
    outcome: str
    """`accept`, `reject`, `abstain`; or `failed`, `open`, `group`."""
    boundary: str
    """The boundary that failed; "" where there was an answer."""
    checks: int


class StepCount(NamedTuple):
    """The samples of one step of a run, or of all its steps."""

    run: str
    step: int
    """`ALL_STEPS` for the sums of the run; steps that nobody counts stand in these alone."""
    samples: int
    revised: int
    """Revisions of their rewards."""
    known: int
    """Rewards that are a number, as they stand now."""
    waiting: int
    """Rewards that are not known and may still come."""
    whole: int
    part: int
    """The sum of the rewards as they stand is `whole` + `part` / 2⁴⁰, which is less than one."""
    unsummed: int
    """Rewards that are missing from `known`, `waiting` and the sum, which are not known then."""
    checks: int
    """Checks that its calls ran at once."""
    reused: int
    """Answers that its calls found in the ledger."""

    @property
    def mean(self) -> float | None:
        """Mean of the rewards as they stand; None where there is none, or it is not known."""
        if self.unsummed or not self.known:
            return None
        return (self.whole + self.part / _PARTS) / self.known

    @property
    def unrewarded(self) -> tuple[int, int] | None:
        """Samples that have no reward and wait for none, and all that have ended.

        None if that is not known. Entries of early versions don't tell which samples waited for
        none before they were revised, so fewer than none may seem to wait.
        """
        if self.unsummed or self.waiting < 0:
            return None
        ended = self.samples - self.waiting
        return ended - self.known, ended

    @classmethod
    def together(cls, counts: Iterable[StepCount]) -> StepCount:
        """The samples of several runs, under no name."""
        total = cls("", ALL_STEPS, *[0] * len(cls._fields[2:]))
        for count in counts:
            total = total.plus(count)
        return total

    def plus(self, other: StepCount) -> StepCount:
        """The two together, under the name of the first."""
        sums = [a + b for a, b in zip(self[2:], other[2:], strict=True)]
        return StepCount(self.run, self.step, *sums).carried()

    def carried(self) -> StepCount:
        """The same, with a part that is less than one: else it would outgrow its column."""
        more, part = divmod(self.part, _PARTS)
        return self._replace(whole=self.whole + more, part=part) if more else self


class Counted:
    """What some entries add to the counters, by the rows of both tables."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.verdicts: Counter[tuple[Any, ...]] = Counter()
        """Checks, by campaign and the first fields of `VerdictCount`."""
        self.steps: dict[tuple[str, str, int], StepCount] = {}
        """By campaign, run and step."""

    def add(self, block: Block, verdicts: Columns | None = None) -> None:
        """Count an entry.

        Args:
            block: Its records.
            verdicts: `verdict_columns` of its verdicts, if they are made already.
        """
        if block.verdicts and verdicts is None:
            verdicts = verdict_columns(block.verdicts)
        if block.kind not in _ELSEWHERE:
            self._add_checks(block.campaign, _refused(block.candidates))
            self._add_checks(block.campaign, {} if verdicts is None else _ended(verdicts))
        if block.samples is not None:
            self._add_samples(block, block.samples, verdicts)

    def _add_checks(self, campaign: str, ended: Mapping[tuple[Any, ...], int]) -> None:
        for (tier, verifier, version, outcome, boundary), count in ended.items():
            failed = "" if boundary is None else boundary_name(boundary)
            key = (campaign, int(tier), verifier, version, str(outcome), failed)
            self.verdicts[key] += count

    def _add_samples(self, block: Block, samples: SampleColumns, verdicts: Columns | None) -> None:
        run, step = samples.run, int(samples.step)
        more = StepCount(run, ALL_STEPS, *_sampled(block, samples, verdicts))
        for place in (ALL_STEPS, step) if 0 <= step < MOST_PLACES else (ALL_STEPS,):
            key, named = (block.campaign, run, place), more._replace(step=place)
            known = self.steps.get(key)
            self.steps[key] = named if known is None else known.plus(named)

    def write(self, connection: Connection, mark: str = "?") -> None:
        """Add all of it to the tables, in an order in which no two writers wait in a circle.

        Args:
            connection: The one that writes, at the end of its transaction: whoever adds to the
                same row waits until it is over.
            mark: What stands for a value in its statements.
        """
        told: list[tuple[Any, ...]] = sorted((*key, n) for key, n in self.verdicts.items())
        sums: list[tuple[Any, ...]] = [
            (campaign, *self.steps[campaign, run, step])
            for campaign, run, step in sorted(self.steps)
        ]
        for statement, rows in ((_ADD_VERDICTS, told), (_ADD_STEPS, sums)):
            if rows:
                connection.exec_driver_sql(statement.replace("?", mark), rows)


def boundary_name(boundary: str) -> str:
    """What a boundary is called in the counters."""
    return printable(boundary, _LONGEST)


def counted_in(connection: Connection) -> Counted:
    """What the transaction of a connection has counted so far."""
    found: Counted = connection.info.setdefault(COUNTED, Counted())
    return found


def _adding(
    table: str, names: Sequence[str], keys: Sequence[str], carried: dict[str, str] | None = None
) -> str:
    """SQL that adds numbers to a row, which is made when it is first needed."""
    names = ("campaign", *names)
    added = {n: f"{table}.{n} + excluded.{n}" for n in names if n not in keys}
    sums = ", ".join(f"{n} = {said}" for n, said in (added | (carried or {})).items())
    return (
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) "
        f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sums}"
    )


_ADD_VERDICTS: Final = _adding(
    "verdict_count", VerdictCount._fields, ("campaign", *VerdictCount._fields[:-1])
)
_LOW: Final = f"((step_count.part & {_PARTS - 1}) + excluded.part)"
_ADD_STEPS: Final = _adding(
    "step_count", StepCount._fields, ("campaign", "step", "run"), {
        "whole": "step_count.whole + excluded.whole "
        f"+ (step_count.part >> {_BITS}) + ({_LOW} >> {_BITS})",
        "part": f"{_LOW} & {_PARTS - 1}",
    },
)  # fmt: skip


# -- what one entry adds -------------------------------------------------------------------------


def _refused(rows: Sequence[CandidateRow]) -> Mapping[tuple[Any, ...], int]:
    """How many have no canonical form, as if a verifier before all tiers had said so."""
    said = columns_of(rows)[-1] if rows else ()
    return Counter(
        (BEFORE_TIERS, CANONICAL, "", _outcome(v.outcome, v.failed_at, v.evidence), v.failed_at)
        for v in (said if any(said) else ()) if v is not None
    )  # fmt: skip


def _ended(columns: Columns) -> Mapping[tuple[Any, ...], int]:
    """How many checks ended how: tier, verifier, version, outcome, boundary."""
    outcomes, failed, evidence = (columns[n] for n in ("outcome", "failed_at", "evidence"))
    have_failed = failed.count(None) < len(failed)
    if have_failed or any(evidence):
        outcomes = list(map(_outcome, outcomes, failed, evidence))
    named = [columns[name] for name in ("tier", "verifier", "version")]
    if not have_failed and all(part.count(part[0]) == len(part) for part in named):
        who = [part[0] for part in named]  # Nearly always; it takes a tenth of the time.
        return {(*who, outcome, None): count for outcome, count in Counter(outcomes).items()}
    return Counter(zip(*named, outcomes, failed, strict=True))


def _outcome(outcome: Outcome, failed: str | None, evidence: Mapping[str, Any]) -> str:
    if failed is not None:
        return FAILED
    if _TELLING.isdisjoint(evidence):
        return outcome
    kept = unpack(pack(evidence))  # As the entry gives it back.
    if kept.get("waiting"):
        return OPEN
    return TOGETHER if holds_members(outcome, kept) else outcome


def _sampled(block: Block, samples: SampleColumns, verdicts: Columns | None) -> tuple[int, ...]:
    """The numbers of `StepCount` that an entry with samples adds."""
    values, count = [reward.value for reward in block.rewards], len(samples.contents)
    unknown = values.count(None)
    waiting = sum(r.value is None and r.pending for r in block.rewards) if unknown else 0
    if block.kind != "revision":
        summed = _summed(values, (), len(values) - unknown, waiting)
        return (count, 0, *summed, *_asked(block, samples, verdicts))
    before = _before(block, len(values))
    if before is None:
        return (0, count, 0, 0, 0, 0, count, 0, 0)
    # Who had no reward could still get one, unless the entry says that none was to come.
    lost = before.count(None)
    waited = lost - _ended_before(block, before)
    return (0, count, *_summed(values, before, lost - unknown, waiting - waited), 0, 0)


def _before(block: Block, count: int) -> list[float | None] | None:
    """The rewards that an entry replaces; None if it does not tell them."""
    told = block.facts.get("previous")
    if not isinstance(told, list) or len(told) != count:
        return None
    return told if all(isinstance(value, _REWARD) for value in told) else None


def _ended_before(block: Block, before: Sequence[float | None]) -> int:
    """How many of those that had no reward did not wait for one any more."""
    told = block.facts.get("ended")
    places = [at for at in told if type(at) is int] if isinstance(told, list) else []
    return sum(before[at] is None for at in {*places} if 0 <= at < len(before))


def _summed(
    values: Sequence[float | None], before: Sequence[float | None], known: int, waiting: int
) -> tuple[int, int, int, int, int]:
    """Changes of known and waiting rewards and of their sum, and how many are in none of these."""
    try:
        change = fsum([v for v in values if v is not None] + [-v for v in before if v is not None])
    except (OverflowError, ValueError):
        change = _LARGEST
    if not abs(change) < _LARGEST:
        return 0, 0, 0, 0, len(values)
    whole = floor(change)
    more, part = divmod(round((change - whole) * _PARTS), _PARTS)
    return known, waiting, whole + more, part, 0


def _asked(block: Block, samples: SampleColumns, verdicts: Columns | None) -> tuple[int, int]:
    """How many checks a call ran at once, and how many answers it found in the ledger."""
    if block.kind != "score":
        return 0, 0
    ran = len(set(verdicts["check_key"])) if verdicts is not None else 0
    return ran, max(0, sum(map(len, samples.checks)) - ran)
