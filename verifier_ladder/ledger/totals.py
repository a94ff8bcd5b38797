"""Totals of the ledger in SQL, for summaries."""

from __future__ import annotations

from typing import Any

from verifier_ladder.ledger.appearances import SqlAppearances
from verifier_ladder.ledger.verdicts import OUTCOMES

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


def _tally(rows: Any) -> dict[str, dict[str, int]]:
    """Counts per verifier and outcome."""
    counts: dict[str, dict[str, int]] = {}
    for name, version, outcome, count in rows:
        row = counts.setdefault(f"{name} {version}", dict.fromkeys(map(str, OUTCOMES), 0))
        row[str(OUTCOMES[outcome])] += count
    return counts
