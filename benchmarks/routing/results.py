"""Results: the numbers of many runs, and what they come to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from routing.measures import Numbers
from routing.metrics import Interval, interval
from routing.plan import Run


@dataclass
class Results:
    """The numbers of each run."""

    numbers: dict[Run, Numbers] = field(default_factory=dict)

    def add(self, run: Run, numbers: Numbers) -> None:
        """Keep what a run told."""
        self.numbers[run] = numbers

    def of(self, experiment: str) -> Results:
        """The runs of one experiment."""
        return Results({r: n for r, n in self.numbers.items() if r.experiment == experiment})

    def where(
        self, *, table: str | None = None, method: str | None = None, share: float | None = None
    ) -> Results:
        """The runs with these settings."""
        return Results({
            run: numbers for run, numbers in self.numbers.items()
            if table in {None, run.table} and method in {None, run.method}
            and share in {None, run.share}
        })  # fmt: skip

    def names(self, field_name: str) -> list[str]:
        """The tables or the methods, in the order of the runs."""
        return list(dict.fromkeys(getattr(run, field_name) for run in self.numbers))

    def shares(self) -> list[float]:
        """The budgets, from large to small."""
        return sorted({run.share for run in self.numbers}, reverse=True)

    def mean(self, metric: str) -> Interval:
        """Mean of a metric over the runs, with its bootstrap interval."""
        return interval([numbers[metric] for numbers in self.numbers.values()])

    def ratio(self, metric: str, reference: Results) -> Interval:
        """Mean of a metric over that of a reference, run by run with the same seed.

        Numerators and denominators are resampled together, over seeds and tables.
        """
        by_seed = {(r.table, r.seed): n[metric] for r, n in reference.numbers.items()}
        pairs = [
            (numbers[metric], by_seed[run.table, run.seed])
            for run, numbers in self.numbers.items() if (run.table, run.seed) in by_seed
        ]  # fmt: skip
        return interval([above / below for above, below in pairs if below])

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read what `note` has written; a line that a kill has cut short is left out."""
        found = cls()
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            with suppress(json.JSONDecodeError):
                told = json.loads(line)
                run = Run(**{name: told.pop(name) for name in Run._fields})
                found.add(run, told)
        return found


def note(path: Path, run: Run, numbers: Numbers) -> None:
    """Append a run as a line of JSON."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**run._asdict(), **numbers}) + "\n")


def geometric(values: Iterable[float]) -> float:
    """Geometric mean; NaN of nothing.

    Example:
        >>> geometric([1.0, 4.0])
        2.0
    """
    logs = np.log(list(values))
    return float(np.exp(logs.mean())) if len(logs) else float("nan")
