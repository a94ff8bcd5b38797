"""What a forecast would be off by if the price stayed: all that is known when it is made."""

from __future__ import annotations

import verifier_ladder as vl
from verifier_ladder.tiers.world.forecast import NumericForecast

READER = NumericForecast()


@vl.verifier(
    name="distance-from-last", tier="fast", version="1", kind="text", unit="EUR",
    deviation=2.0, same_quantity=True, task_fields=("last",), isolation="inline",
)  # fmt: skip
def distance_from_last(candidate: vl.Candidate) -> float:
    """Compare a forecast with the last price, which its task tells."""
    return READER.forecast(candidate).score(float((candidate.task or {})["last"]))
