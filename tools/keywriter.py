"""Writing answer keys: what the makers of the keys in this folder share.

Keys are frozen: a maker adds the cases that its key lacks below those that it has, so none is
removed or edited, whoever wrote it. At least half of the cases of a key that are not hostile come
from named suites or generators. Where the truth of a case comes from is its `source`:

- a named suite: what its files test, with values of our own;
- `generator`: a truth in closed form, from exact arithmetic or from the way the case is made;
- `convention`: how answers are written and read, decided by hand;
- `known hack`: what other checkers were reported to accept, in words of our own;
- `mutant of the verifier`: an edit of the verifier that no other case noticed, decided by hand.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "tiers" / "answer_keys"
Row = dict[str, Any]
YES, NO, UNKNOWN = "accept", "reject", "abstain"


class Key:
    """The rows of one key, in the order they were added."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, said: Any, task: Any, outcome: str, why: str, source: str, **more: Any) -> None:
        """Add a case."""
        row = {"candidate": said, "task": task, "outcome": outcome, **more}
        self.rows.append({**row, "why": why, "source": source})

    def pair(self, right: Any, wrong: Any, task: Any, why: str, source: str) -> None:
        """Add a right answer, and one that is an edit away from it."""
        self.add(right, task, YES, why, source)
        self.add(wrong, task, NO, f"{why}; one edit away", source)

    def broken(self, said: Any, tasks: Iterable[tuple[Any, str, str]]) -> None:
        """Add tasks that make no sense: nobody can answer them, so nobody is rejected."""
        for task, reason, why in tasks:
            self.add(said, task, UNKNOWN, why, "convention", reason=reason)

    def hostile(self, said: Any, task: Any, why: str) -> None:
        """Add input that is made to break a verifier."""
        self.add(said, task, NO, why, "hostile input", hostile=True)


def binary(data: bytes) -> dict[str, str]:
    """A candidate of bytes."""
    return {"base64": base64.b64encode(data).decode()}


def write(makers: Mapping[str, Callable[[Key], None]], names: Sequence[str]) -> None:
    """Add what they lack to the keys that are named, or to all."""
    for name in names or makers:
        key = Key()
        makers[name](key)
        path = FOLDER / f"{name}.jsonl"
        held = path.read_text("utf-8").splitlines() if path.exists() else []
        made = dict.fromkeys(json.dumps(row, ensure_ascii=True) for row in key.rows)
        lines = [*held, *(line for line in made if line not in set(held))]
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        rows = map(json.loads, lines)
        counts = Counter("hostile" if row.get("hostile") else row["outcome"] for row in rows)
        print(name, dict(counts))
