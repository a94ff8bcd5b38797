"""Splits: parts of a training set of which none knows another's tasks or candidates."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import isfinite

from verifier_ladder.datasets.kinds import Row
from verifier_ladder.errors import ConfigError

WHOLE: Mapping[str, float] = {"train": 1.0}


def checked_splits(shares: Mapping[str, float]) -> dict[str, float]:
    """Shares that add up to 1.

    Raises:
        ConfigError: If there is none, one is negative or its name can't be a file's, or all are 0.

    Example:
        >>> checked_splits({"train": 9, "test": 1})
        {'train': 0.9, 'test': 0.1}
    """
    bad = [name for name in shares if not name.isidentifier()]
    if bad:
        raise ConfigError(f"a split can't be called {bad[0]!r}; use letters, digits and _")
    total = sum(shares.values())
    if not shares or total <= 0 or any(not isfinite(s) or s < 0 for s in shares.values()):
        raise ConfigError(
            f"splits={dict(shares)!r}: give each split its share, such as train=0.9, test=0.1"
        )
    return {name: share / total for name, share in shares.items()}


def split_of(task: str, shares: Mapping[str, float], seed: int = 0) -> str:
    """The split of a task: always the same, however many other tasks there are.

    Example:
        >>> split_of("a", {"train": 0.5, "test": 0.5}) == split_of("a", {"train": 1, "test": 1})
        True
    """
    data = hashlib.sha256(f"vl:split:1\0{seed}\0{task}".encode()).digest()
    place = int.from_bytes(data[:7], "big") / 2.0**56
    names, ends = list(shares), list(accumulate(shares.values()))
    for name, end in zip(names, ends, strict=True):
        if place * ends[-1] < end:
            return name
    return names[-1]


def split_rows(
    rows: Sequence[Row], shares: Mapping[str, float], seed: int, left_out: Counter[str]
) -> dict[str, list[Row]]:
    """Give every row to the split of its task.

    A candidate that came up in several tasks stays in the first split that has it, in the order
    in which splits are named; rows of the others are left out.
    """
    parts: dict[str, list[Row]] = {name: [] for name in shares}
    for row in rows:
        parts[split_of(row.task, shares, seed)].append(row)
    seen: set[bytes] = set()
    for name, part in parts.items():
        clean = [row for row in part if seen.isdisjoint(row.contents)]
        left_out[f"left out of {name}: another split has its candidate"] += len(part) - len(clean)
        parts[name] = clean
        seen.update(content for row in clean for content in row.contents)
    return parts
