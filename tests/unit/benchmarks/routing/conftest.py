"""A small table, as a file and as read."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from routing.manifest import Manifest
from routing.table import Table, load

MANIFEST = {
    "name": "small",
    "file": "small.csv",
    "row": ["task", "model"],
    "group": "task",
    "arm": "model",
    "tiers": [
        {"tier": "fast", "score": "guess", "evidence": ["hint"]},
        {"tier": "simulation", "score": "run", "cost": "seconds"},
        {"tier": "world", "score": "truth", "cost": 1.0},
    ],
    "features": {"logarithms": ["size"], "categories": ["model"]},
}


def rows(groups: int = 12, models: int = 6) -> list[dict[str, object]]:
    """Truths by chance, and tiers that see them through less and less noise."""
    random = np.random.default_rng(1)
    made: list[dict[str, object]] = []
    for task in range(groups):
        for model in range(models):
            truth = random.normal() + 0.3 * model
            made.append({
                "task": f"t{task}", "model": f"m{model}", "size": 10 + model,
                "hint": random.normal(), "guess": truth + random.normal(),
                "run": truth + 0.3 * random.normal(), "seconds": 0.05 + 0.01 * model,
                "truth": truth,
            })  # fmt: skip
    return made


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write rows as the file of the manifest; gives the folder."""

    def to_file(table: list[dict[str, object]]) -> Path:
        head = list(table[0]) if table else ["task"]
        lines = [head, *([str(row[name]) for name in head] for row in table)]
        text = "\n".join(",".join(line) for line in lines)
        (tmp_path / "small.csv").write_text(text + "\n", encoding="utf-8")
        return tmp_path

    return to_file


@pytest.fixture
def small(write: Write) -> Table:
    """The small table."""
    return load(Manifest.model_validate(MANIFEST), write(rows()))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The small table, read once for many examples; it can't be changed."""
    folder = tmp_path_factory.mktemp("table")
    lines = [",".join(rows()[0]), *(",".join(map(str, row.values())) for row in rows())]
    (folder / "small.csv").write_text("\n".join(lines), encoding="utf-8")
    return load(Manifest.model_validate(MANIFEST), folder)
