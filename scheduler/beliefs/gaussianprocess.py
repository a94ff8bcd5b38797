"""Gaussian process: a calibration for few, dear labels and any number of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.beliefs.declaration import Declared
from verifier_ladder.scheduler.beliefs.terms import Terms
from verifier_ladder.scheduler.beliefs.window import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class GaussianProcess(Window):
    """BoTorch's standard process, its kernel and noise fitted by their marginal likelihood.

    It bends wherever the labels do, at a second or so for each fit and no more than some ten
    thousand predictions a second. The extra `gp` installs what it needs.

        belief = CalibratedBelief.for_ladder(ladder, fit=GaussianProcess)

    (Balandat et al., *BoTorch: a framework for efficient Monte-Carlo Bayesian optimization*,
    2020.)
    """

    def __init__(self, declared: Declared, terms: Terms) -> None:
        """Start without labels.

        Raises:
            ConfigError: If BoTorch is not installed.
        """
        super().__init__(declared, terms)
        self._botorch = _botorch()
        self._state: dict[str, Any] = {}
        self._model: Any = None
        self._of: Floats | None = None

    def fit(self) -> None:
        """Fit kernel and noise to the window."""
        from botorch.fit import fit_gpytorch_mll
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = self._process()
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        self._state = {name: one.detach() for name, one in model.named_parameters()}
        self._of = None

    def ask(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation of the standardised target, each of shape (n,)."""
        import torch

        if self._of is not self.targets:
            self._model, self._of = self._process(), self.targets
            self._model.load_state_dict(self._state, strict=False)
            self._model.eval()
        said = self._model.posterior(torch.from_numpy(inputs), observation_noise=True)
        mean, variance = said.mean.detach(), said.variance.detach()
        return mean[:, 0].numpy(), np.sqrt(variance[:, 0].numpy())

    def _process(self) -> Any:
        import torch

        inputs, targets = torch.from_numpy(self.inputs), torch.from_numpy(self.targets)
        return self._botorch.SingleTaskGP(inputs, targets[:, None], outcome_transform=None)

    def parameters(self) -> Mapping[str, Any]:
        """Kernel and noise."""
        return {name: tensor.tolist() for name, tensor in self._state.items()}

    def set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Go back to kernel and noise."""
        import torch

        self._state = {
            name: torch.tensor(numbers, dtype=torch.double) for name, numbers in parameters.items()
        }
        self._of = None


def _botorch() -> Any:
    try:
        from botorch import models
    except ImportError:
        raise ConfigError(
            "beliefs of Gaussian processes need BoTorch: pip install '.[gp]' in a clone"
        ) from None
    return models
