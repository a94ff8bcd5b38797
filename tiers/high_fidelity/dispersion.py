"""Dispersion corrections of density functionals: D3(BJ) by dftd3, and D4 by dftd4."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.text import printable
from verifier_ladder.tiers.simulation.conformer import Geometry
from verifier_ladder.tiers.simulation.xtb import BOHR_PER_ANGSTROM

NONE = "none"
"""The functional as it is."""
_BOTH = {
    "hf": "hf", "pbe": "pbe", "blyp": "blyp", "bp86": "bp", "r2scan": "r2scan", "tpss": "tpss",
    "b3lyp": "b3lyp", "pbe0": "pbe0", "tpssh": "tpssh", "cam-b3lyp": "camb3lyp",
}  # fmt: skip
PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "d3bj": _BOTH, "d4": {**_BOTH, "m06l": "m06l", "wb97x": "wb97x-2008"},
}  # fmt: skip
"""Functionals that a correction was fitted to, and what its library calls them. D3(BJ) of `wb97x`
is left out: its parameters there are those of a later functional with that name."""
_LIBRARIES = {"d3bj": "dftd3", "d4": "dftd4"}


class Attraction(NamedTuple):
    """What a correction adds."""

    energy: float
    """hartree."""
    forces: Any
    """hartree/bohr, one row for each atom."""


class Dispersion(NamedTuple):
    """A correction, and whose."""

    name: str
    functional: str

    @classmethod
    def of(cls, name: str, functional: str) -> Dispersion | None:
        """The correction of a functional, or None for `none`.

        Raises:
            ConfigError: If there is no such correction, or none was fitted to the functional.

        Example:
            >>> Dispersion.of("d4", "pbe0")
            Dispersion(name='d4', functional='pbe0')
        """
        if name == NONE:
            return None
        if name not in PARAMETERS:
            known = ", ".join([NONE, *PARAMETERS])
            raise ConfigError(f"dispersion={printable(name)!r}: write one of {known}")
        if functional not in PARAMETERS[name]:
            raise ConfigError(
                f"dispersion={name!r} was not fitted to {printable(functional)}, but to "
                f"{', '.join(PARAMETERS[name])}"
            )
        return cls(name, functional)

    @property
    def library(self) -> str:
        """The package that computes it."""
        return _LIBRARIES[self.name]

    def load(self) -> Any:
        """Its library, on one thread: the other cores belong to other workers.

        Raises:
            ToolError: If it is not installed.
        """
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        try:
            return import_module(f"{self.library}.interface")
        except ImportError as error:
            raise ToolError(
                f"{self.library} can't be imported ({error}); pip install '.[dispersion]' in a "
                "clone"
            ) from error

    def between(self, geometry: Geometry) -> Attraction:
        """What it adds for a molecule; of these two D4 alone depends on the charge.

        Raises:
            ToolError: If the library is not installed, or fails.
        """
        import numpy as np

        library, name = self.load(), PARAMETERS[self.name][self.functional]
        numbers = np.array(geometry.numbers)
        places = np.array(geometry.positions, dtype=float) * BOHR_PER_ANGSTROM
        try:
            if self.name == "d3bj":
                model = library.DispersionModel(numbers, places)
                damping = library.RationalDampingParam(method=name, atm=False)
            else:
                model = library.DispersionModel(numbers, places, charge=float(geometry.charge))
                damping = library.DampingParam(method=name, atm=True)
            found = model.get_dispersion(damping, grad=True)
        except RuntimeError as error:
            raise ToolError(f"{self.library} failed: {printable(error)}") from error
        return Attraction(float(found["energy"]), -found["gradient"])
