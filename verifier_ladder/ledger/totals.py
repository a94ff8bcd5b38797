"""Totals of the ledger in SQL, for summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.appearances import SqlAppearances
from verifier_ladder.ledger.counting import ALL_STEPS, StepCount, VerdictCount
from verifier_ladder.ledger.records import Extent
from verifier_ladder.ledger.verdicts import OUTCOMES

C = TypeVar("C", VerdictCount, StepCount)
_ENTRIES = "SELECT count(*) FROM entry WHERE CAST(?1 AS TEXT) IS NULL OR campaign = ?1"
_CANDIDATES = (
    "SELECT count(DISTINCT candidate) FROM appearance WHERE CAST(?1 AS TEXT) IS NULL "
    "OR entry_id IN (SELECT id FROM entry WHERE campaign = ?1)"
)
_SAMPLES = (
    "SELECT CAST(coalesce(sum(s.last - s.first + 1), 0) AS BIGINT) FROM span s JOIN entry e "
    "ON e.id = s.entry_id AND e.kind <> 'revision' WHERE CAST(?1 AS TEXT) IS NULL "
    "OR s.campaign = ?1"
)
_VERDICTS = (
    "SELECT r.name, r.version, v.outcome, count(*) FROM verdict v "
    "JOIN verifier r ON r.id = v.verifier WHERE (CAST(?1 AS TEXT) IS NULL OR v.entry_id IN "
    "(SELECT id FROM entry WHERE campaign = ?1)) AND v.id NOT IN "
    "(SELECT supersedes FROM verdict WHERE supersedes IS NOT NULL) "
    "GROUP BY r.name, r.version, v.outcome ORDER BY r.name, r.version, v.outcome"
)
_VERDICT_COUNTS = f"SELECT {', '.join(VerdictCount._fields)} FROM verdict_count WHERE campaign = ?"
_STEP_COUNTS = (
    f"SELECT {', '.join(StepCount._fields)} FROM step_count "
    "WHERE campaign = ? AND step BETWEEN ? AND ?"
)
_WORDS = {"verifier", "version", "outcome", "boundary", "run"}
_ANY_STEP = 2**62


class SqlTotals(SqlAppearances):
    """**Abstract:** the part of the SQL ledger that counts."""

    def count_samples(self, campaign: str) -> int:
        """See `Ledger.count_samples`."""
        with self._reading() as connection:
            return int(connection.exec_driver_sql(_SAMPLES, (campaign,)).scalar_one())

    def statistics(self, campaign: str | None = None) -> dict[str, Any]:
        """See `Ledger.statistics`."""
        self._index_appearances()
        newest = self.newest()
        with self._reading() as connection:
            entries, candidates, samples = (
                connection.exec_driver_sql(statement, (campaign,)).scalar_one()
                for statement in (_ENTRIES, _CANDIDATES, _SAMPLES)
            )
            verdicts = connection.exec_driver_sql(_VERDICTS, (campaign,)).all()
        return {
            "newest": newest,
            "entries": entries,
            "candidates": candidates,
            "samples": samples,
            "verdicts": _tally(verdicts),
        }

    def extent(self, campaign: str) -> Extent:
        """See `Ledger.extent`."""
        newest = self.newest()
        # A page asks again and again: of a million entries counting takes a tenth of a second.
        known, after = self._extents.get(campaign, (0, 0))
        with self._reading() as connection:
            count, last = connection.exec_driver_sql(
                "SELECT count(*), max(id) FROM entry WHERE campaign = ? AND id > ? AND id <= ?",
                (campaign, after, newest),
            ).one()
            count, last = known + int(count), int(last or after)
            self._extents[campaign] = count, last
            if not last:
                return Extent()
            at = connection.exec_driver_sql("SELECT recorded_at FROM entry WHERE id = ?", (last,))
            recorded_at = at.scalar()
        if recorded_at is None:  # An older state of the database was put back.
            del self._extents[campaign]
            return self.extent(campaign)
        return Extent(count, last, float(recorded_at))

    def verdict_counts(self, campaign: str) -> list[VerdictCount]:
        """See `Ledger.verdict_counts`."""
        return sorted(_counts(VerdictCount, self._ask(_VERDICT_COUNTS, campaign)))

    def step_counts(
        self, campaign: str, *, whole_runs: bool = False, since: int = 0
    ) -> list[StepCount]:
        """See `Ledger.step_counts`."""
        steps = (ALL_STEPS, ALL_STEPS) if whole_runs else (since, _ANY_STEP)
        found = _counts(StepCount, self._ask(_STEP_COUNTS, campaign, *steps))
        return sorted(found, key=lambda row: (row.step, row.run))


def _counts(kind: type[C], rows: Sequence[Sequence[Any]]) -> list[C]:
    """Rows of counters, if they hold what their columns are for: whoever can write may write any.

    Raises:
        LedgerError: If they do not.
    """
    wanted = tuple(str if name in _WORDS else int for name in kind._fields)
    if {tuple(map(type, row)) for row in rows} - {wanted}:
        raise LedgerError(
            "the counters of this ledger hold what no program writes; `vladder ledger verify` "
            "names them, and a backup has them as they were"
        )
    return [kind._make(row) for row in rows]


def _tally(rows: Any) -> dict[str, dict[str, int]]:
    """Counts per verifier and outcome."""
    counts: dict[str, dict[str, int]] = {}
    for name, version, outcome, count in rows:
        row = counts.setdefault(f"{name} {version}", dict.fromkeys(map(str, OUTCOMES), 0))
        row[str(OUTCOMES[outcome])] += count
    return counts
