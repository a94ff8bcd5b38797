"""Verifiers of an answer that stands at a mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifier_ladder.arguments import checked
from verifier_ladder.cost import Cost
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.extraction import SHORT, checked_marks
from verifier_ladder.tiers.single import SingleVerifier


class MarkedVerifier(SingleVerifier):
    """Base of verifiers that find the answer of an output by marks, and compare it with a task.

    A subclass without settings of its own needs no constructor.
    """

    tier = Tier.FAST
    kind = "text"
    domain = "structured output"
    capabilities = ("reasoning",)
    cost = Cost(seconds=2e-5)
    timeout = 10.0

    @checked("find")
    def __init__(
        self, own: Mapping[str, Any] | None = None, /, *, find: Sequence[str] = SHORT
    ) -> None:
        """Set where the answer stands, beside the subclass's own settings.

        Args:
            own: Those that affect results.
            find: Marks of `verifier_ladder.tiers.fast.extraction`, the strongest first.

        Raises:
            ConfigError: If a mark does not exist.
        """
        self._find = checked_marks(find)
        super().__init__(find=self._find, **(own or {}))
