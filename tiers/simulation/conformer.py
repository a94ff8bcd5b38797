"""Conformers: from canonical SMILES to one geometry, the same on every run."""

from __future__ import annotations

from time import monotonic
from typing import Any, NamedTuple

from verifier_ladder.errors import ToolError
from verifier_ladder.tiers.fast.molecule import parse, parse_single, rdkit
from verifier_ladder.tiers.tasks import TaskError

SEED = 0xC0DE


class UnsolvedError(TaskError):
    """This molecule can't be computed, and the tool works: an abstention that is kept."""


class DivergedError(UnsolvedError):
    """Its calculation comes to no end."""


class Geometry(NamedTuple):
    """Atoms in space."""

    numbers: tuple[int, ...]
    """Atomic numbers, hydrogens included."""
    positions: tuple[tuple[float, float, float], ...]
    """Å."""
    charge: int
    """Total charge."""


def parse_paired(smiles: str) -> Any:
    """Read SMILES as one molecule of named atoms whose electrons are all paired.

    Raises:
        CandidateError: If it is none, several side by side, or holds a placeholder for an atom.
        UnsolvedError: If electrons are unpaired.

    Example:
        >>> parse_paired("CO").GetNumAtoms()
        2
    """
    molecule = parse_single(smiles)
    electrons = sum(atomic_numbers(molecule)) - rdkit().GetFormalCharge(molecule)
    if electrons % 2 or any(atom.GetNumRadicalElectrons() for atom in molecule.GetAtoms()):
        raise UnsolvedError("a molecule with unpaired electrons is not treated")
    return molecule


def atomic_numbers(molecule: Any) -> list[int]:
    """Those of a molecule's atoms, hydrogens included."""
    return [atom.GetAtomicNum() for atom in rdkit().AddHs(molecule).GetAtoms()]


def conformer(smiles: str, *, tries: int = 5, timeout: int = 10) -> Geometry:
    """Embed a molecule and relax it: ETKDG, then the MMFF94 force field.

    Of several embeddings the one of lowest energy is kept. The geometry is a function of the
    SMILES text alone.

    **Limits.** Bonds of some small molecules are far too long by MMFF94: nitrogen's 1.46 Å for
    1.10, carbon dioxide's 1.41 for 1.16, sulphur dioxide's 1.66 for 1.43, carbon disulphide's 1.80
    for 1.55, nitrous oxide's 1.46 and 1.42 for 1.13 and 1.18. GFN2-xTB relaxes these to within
    0.04 Å.

    Args:
        smiles: Canonical SMILES.
        tries: How many embeddings are compared.
        timeout: Seconds that all embeddings together may take.

    Returns:
        The geometry, with hydrogens.

    Raises:
        CandidateError: If the text is not a molecule.
        ToolError: If no geometry was found in time.
        UnsolvedError: If it has none that could be found, or no force field has parameters.

    Example:
        >>> conformer("O").numbers
        (8, 1, 1)
    """
    molecule, started = rdkit().AddHs(parse(smiles)), monotonic()
    _embed(molecule, tries, timeout)
    if not molecule.GetNumConformers():
        if monotonic() - started >= timeout:
            raise ToolError(f"no three-dimensional geometry was found within {timeout} s")
        raise UnsolvedError("no three-dimensional geometry can be found for this molecule")
    best = _relaxed(molecule)
    positions = molecule.GetConformer(best).GetPositions()
    return Geometry(
        tuple(atom.GetAtomicNum() for atom in molecule.GetAtoms()),
        tuple((float(x), float(y), float(z)) for x, y, z in positions),
        rdkit().GetFormalCharge(molecule),
    )


def _embed(molecule: Any, tries: int, timeout: int) -> None:
    from rdkit.Chem import rdDistGeom

    settings: Any = rdDistGeom.ETKDGv3()  # RDKit's own annotations don't fit.
    settings.randomSeed = SEED
    settings.timeout = timeout
    settings.numThreads = 1
    rdDistGeom.EmbedMultipleConfs(molecule, tries, settings)


def _relaxed(molecule: Any) -> int:
    """Relax every conformer; the number of the one of lowest energy."""
    from rdkit.Chem import rdForceFieldHelpers

    fields: Any = rdForceFieldHelpers
    if fields.MMFFHasAllMoleculeParams(molecule):
        results = fields.MMFFOptimizeMoleculeConfs(molecule, numThreads=1, maxIters=1000)
    elif fields.UFFHasAllMoleculeParams(molecule):
        results = fields.UFFOptimizeMoleculeConfs(molecule, numThreads=1, maxIters=1000)
    else:
        raise UnsolvedError("neither MMFF94 nor UFF has parameters for this molecule")
    # Rounded, so that mirror images don't take turns by their last bits. Not all embeddings
    # succeed, so that numbers may be missing.
    numbers: list[int] = [conformer.GetId() for conformer in molecule.GetConformers()]
    energies = [round(energy, 6) for _, energy in results]
    return min(zip(energies, numbers, strict=True))[1]
