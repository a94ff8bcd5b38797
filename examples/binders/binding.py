"""The upper tiers of the ladder: dynamics of a predicted structure, and the laboratory."""

from __future__ import annotations

from typing import Any

import verifier_ladder as vl
from verifier_ladder.registry import REGISTRY
from verifier_ladder.tiers.fast.protein import protein_of as read_structure
from verifier_ladder.tiers.fast.sequence import protein_of as read_sequence
from verifier_ladder.tiers.high_fidelity.dynamics import OpenmmStability
from verifier_ladder.tiers.simulation.conformer import UnsolvedError
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
        most = self.settings["max_residues"]
        self._folds = StructurePrediction(predictors=[predictor], max_residues=most)
        self.settings["predictor"] = predictor
        self.tools = {**self.tools, **self._folds.tools}
        self.timeout += self._folds.timeout  # A predictor may take as long as its host says.
        self.memory = self._folds.memory

    def expected_cost(self, candidate: vl.Candidate) -> vl.Cost:
        """Of both: the prediction, and what is done with it."""
        return self._folds.expected_cost(candidate) + super().expected_cost(candidate)

    @property
    def counts_gpu(self) -> bool:
        """The time that the predictor has a GPU is charged, too."""
        return True

    def structure_of(self, candidate: vl.Candidate) -> str:
        """Have the structure predicted: a check sees its candidate, and no other verdict."""
        (said,) = self._folds.predictions(read_sequence(candidate.content)).values()
        try:
            read_structure(said.model.pdb)
        except vl.CandidateError as error:  # The predictor's fault, and no candidate's.
            raise UnsolvedError(f"the predicted structure fits no force field: {error}") from error
        return said.model.pdb

    def rough_size(self, candidate: vl.Candidate) -> int:
        """About sixteen atoms a residue."""
        return 16 * min(len(candidate.content), self.settings["max_residues"])


class Binding(WorldVerifier):
    """The pKd that a laboratory measures: 9 is a nanomolar binder, 6 a micromolar one."""

    name, version, kind = "binding", "1", "protein"
    low, high, passes = 0.0, 15.0, ">= 5"


REGISTRY.add(FoldStability())
REGISTRY.add(Binding())
