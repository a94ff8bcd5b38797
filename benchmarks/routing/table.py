"""Tables: recorded answers and costs of every tier for many candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from routing.columns import Columns, read_columns
from routing.descriptors import descriptors
from routing.manifest import Features, Manifest

from verifier_ladder.errors import ConfigError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

_DEALT = 20240601
"""Seed by which rows are dealt into groups, where the table has none."""


@dataclass(frozen=True)
class Table:
    """Recorded answers and costs; one row per candidate, one column per tier."""

    manifest: Manifest
    names: list[str]
    """What each row is called."""
    scores: Floats
    """What each tier says; the last column is the truth. Shape (n, tiers)."""
    costs: Floats
    """What each check costs, in the manifest's unit. Shape (n, tiers)."""
    group: Indices
    """Number of each row's group, from 0. Shape (n,)."""
    arm: Indices
    """Number of each row's arm; its place in the group where the table names none. Shape (n,)."""
    features: Floats
    """What is known before any check. Shape (n, features)."""
    feature_names: list[str]
    evidence: list[dict[str, Floats]]
    """What each tier tells besides its score: one column per name."""
    left_out: int = 0
    """How many rows of the file lack a number and are not here."""

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.names)

    @property
    def name(self) -> str:
        """The manifest's name."""
        return self.manifest.name

    @property
    def truth(self) -> Floats:
        """What the top tier says. Shape (n,)."""
        return self.scores[:, -1]

    @property
    def value(self) -> Floats:
        """The truth, turned so that more is better. Shape (n,)."""
        return self.manifest.sign * self.truth

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.group.max()) + 1

    def members(self) -> list[Indices]:
        """The rows of each group."""
        order = np.argsort(self.group, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.group))[:-1])

    def rows(self, chosen: Indices) -> Table:
        """The table of some rows; their groups are numbered anew."""
        _, group = np.unique(self.group[chosen], return_inverse=True)
        return replace(
            self, names=[self.names[i] for i in chosen], scores=self.scores[chosen],
            costs=self.costs[chosen], group=group.astype(np.int64), arm=self.arm[chosen],
            features=self.features[chosen],
            evidence=[{k: v[chosen] for k, v in told.items()} for told in self.evidence],
        )  # fmt: skip


def load(manifest: Manifest, folder: Path) -> Table:
    """Read a table as its manifest describes it.

    Raises:
        ConfigError: If the file or a column is missing, a number is not finite, a row is named
            twice, a binary score is neither 0 nor 1, or fewer than two groups have two rows.
    """
    path = folder / manifest.file
    columns = given = read_columns(path)
    if manifest.skip_incomplete:
        columns = given.complete([name for tier in manifest.tiers for name in tier.needed])
    if manifest.smiles is not None:
        columns.add(descriptors(columns.text(manifest.smiles)))
    names = ["/".join(parts) for parts in zip(*map(columns.text, manifest.row), strict=True)]
    _refuse_twins(path, names)
    scores = np.column_stack([columns.numbers(tier.score) for tier in manifest.tiers])
    if manifest.scale == "binary" and not np.isin(scores, (0.0, 1.0)).all():
        raise ConfigError(f"table {path} is called binary, and has scores other than 0 and 1")
    group = _groups(columns, manifest, len(names))
    if (np.bincount(group) > 1).sum() < 2:  # noqa: PLR2004 - nothing to compare or to average
        raise ConfigError(
            f"table {path} has fewer than two groups with two rows; name another column as group, "
            "or give the size of groups dealt at random"
        )
    features = _features(columns, manifest.features)
    told = [{name: columns.numbers(name) for name in t.evidence} for t in manifest.tiers]
    return Table(
        manifest, names, scores, np.column_stack([columns.costs(t) for t in manifest.tiers]),
        group, _arms(columns, manifest, group),
        np.column_stack(list(features.values())) if features else np.empty((len(names), 0)),
        list(features), told, len(given) - len(columns),
    )  # fmt: skip


def _refuse_twins(path: Path, names: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for line, name in enumerate(names, start=2):
        if name in seen:
            raise ConfigError(
                f"table {path}: lines {seen[name]} and {line} are both called {name!r}; "
                "name more columns in `row`"
            )
        seen[name] = line


def _codes(values: Sequence[str]) -> Indices:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _groups(columns: Columns, manifest: Manifest, size: int) -> Indices:
    if isinstance(manifest.group, str):
        return _codes(columns.text(manifest.group))
    dealt = np.random.default_rng(_DEALT).permutation(size)
    whole = max(1, size // manifest.group)
    group = np.empty(size, dtype=np.int64)
    group[dealt] = np.arange(size) % whole  # The rest is spread over the groups.
    return group


def _arms(columns: Columns, manifest: Manifest, group: Indices) -> Indices:
    if manifest.arm is not None:
        return _codes(columns.text(manifest.arm))
    arm, next_place = np.empty_like(group), np.zeros(int(group.max()) + 1, dtype=np.int64)
    for row, number in enumerate(group):
        arm[row] = next_place[number]
        next_place[number] += 1
    return arm


def _features(columns: Columns, features: Features) -> dict[str, Floats]:
    found = {name: columns.numbers(name, np.nan) for name in features.numbers}
    for name in features.logarithms:
        values = columns.numbers(name, np.nan)
        if (values <= 0).any():
            raise ConfigError(f"column {name!r} has values without a logarithm")
        found[f"log {name}"] = np.log(values)
    found |= {
        name: ones for category in features.categories
        for name, ones in _ones(columns, category).items()
    }  # fmt: skip
    products = {
        f"{name} × {number}": ones * _number(found, number)
        for category, number in features.products
        for name, ones in _ones(columns, category).items()
    }
    return found | products


def _ones(columns: Columns, category: str) -> dict[str, Floats]:
    text = np.array(columns.text(category))
    return {f"{category}={value}": (text == value) * 1.0 for value in np.unique(text)}


def _number(found: Mapping[str, Floats], name: str) -> Floats:
    for key in (name, f"log {name}"):
        if key in found:
            return found[key]
    raise ConfigError(f"a product names {name!r}, which is not among the numbers or logarithms")
