"""Step models of this machine: a user's own model, which one process holds for all workers.

No weights are fetched here. What a service raises, or answers beside one number a step, is
nobody's reject: nothing is known then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from math import isfinite, nan
from typing import Any, Final

from verifier_ladder.errors import ConfigError, ServiceError, ToolError
from verifier_ladder.services.service import Service
from verifier_ladder.text import printable
from verifier_ladder.tiers.simulation.stepmodel import Asked, Scores

SERVICES: Final = "verifier_ladder.services"
"""The group of entry points that name services, for ladders that are written as TOML."""
_DEATHS = 3
"""After so many in a row it is taken to be down, and nobody else is asked about."""


class StepService(Service):
    """Base of a step model that one process of the machine holds.

    A subclass loads its model in `setup`, and scores in `score_steps`.

    Example:
        >>> class Lengths(StepService):
        ...     name, version = "lengths", "1"
        ...     def score_steps(self, prompts, outputs):
        ...         return [[1 / len(step) for step in steps] for steps in outputs]
        >>> Lengths().score_steps(["Add."], [["1 + 1", "2"]])
        [[0.2, 1.0]]
    """

    def score_steps(
        self, prompts: Sequence[str], outputs: Sequence[Sequence[str]]
    ) -> Sequence[Sequence[float]]:
        """Score outputs.

        Args:
            prompts: The prompt of each.
            outputs: The steps of each.

        Returns:
            For each output a score for each of its steps.
        """
        del prompts, outputs
        raise TypeError(f"{type(self).__name__} has no score_steps method")


def offered(name: str, what: str) -> Any:
    """The service that an entry point names.

    Args:
        name: The entry point's name.
        what: What asks for it, for the error.

    Raises:
        ConfigError: If there is none of the name.
    """
    known = {point.name: point for point in entry_points(group=SERVICES)}
    if name not in known:
        raise ConfigError(
            f"{what}: no installed package offers {name!r} among the entry points {SERVICES}; "
            f"there are {', '.join(known) or 'none'}"
        )
    return known[name].load()()


def service_of(given: str | Service) -> StepService:
    """A step model, or the one that an entry point names.

    Raises:
        ConfigError: If there is none of the name, or it is no step model.
    """
    if isinstance(given, str):
        given = offered(given, f"service={given!r}")
    if not isinstance(given, StepService):
        raise ConfigError(f"service={given!r:.100} is no StepService")
    return given


def scores_of(service: Service, asked: Sequence[Asked], batch: int) -> Iterator[Scores]:
    """The scores of outputs, in order.

    Where a call about several fails, each is asked about alone, until the service dies again and
    again.

    Args:
        service: The step model.
        asked: The outputs.
        batch: Most outputs of one call.
    """
    for begin in range(0, len(asked), batch):
        some = asked[begin : begin + batch]
        told = _called(service, some)
        if isinstance(told, list):
            yield from told
        elif len(some) == 1:
            yield told
        else:
            yield from _alone(service, some)


def _alone(service: Service, asked: Sequence[Asked]) -> Iterator[Scores]:
    deaths, last = 0, None
    for each in asked:
        if last is None or deaths < _DEATHS:
            told = _called(service, [each])
            last = told if isinstance(told, ServiceError) else None
            deaths = 0 if last is None else deaths + 1
        yield told[0] if isinstance(told, list) else told


def _called(service: Service, asked: Sequence[Asked]) -> list[Scores] | ToolError:
    prompts = [each.prompt for each in asked]
    outputs = [[step.text for step in each.steps] for each in asked]
    try:
        told = _listed(service.call("score_steps", prompts, outputs))
    except ToolError as error:
        return error
    except Exception as error:  # noqa: BLE001 - whatever the user's model raises
        return ToolError(f"the step model failed: {type(error).__name__}: {printable(error)}")
    if not isinstance(told, list) or len(told) != len(asked):
        return ToolError(f"the step model gives no list of {len(asked)} outputs' scores")
    return [_numbers(answer) for answer in told]


def _numbers(answer: Any) -> Scores:
    numbers = _listed(answer)
    is_list = isinstance(numbers, list) and all(
        isinstance(one, (int, float)) and not isinstance(one, bool) for one in numbers
    )
    if not is_list:
        return ToolError("the step model gives no list of numbers")
    return [float(one) if isfinite(one) else nan for one in numbers]


def _listed(told: Any) -> Any:
    """What was told, an array as a list."""
    return told.tolist() if hasattr(told, "tolist") else told
