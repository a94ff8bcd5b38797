"""How alike two models of a protein are, by their alpha carbons: lDDT and TM-score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain as joined
from itertools import permutations, product
from math import factorial, prod
from typing import Any

import numpy as np

from verifier_ladder.errors import ToolError
from verifier_ladder.tiers.simulation.proteinmodel import NAMES, Floats, Ints, Model, norm

SHORTEST = 21
"""Residues from which a TM-score says something: below, its unit of length has no meaning."""
_MOST_ARRANGEMENTS = 24
_SEEDS = (2, 4)
"""Into how many parts a protein is cut, one of which a superposition begins with."""
_ROUNDS, _NEAR, _FEWEST = 8, 4.5, 3
"""In which a superposition is mended, Å within which residues count for the next one, at least,
and how few of them are none."""


def agreement(one: Model, other: Model) -> dict[str, float]:
    """How alike two models of the same protein are, by their CA: lDDT and TM-score, from 0 to 1.

    The TM-score is a lower bound: the best superposition that is found counts. Chains of one
    sequence may stand for each other. What is not defined is left out: the lDDT of residues of
    which none is near another.

    Raises:
        ToolError: If biotite is not installed.
    """
    try:
        from biotite import structure
    except ImportError as error:
        raise ToolError(
            f"models are compared by biotite ({error}); pip install '.[structures]' in a clone"
        ) from error
    fixed = _as_atoms(structure, one, np.arange(one.size))
    said: dict[str, list[float]] = {"agreement_lddt": [], "agreement_tm": []}
    for order in _arrangements(one, other):
        moved = _as_atoms(structure, other, order)
        said["agreement_lddt"].append(float(structure.lddt(fixed, moved, symmetric=True)))
        said["agreement_tm"].append(_tm(structure, fixed, moved))
    best = {name: float(np.max(values)) for name, values in said.items()}
    return {name: round(value, 4) for name, value in best.items() if np.isfinite(value)}


def _as_atoms(structure: Any, model: Model, order: Ints) -> Any:
    """CA atoms as biotite has them, in an order of residues."""
    atoms = structure.AtomArray(model.size)
    atoms.coord = model.backbone[order, 1].astype(np.float32)
    atoms.chain_id = model.chain_of.astype(str)
    atoms.res_id = np.arange(1, model.size + 1)
    atoms.res_name = np.array([NAMES[letter] for letter in "".join(model.chains)])
    atoms.atom_name, atoms.element = np.full(model.size, "CA"), np.full(model.size, "C")
    return atoms


def _arrangements(one: Model, other: Model) -> Iterator[Ints]:
    """Orders of residues of the other in which chains of one sequence take each other's places.

    All of them where they are few; else those that follow once a chain is laid upon another.
    """
    chains = other.chains
    alike = [
        [n for n, chain in enumerate(chains) if chain == each] for each in dict.fromkeys(chains)
    ]
    if prod(factorial(len(each)) for each in alike) <= _MOST_ARRANGEMENTS:
        choices = product(*[[*permutations(each)] for each in alike])
        stands = [
            dict(zip(joined(*alike), joined(*choice), strict=True)) for choice in choices
        ]  # fmt: skip
    else:
        anchors = max(alike, key=lambda each: len(chains[each[0]]))
        stands = [_laid(one, other, anchors[0], anchor, alike) for anchor in anchors]
    starts = np.cumsum([0, *map(len, chains)])
    for each in stands:
        parts = [np.arange(starts[each[n]], starts[each[n] + 1]) for n in range(len(chains))]
        yield np.concatenate(parts)


def _laid(
    one: Model, other: Model, fixed: int, moved: int, alike: Sequence[Sequence[int]]
) -> dict[int, int]:
    """Which chain stands where if the other model is moved so that one chain lies on another.

    Of chains of one sequence, those whose centres are nearest stand for each other.
    """
    from scipy.optimize import linear_sum_assignment

    first, second = (
        [model.backbone[model.chain_of == n, 1] for n in range(len(model.chains))]
        for model in (one, other)
    )
    turn, shift = _superposed(second[moved], first[fixed])
    goals = np.array([each.mean(0) for each in first])
    centres = np.array([each.mean(0) for each in second]) @ turn + shift
    stands: dict[int, int] = {}
    for group in alike:
        away = norm(goals[group][:, None] - centres[group][None])
        stands |= {group[n]: group[k] for n, k in zip(*linear_sum_assignment(away), strict=True)}
    return stands


def _superposed(moved: Floats, fixed: Floats) -> tuple[Floats, Floats]:
    """The turn and the shift that lay points upon others best: Kabsch 1976."""
    here, there = moved.mean(0), fixed.mean(0)
    left, _, right = np.linalg.svd((moved - here).T @ (fixed - there))
    sign = np.sign(np.linalg.det(left @ right)) or 1.0
    turn = left @ np.diag([1.0, 1.0, sign]) @ right
    return turn, there - here @ turn


def _tm(structure: Any, one: Any, other: Any) -> float:
    """The TM-score of the best of several superpositions.

    Each begins with a part of the protein, and goes on with the residues that lie near each
    other. That of all residues alone says little of two domains whose hinge is another.
    """
    every, best = np.arange(len(one)), other.copy()
    there, here = one.coord.astype(float), other.coord.astype(float)
    most, unit = -1.0, max(_NEAR, 1.24 * np.cbrt(len(one) - 15) - 1.8)
    for part in _parts(len(one)):
        near = part
        for _ in range(_ROUNDS):
            turn, shift = _superposed(here[near], there[near])
            away = norm(there - here @ turn - shift)
            if (found := float((1 / (1 + (away / unit) ** 2)).sum())) > most:
                most, best.coord = found, (here @ turn + shift).astype(np.float32)
            last, near = near, every[away <= unit]
            if len(near) < _FEWEST or np.array_equal(last, near):
                break
    return float(structure.tm_score(one, best, every, every))


def _parts(size: int) -> list[Ints]:
    """All residues; of what has a TM-score, halves and quarters that overlap by half as well."""
    every = np.arange(size)
    widths = [size // cut for cut in _SEEDS if size >= SHORTEST]
    return [every, *(
        every[start : start + width] for width in widths
        for start in range(0, size - width + 1, width // 2)
    )]  # fmt: skip
