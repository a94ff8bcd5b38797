"""The tier above relaxation: a larger cell, shaken, so that no symmetry holds it on a saddle."""

from __future__ import annotations

from typing import Any

import verifier_ladder as vl
from verifier_ladder.registry import REGISTRY
from verifier_ladder.tiers.simulation.aserelax import AseRelax


class ShakenRelax(AseRelax):
    """Energy at rest above the hull, of eight cells whose atoms were all moved by some 0.05 Å."""

    name, version, tier = "shaken-relax", "1", vl.Tier.HIGH_FIDELITY
    cost = vl.Cost(seconds=3.0)

    def evaluations(self) -> float:
        """As many as of one cell, each with eight times the atoms."""
        return 8 * super().evaluations()

    def computed(self, atoms: Any) -> vl.Verdict:
        """Shake, the same way each time, and relax."""
        wide = atoms.repeat(2)
        wide.calc = atoms.calc
        wide.rattle(stdev=0.05, seed=0)
        return super().computed(wide)


REGISTRY.add(ShakenRelax())
