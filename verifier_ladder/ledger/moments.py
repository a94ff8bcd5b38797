"""Moments: what a ledger knew when a checkpoint was signed."""

from __future__ import annotations

from collections.abc import Sequence

from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.log import SqlLog
from verifier_ladder.ledger.records import SampleReward
from verifier_ladder.ledger.samples import sample_rewards
from verifier_ladder.ledger.values import loads
from verifier_ladder.ledger.verdicts import indexed_verdict, unpack_verdict
from verifier_ladder.verdict import Verdict


class SqlMoments(SqlLog):
    """**Abstract:** the part of the SQL ledger that looks back.

    A moment is the size of a checkpoint. What is known at one never changes any more, so a
    training step that names it can be looked at again years later.
    """

    def verdicts_as_of(self, check_keys: Sequence[bytes], size: int) -> dict[bytes, Verdict]:
        """The verdict that each check had when the log had this size.

        Args:
            check_keys: The checks.
            size: How many entries count.
        """
        wanted = set(check_keys)
        with self._reading() as connection:
            dialect = dialect_of(connection)
            rows = connection.exec_driver_sql(
                "SELECT v.check_key, v.outcome, v.score, v.uncertainty, r.unit, v.seconds, "
                f"v.detail {dialect.matching('verdict', 'v')} "
                "JOIN verifier r ON r.id = v.verifier JOIN leaf l ON l.entry_id = v.entry_id "
                "WHERE l.idx < ? ORDER BY v.id",  # A later one is a correction.
                (dialect.keys(wanted), size),
            ).all()
        return {
            bytes(key): indexed_verdict(*said) if detail is None else unpack_verdict(loads(detail))
            for key, *said, detail in rows
            if bytes(key) in wanted
        }

    def recorded_as_of(
        self, campaign: str, run: str, step: int, size: int
    ) -> dict[int, SampleReward]:
        """The rewards that the samples of a step had when the log had this size, by position."""
        found: dict[int, SampleReward] = {}
        for entry in self.step_entries(campaign, run, step):
            place = self.place(entry.id)
            if place is not None and place < size:
                found.update(sample_rewards(entry.id, self.read(entry)))
        return found
