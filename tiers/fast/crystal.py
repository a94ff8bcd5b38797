"""Crystals: from model output to one canonical form."""

from __future__ import annotations

from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.fast.crystalfile import HOW, MOST_ATOMS, Crystal, read
from verifier_ladder.tiers.fast.crystalform import TOLERANCE, canonical, written
from verifier_ladder.tiers.fast.extraction import DOCUMENT, agreed, answers
from verifier_ladder.tiers.versions import versions

FORMATS = ("cif", "poscar", "vasp", "xyz", "extxyz")
"""Labels of code blocks that hold a crystal."""
ATOMS = 200
"""Atoms of the largest cell that is read by default."""


def crystal_of(content: str | bytes, max_atoms: int = ATOMS) -> Crystal:
    r"""The one crystal that an output proposes.

    Args:
        content: The whole output.
        max_atoms: Atoms of the largest cell.

    Raises:
        CandidateError: If there is none, or several that differ.
        ToolError: If a library is not installed.

    Example:
        >>> crystal_of("copper\n1.0\n0 2 2\n2 0 2\n2 2 0\nCu\n1\nDirect\n0 0 0").symbols
        ('Cu',)
    """
    found = [read(text, max_atoms) for text in answers(content, DOCUMENT, HOW, languages=FORMATS)]
    if len(found) > 1:
        agreed((written(canonical(each)) for each in found), HOW)
    return found[0]


class CrystalCanonicaliser(Canonicaliser):
    r"""Finds the crystal in a model's output and gives its canonical form, a POSCAR.

    Every description of one crystal gets the same form: in any format, turned, shifted, with its
    atoms in any order, in any cell. Mirror images are different crystals, as are those that
    differ by more than the last step of the form: 1e-6 Å, 1e-5° and 1e-7 of a vector.
    Atoms that a translation maps onto each other within the tolerance are one atom of the cell.
    It has no room for a charge or for magnetic moments: a file that tells some is refused.

    Example:
        >>> copper = "Cu\n1.0\n3.6 0 0\n0 3.6 0\n0 0 3.6\nCu\n4\nDirect\n0 0 0\n0 .5 .5\n"
        >>> form = CrystalCanonicaliser().canonicalise(f"{copper}.5 0 .5\n.5 .5 0")
        >>> form.splitlines()[5:]
        ['Cu', '1', 'Direct', '0.0000000 0.0000000 0.0000000']
    """

    kind = "crystal"
    name = "crystal"
    version = "3"
    timeout = 30.0  # The first one in a worker loads the libraries.
    control = "copper\n1.0\n0 1.8 1.8\n1.8 0 1.8\n1.8 1.8 0\nCu\n1\nDirect\n0 0 0\n"

    def __init__(self, *, max_atoms: int = ATOMS, tolerance: float = TOLERANCE) -> None:
        """Set the bounds.

        Args:
            max_atoms: Atoms of the largest cell that is read.
            tolerance: Å, within which a translation maps atoms onto each other.

        Raises:
            ConfigError: If a bound makes no sense.
        """
        if max_atoms not in range(1, MOST_ATOMS + 1) or not 1e-5 <= tolerance <= 0.1:  # noqa: PLR2004
            raise ConfigError(
                f"max_atoms must be 1 to {MOST_ATOMS}, and tolerance 0.00001 to 0.1 Å"
            )
        self._most, self._tolerance = max_atoms, tolerance
        super().__init__(
            max_atoms=max_atoms, tolerance=tolerance, **versions("ase", "spglib", "numpy")
        )

    def canonicalise(self, content: str | bytes) -> str:
        """Give the canonical POSCAR.

        Raises:
            CandidateError: If the output proposes no crystal, or several.
        """
        return written(canonical(crystal_of(content, self._most), self._tolerance))
