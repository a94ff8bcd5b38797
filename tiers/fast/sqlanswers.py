"""What queries answer, compared: values, rows, their order, and what a query leaves open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from math import isinf
from typing import Any, NamedTuple

from verifier_ladder.tiers.fast.sqlengine import Answer

ROUNDING = 1e-9
"""How far floats may differ that mean the same."""
Row = tuple[Any, ...]


class Block(NamedTuple):
    """Rows that tie, and how many of them are taken."""

    rows: list[Row]
    taken: int

    @property
    def is_cut(self) -> bool:
        """Whether it is open which of them are taken."""
        return self.taken < len(self.rows) and len(set(map(repr, self.rows))) > 1


class Said(NamedTuple):
    """What a query says of a database."""

    answer: Answer
    blocks: list[Block]
    """In order; one block if the query has no order."""


def values_match(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two values are the same, up to what rounding may do to floats.

    Example:
        >>> values_match(0.1 + 0.2, Decimal("0.3"), 1e-9), values_match(1, "1", 1e-9)
        (True, False)
    """
    if one == other:
        return True
    if isinstance(one, tuple) and isinstance(other, tuple):
        return rows_match(one, other, tolerance)
    numbers = (int, float, Decimal)
    has_float = isinstance(one, float) or isinstance(other, float)
    if not has_float or not isinstance(one, numbers) or not isinstance(other, numbers):
        return False
    try:
        left, right = float(one), float(other)
    except OverflowError:
        return False
    is_finite = not isinf(left) and not isinf(right)
    return is_finite and abs(left - right) <= tolerance * max(1.0, abs(left), abs(right))


def rows_match(one: Row, other: Row, tolerance: float) -> bool:
    """Whether two rows hold the same values."""
    return len(one) == len(other) and all(
        values_match(a, b, tolerance) for a, b in zip(one, other, strict=True)
    )


def unmatched(
    some: Sequence[Row], others: Sequence[Row], tolerance: float
) -> tuple[list[Row], list[Row]]:
    """What is left of two bags of rows when those that match are taken out of both.

    Example:
        >>> unmatched([(1,), (1,), (2.0,)], [(1,), (2.0 + 1e-12,)], 1e-9)
        ([(1,)], [])
    """
    left, right = Counter(some), Counter(others)
    both = left & right
    rest, waiting = list((left - both).elements()), list((right - both).elements())
    alone = []
    for row in rest:
        found = next((n for n, each in enumerate(waiting) if rows_match(row, each, tolerance)), -1)
        if found < 0:
            alone.append(row)
        else:
            waiting.pop(found)
    return alone, waiting


def _kind(value: Any) -> str:
    """What a value is, in a word."""
    if isinstance(value, tuple):
        return {"truth": "truth values", "list": "lists", "pairs": "structs"}.get(
            value[0], "numbers"
        )
    for kinds, word in (
        ((int, float, Decimal), "numbers"), (str, "texts"), (bytes, "bytes"),
        (datetime, "dates or times"),
    ):  # fmt: skip
        if isinstance(value, kinds):
            return word
    return "other values"


def misfit(said: Answer, wanted: Answer, *, has_names: bool) -> str:
    """How columns differ; "" if they don't."""
    if len(said.names) != len(wanted.names):
        return f"it has {len(said.names)} columns where {len(wanted.names)} are wanted"
    for place, names in enumerate(zip(said.names, wanted.names, strict=True), 1):
        if has_names and names[0].lower() != names[1].lower():
            return f"column {place} has another name than is wanted"
    for place in range(len(said.names)):
        kinds = [
            {_kind(row[place]) for row in each.rows if row[place] is not None}
            for each in (said, wanted)
        ]  # fmt: skip
        if all(kinds) and kinds[0].isdisjoint(kinds[1]):
            have, want = (" and ".join(sorted(of)) for of in kinds)
            return f"column {place + 1} holds {have} where {want} are wanted"
    return ""


def difference(said: Sequence[Row], blocks: Sequence[Block], tolerance: float) -> str:
    """How rows differ from what blocks allow, whatever their order; "" if they don't."""
    wanted = sum(block.taken for block in blocks)
    if len(said) != wanted:
        return f"it returns too {'many' if len(said) > wanted else 'few'} rows"
    fixed = [row for block in blocks if not block.is_cut for row in block.rows[: block.taken]]
    spare, missing = unmatched(said, fixed, tolerance)
    open_ = [row for block in blocks if block.is_cut for row in block.rows]
    if missing or unmatched(spare, open_, tolerance)[0]:
        return "it returns the right number of rows, but not the right ones"
    return ""


def disorder(said: Said, wanted: Said, tolerance: float) -> str:
    """How an order differs from the wanted one; "" if it doesn't."""
    place = 0
    for block in wanted.blocks:
        part = said.answer.rows[place : place + block.taken]
        place += block.taken
        if unmatched(part, block.rows, tolerance)[0]:
            return "its rows are right, but not their order"
    return openness(said, wanted, tolerance, is_ordered=True)


def openness(said: Said, wanted: Said, tolerance: float, *, is_ordered: bool) -> str:
    """What a query leaves open that it may not, so that it is right by luck; "" if nothing."""
    bounds, place = [], 0
    for block in wanted.blocks:
        bounds.append((place, place + block.taken, block))
        place += block.taken
    place = 0
    for block in said.blocks:
        first, place = place, place + block.taken
        if len(set(map(repr, block.rows))) < 2:  # noqa: PLR2004 - then nothing is open
            continue
        fitting = [b for start, end, b in bounds if start <= first and place <= end]
        if is_ordered and not fitting:
            return "its ORDER BY leaves open what the wanted order decides"
        others = fitting if is_ordered else [b for *_, b in bounds]
        pools = [b.rows for b in others if b.is_cut]
        if block.is_cut and not any(not unmatched(block.rows, p, tolerance)[0] for p in pools):
            return "its LIMIT cuts among rows that tie, so which it returns is left open"
    return ""


def strangers(some: Sequence[Row], others: Sequence[Row], tolerance: float) -> bool:
    """Whether a row has no equal among others."""
    known = set(others)
    return any(
        row not in known and not any(rows_match(row, each, tolerance) for each in others)
        for row in some
    )
