"""Levels of theory: a functional and a basis, both of tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.text import printable
from verifier_ladder.tiers.high_fidelity.basis import BASES, CORES, SYMBOLS, functions_of
from verifier_ladder.tiers.simulation.conformer import UnsolvedError

FUNCTIONALS = (
    "hf", "svwn", "pbe", "blyp", "bp86", "r2scan", "tpss", "m06l", "b3lyp", "pbe0", "tpssh",
    "m062x", "cam-b3lyp", "wb97x",
)  # fmt: skip
"""Of molecules, as PySCF spells them; `hf` is Hartree-Fock. None has a dispersion correction of
its own: VV10 is slow, and `dispersion` adds D3 and D4."""


class Level(NamedTuple):
    """A functional and a basis.

    Example:
        >>> Level.read("b3lyp/def2-svp").functions([8, 1, 1])
        24
    """

    functional: str
    basis: str

    @classmethod
    def read(
        cls, text: str, functionals: Collection[str] = FUNCTIONALS, bases: Collection[str] = BASES
    ) -> Level:
        """Read what is written as functional/basis.

        Args:
            text: It.
            functionals: Those that there are.
            bases: The same.

        Raises:
            ConfigError: If one of them is not in its table.
        """
        functional, _, basis = text.partition("/")
        for name, known in ((functional, functionals), (basis, bases)):
            if name not in known:
                example = f"{next(iter(functionals))}/{next(iter(bases))}"
                lacking = f"there is no {printable(name, 40)}; " if name else ""
                raise ConfigError(
                    f"level={printable(text, 60)!r}: write functional/basis, such as {example!r}; "
                    f"{lacking}there is {', '.join(known)}"
                )
        return cls(functional, basis)

    def functions(self, numbers: Iterable[int]) -> int:
        """So many functions describe atoms with these numbers.

        Raises:
            UnsolvedError: If the basis has none for one of them.
        """
        counts = Counter(numbers)
        if lacking := sorted(each for each in counts if not functions_of(self.basis, each)):
            names = ", ".join(SYMBOLS[number - 1] for number in lacking)
            raise UnsolvedError(f"basis {self.basis} lacks an element: {names}")
        return self.rough_functions(counts)

    def rough_functions(self, numbers: Mapping[int, int] | Iterable[int]) -> int:
        """The same, for estimates of cost; 0 where the basis lacks an element.

        Args:
            numbers: Of atoms, one by one or with how many there are of each.
        """
        counts = Counter(numbers)
        found = [(functions_of(self.basis, number), count) for number, count in counts.items()]
        return sum(each * count for each, count in found) if all(each for each, _ in found) else 0

    def cores(self, numbers: Iterable[int]) -> dict[int, str]:
        """Which elements have an effective core potential, and its name."""
        last = CORES.get(self.basis.partition("-")[0], max(numbers, default=0))
        return {number: self.basis for number in numbers if number > last}
