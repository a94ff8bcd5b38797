"""Filing: where what was learnt of some tiers belongs in a ladder that may have changed."""

from __future__ import annotations

from collections.abc import Sequence

from verifier_ladder.scheduler.beliefs.declaration import Declaration


class Filing:
    """Finds the patterns of an earlier ladder in a ladder of today, by their verifiers' names.

    Example:
        >>> filing = Filing([("a", "1"), ("b", "1"), ("top", "1")],
        ...                 [Declaration("b", "2"), Declaration("top", "1")])
        >>> filing.pattern(0b10), filing.pattern(0b01), filing.is_same(0b10)
        (1, None, False)
    """

    def __init__(self, then: Sequence[tuple[str, str]], now: Sequence[Declaration]) -> None:
        """Compare two ladders; each ends with its top tier.

        Args:
            then: Name and digest of each tier's verifier.
            now: What today's tiers declare.
        """
        columns = {tier.name: column for column, tier in enumerate(now[:-1]) if tier.name}
        self.columns = [columns.get(name, -1) for name, _ in then[:-1]]
        """Column of today for each column of then; -1 if it is gone."""
        self.is_about_same = bool(then) and then[-1][0] == now[-1].name
        """Whether both have the same verifier at the top, of whatever version."""
        self._same = [
            column >= 0 and now[column].digest == digest
            for column, (_, digest) in zip(self.columns, then[:-1], strict=True)
        ]
        self._is_same_top = self.is_about_same and then[-1][1] == now[-1].digest

    def pattern(self, pattern: int) -> int | None:
        """The pattern of today; None if tiers are gone or stand in another order."""
        moved = [self.columns[column] for column in columns_of(pattern)]
        if not self.is_about_same or -1 in moved or moved != sorted(moved):
            return None
        return sum(1 << column for column in moved)

    def is_same(self, pattern: int) -> bool:
        """Whether all its verifiers, and that of the top tier, still have the same version."""
        return self._is_same_top and all(self._same[column] for column in columns_of(pattern))


def columns_of(pattern: int) -> list[int]:
    """Columns of the tiers that have answered: bit j of a pattern stands for column j.

    Example:
        >>> columns_of(0b101)
        [0, 2]
    """
    return [column for column in range(pattern.bit_length()) if pattern >> column & 1]
