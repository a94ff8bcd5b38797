"""The hull of competing phases: what a composition has at least, by mixing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from verifier_ladder.errors import ToolError

_SOLVED, _INFEASIBLE = 0, 2
"""What SciPy says of a linear programme."""


class Phase(NamedTuple):
    """A crystal that competes."""

    symbols: Sequence[str]
    """Of the atoms of its cell."""
    energy: float
    """eV an atom."""


def hull_energy(symbols: Sequence[str], phases: Sequence[Phase]) -> float | None:
    """The lowest energy of a mixture with this composition, eV an atom.

    It is the optimum of a linear programme: shares of phases, none below 0, that have the
    composition together.

    Args:
        symbols: Of the atoms of a cell with the composition.
        phases: What may be mixed.

    Returns:
        None if no mixture has the composition.

    Raises:
        ToolError: If the programme is not solved.

    Example:
        >>> hull_energy(["Cu", "Au"], [Phase(["Cu"], -3.0), Phase(["Au"], -4.0)])
        -3.5
    """
    from scipy.optimize import linprog

    elements = sorted({*symbols, *(symbol for phase in phases for symbol in phase.symbols)})
    found = linprog(
        [phase.energy for phase in phases],
        A_eq=np.array([_shares(phase.symbols, elements) for phase in phases]).T,
        b_eq=_shares(symbols, elements),
    )
    if found.status not in {_SOLVED, _INFEASIBLE}:
        raise ToolError(f"the hull of the phases is not known: {found.message}")
    return round(float(found.fun), 12) if found.status == _SOLVED else None


def _shares(symbols: Sequence[str], elements: Sequence[str]) -> list[float]:
    counts = Counter(symbols)
    return [counts[element] / len(symbols) for element in elements]
