"""Deep ensemble: a calibration for many labels and features."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.beliefs.declaration import Declared
from verifier_ladder.scheduler.beliefs.terms import Terms
from verifier_ladder.scheduler.beliefs.window import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_NETS, _WIDTH = 5, 32
_FIRST, _AGAIN, _RATE, _DECAY = 150, 50, 0.01, 1e-3
_LEAST = 1e-3
"""The least variance that a net may give, over the target's."""


class Ensemble(Window):
    """Five small nets, each of which says a mean and a variance; together a mixture.

    It needs some hundred labels before it beats the default, and a second or so for each fit.
    The extra `ensemble` installs torch.

        belief = CalibratedBelief.for_ladder(ladder, fit=Ensemble)

    (Lakshminarayanan, Pritzel and Blundell, *Simple and scalable predictive uncertainty
    estimation using deep ensembles*, 2017.)
    """

    def __init__(self, declared: Declared, terms: Terms) -> None:
        """Start without labels.

        Raises:
            ConfigError: If torch is not installed.
        """
        super().__init__(declared, terms)
        self._torch = _torch()
        self._weights: list[Any] = []

    def fit(self) -> None:
        """Train the nets on the window: from seeded first weights, then from where they are."""
        torch, rounds = self._torch, _AGAIN if self._weights else _FIRST
        nets = [weights.requires_grad_() for weights in self._weights or self._seeded()]
        inputs, targets = torch.from_numpy(self.inputs), torch.from_numpy(self.targets)
        optimiser = torch.optim.AdamW(nets, lr=_RATE, weight_decay=_DECAY)
        for _ in range(rounds):
            optimiser.zero_grad()
            mean, variance = _said(torch, nets, inputs)
            ((targets - mean) ** 2 / variance + variance.log()).mean().backward()
            optimiser.step()
        self._weights = [weights.detach() for weights in nets]

    def _seeded(self) -> list[Any]:
        generator = self._torch.Generator().manual_seed(0)
        sizes = [self.inputs.shape[1], _WIDTH, _WIDTH, 2]
        return [
            self._torch.randn(
                _NETS, rows + 1, columns, generator=generator, dtype=self._torch.double
            ) / (rows + 1) ** 0.5
            for rows, columns in pairwise(sizes)
        ]  # fmt: skip

    def ask(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation of the mixture, each of shape (n,)."""
        mean, variance = _said(self._torch, self._weights, self._torch.from_numpy(inputs))
        whole = mean.mean(dim=0)
        spread = (variance + mean**2).mean(dim=0) - whole**2
        return whole.numpy(), spread.clamp(min=_LEAST).sqrt().numpy()

    def parameters(self) -> Mapping[str, Any]:
        """The nets' weights."""
        return {"weights": [weights.tolist() for weights in self._weights]}

    def set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Go back to the nets' weights."""
        double = self._torch.double
        self._weights = [self._torch.tensor(w, dtype=double) for w in parameters["weights"]]


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ConfigError(
            "beliefs of deep ensembles need torch: pip install '.[ensemble]' in a clone"
        ) from None
    return torch


def _said(torch: Any, nets: list[Any], inputs: Any) -> tuple[Any, Any]:
    """Mean and variance that each net says, each of shape (nets, n)."""
    layer = inputs.expand(_NETS, *inputs.shape)
    for number, weights in enumerate(nets):
        layer = torch.tanh(layer) if number else layer
        layer = layer @ weights[:, :-1] + weights[:, -1:]
    return layer[..., 0], torch.nn.functional.softplus(layer[..., 1]) + _LEAST
