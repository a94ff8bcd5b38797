"""Drawings of molecules, made in a process that may crash: RDKit does on hostile structures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from verifier_ladder.candidate import Candidate
from verifier_ladder.report.vectors import sanitise
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

WIDTH, HEIGHT = 170, 108
LONGEST = 400
"""Characters of a SMILES that is drawn; longer ones would be an unreadable tangle."""


class MoleculeDrawing(Verifier):
    """Draws molecules as SVG, in the worker pool, so that a crash costs one picture only."""

    name, version, kind = "molecule-drawing", "1", "molecule"
    timeout = 5.0
    batch_size = 1
    memory = 2**30

    def verify(self, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Draw a batch; a molecule that RDKit can't read gets an abstention."""
        return [self._draw(str(candidate.content)) for candidate in candidates]

    @staticmethod
    def _draw(smiles: str) -> Verdict:
        from rdkit import Chem, rdBase
        from rdkit.Chem.Draw import rdMolDraw2D

        rdBase.DisableLog("rdApp.*")
        molecule: Any = Chem.MolFromSmiles(smiles)
        if molecule is None:
            return Verdict.abstain("RDKit can't read it")
        canvas: Any = rdMolDraw2D.MolDraw2DSVG(WIDTH, HEIGHT)
        options: Any = canvas.drawOptions()
        options.clearBackground = False
        options.padding = 0.06
        options.fixedBondLength = 28.0
        rdMolDraw2D.PrepareAndDrawMolecule(canvas, molecule)
        canvas.FinishDrawing()
        return Verdict.accept(evidence={"svg": canvas.GetDrawingText()})


def draw(smiles: Sequence[str]) -> dict[str, Markup]:
    """Draw molecules; those that can't be drawn are missing from the result.

    Args:
        smiles: Canonical SMILES of accepted candidates.

    Returns:
        Sanitised SVG by SMILES. Empty if RDKit or its system libraries are missing.
    """
    wanted = [text for text in dict.fromkeys(smiles) if 0 < len(text) <= LONGEST]
    if not wanted or not _can_draw():
        return {}
    from verifier_ladder.scheduler.engines.pool import WorkerPool

    with WorkerPool(1, name="drawings") as pool:
        verifier = MoleculeDrawing()
        answers = [pool.verify(verifier, [Candidate("molecule", text)]) for text in wanted]
        verdicts = [future.result().verdicts[0] for future in answers]
    drawings = {}
    for text, verdict in zip(wanted, verdicts, strict=True):
        safe = sanitise(str(verdict.evidence.get("svg", "")), f"Structure of {text}")
        if safe is not None:
            drawings[text] = safe
    return drawings


def _can_draw() -> bool:
    from importlib.util import find_spec

    return find_spec("rdkit") is not None
