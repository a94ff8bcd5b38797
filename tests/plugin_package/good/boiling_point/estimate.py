"""A verifier as a class: it has a setting and loads something once per worker."""

from collections.abc import Sequence

import verifier_ladder as vl


class BoilingPoint(vl.Verifier):
    """Estimates the boiling point of an alkane from its number of carbon atoms."""

    name = "boiling-point"
    version = "2"
    tier = "fast"
    kind = "molecule"
    unit = "K"

    def __init__(self, slope: float = 30.0) -> None:
        """Take the increase for each carbon atom."""
        self.slope = slope
        super().__init__(slope=slope)

    def setup(self) -> None:
        """Load what stands for a model."""
        self.base = 111.0

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        """Count carbon atoms."""
        return [
            vl.Verdict.accept(self.base + self.slope * (str(c.content).count("C") - 1), unit="K")
            for c in candidates
        ]
