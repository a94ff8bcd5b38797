"""Sample ids of one step, made only where one is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from verifier_ladder.candidate import SampleId


class TakenError(Exception):
    """A sample has an id that another one came with."""


class StepSamples(Sequence[SampleId]):
    """The ids of the samples of one run and step.

    Example:
        >>> StepSamples("run", 2, [5, 6])[1]
        SampleId(run='run', step=2, position=6)
    """

    def __init__(self, run: str, step: int, positions: Sequence[int]) -> None:
        """Name the step; the positions are not copied."""
        self._run, self._step, self._positions = run, step, positions

    def __len__(self) -> int:
        """Count the samples."""
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> SampleId: ...
    @overload
    def __getitem__(self, index: slice) -> StepSamples: ...
    def __getitem__(self, index: int | slice) -> SampleId | StepSamples:
        """Name one sample, or a part of them."""
        if isinstance(index, slice):
            return StepSamples(self._run, self._step, self._positions[index])
        return SampleId(self._run, self._step, self._positions[index])
