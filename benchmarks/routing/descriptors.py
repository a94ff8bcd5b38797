"""Descriptors of molecules: free numbers that say something about most properties."""

from __future__ import annotations

from collections.abc import Sequence

from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.tiers.fast.molecule import parse, rdkit


def descriptors(smiles: Sequence[str]) -> dict[str, list[str]]:
    """Columns computed from SMILES, in the order given.

    Polar surface (Å²), Crippen's logP, and counts of heavy atoms, hydrogen-bond donors and
    acceptors, rotatable bonds and aromatic rings.

    Raises:
        ConfigError: If a SMILES can't be read.
        ToolError: If RDKit is not installed.
    """
    rdkit()
    from rdkit.Chem import Crippen, rdMolDescriptors

    count = {
        "tpsa": rdMolDescriptors.CalcTPSA,
        "logp": Crippen.MolLogP,  # type: ignore[attr-defined]
        "heavy_atoms": rdMolDescriptors.CalcNumHeavyAtoms,
        "donors": rdMolDescriptors.CalcNumHBD,
        "acceptors": rdMolDescriptors.CalcNumHBA,
        "rotatable_bonds": rdMolDescriptors.CalcNumRotatableBonds,
        "aromatic_rings": rdMolDescriptors.CalcNumAromaticRings,
    }
    try:
        molecules = [parse(text) for text in smiles]
    except CandidateError as error:
        raise ConfigError(f"a SMILES of the table can't be read: {error}") from None
    return {name: [str(call(m)) for m in molecules] for name, call in count.items()}
