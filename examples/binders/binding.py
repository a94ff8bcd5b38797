"""The upper tiers of the ladder: dynamics of a predicted structure, and the laboratory."""

from __future__ import annotations

from typing import Any

import verifier_ladder as vl
from verifier_ladder.registry import REGISTRY
from verifier_ladder.tiers.fast.protein import Protein
from verifier_ladder.tiers.fast.protein import protein_of as read_structure
from verifier_ladder.tiers.fast.sequence import protein_of as read_sequence
from verifier_ladder.tiers.high_fidelity.dynamics import OpenmmStability
from verifier_ladder.tiers.simulation.structureprediction import StructurePrediction
from verifier_ladder.tiers.world.case import WorldVerifier


class FoldStability(OpenmmStability):
    """How far a protein moves from the structure that is predicted for its sequence, Å."""

    name, version, kind = "fold-stability", "1", "protein"
    control = vl.Candidate("protein", "AAAAAAAAAAAA")
    data_settings = None

    def __init__(self, *, predictor: str = "colabfold", **settings: Any) -> None:
        """Name the predictor; all else is set as for `openmm-stability`."""
        super().__init__(**settings)
        self._folds = StructurePrediction(predictors=[predictor])
        self.settings["predictor"] = predictor
        self.tools = {**self.tools, **self._folds.tools}

    def proposed(self, candidate: vl.Candidate) -> Protein:
        """Have the structure predicted: a check sees its candidate, and no other verdict."""
        (said,) = self._folds.predictions(read_sequence(candidate.content)).values()
        try:
            return read_structure(said.model.pdb, self.settings["max_residues"])
        except vl.CandidateError as error:  # The predictor's fault, and no candidate's.
            raise vl.ToolError(f"the predicted structure fits no force field: {error}") from error

    def rough_size(self, candidate: vl.Candidate) -> int:
        """About sixteen atoms a residue."""
        return 16 * len(candidate.content)


class Binding(WorldVerifier):
    """The pKd that a laboratory measures: 9 is a nanomolar binder, 6 a micromolar one."""

    name, version, kind = "binding", "1", "protein"
    low, high, passes = 0.0, 15.0, ">= 5"


REGISTRY.add(FoldStability())
REGISTRY.add(Binding())
