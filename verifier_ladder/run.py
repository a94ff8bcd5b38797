"""Runs: one training or evaluation run attached to a campaign."""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from verifier_ladder.arguments import check_fields
from verifier_ladder.errors import ConfigError
from verifier_ladder.settings import load_settings

_NAME = re.compile(r"[\w.\-:/+@ ]{1,200}")
_EVALUATION = "/eval"
"""What the name of a run's evaluation ends with."""


def evaluation_name(run: str) -> str:
    """Name of the run that the evaluation samples of a run are filed under.

    Example:
        >>> evaluation_name("first"), evaluation_name("first/eval")
        ('first/eval', 'first/eval')
    """
    return run if run.endswith(_EVALUATION) else run + _EVALUATION


def trained_name(run: str) -> str:
    """Name of the run that an evaluation belongs to; of another run, its own.

    Example:
        >>> trained_name("first/eval"), trained_name("first")
        ('first', 'first')
    """
    return run.removesuffix(_EVALUATION)


def trainings_first(runs: Iterable[str]) -> list[str]:
    """The same names, with those of evaluations behind all others.

    Example:
        >>> trainings_first(["second/eval", "second", "first"])
        ['second', 'first', 'second/eval']
    """
    return sorted(runs, key=lambda name: name.endswith(_EVALUATION))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _project() -> str:
    return load_settings().project


@dataclass(frozen=True, slots=True)
class Run:
    """One training or evaluation run, with what its report card tells.

    A report-card field that is left empty is shown as "not reported".
    """

    name: str
    """Unique inside its campaign; samples carry it."""
    project: str = field(default_factory=_project)
    """By default as `VLADDER_PROJECT` says."""
    user: str = field(default_factory=_user)
    labels: Mapping[str, str] = field(default_factory=dict)
    """What else spend is told apart by, such as the name of a team under `team`."""
    environment: str = ""
    tool_budget: str = ""
    scaffold: str = ""
    evaluator: str = ""
    failure_recovery: str = ""
    evaluation: bool = False
    """Whether its samples evaluate a policy and train none. A name that ends in "/eval" says so
    too. Exports, curricula and "the newest run" pass over such a run unless it is asked for."""

    def __post_init__(self) -> None:
        """Refuse names that could not be shown or typed."""
        name: object = self.name
        if not isinstance(name, str) or not _NAME.fullmatch(trained_name(name)):
            raise ConfigError(
                f"a run can't be called {self.name!r}; use up to 200 letters, digits and ._-:/+@"
            )
        if name.endswith(_EVALUATION):
            object.__setattr__(self, "evaluation", True)
        labels: object = self.labels
        if not isinstance(labels, Mapping) or not all(
            isinstance(part, str) for pair in labels.items() for part in pair
        ):
            raise ConfigError(
                f"labels={labels!r} of run {name}: give text for text, such as "
                '{"team": "solvents"}'
            )
        check_fields(self)

    @property
    def evaluations(self) -> Run:
        """The run that its evaluation samples are filed under; itself if it is an evaluation.

        Example:
            >>> Run("first").evaluations.name
            'first/eval'
        """
        if self.evaluation:
            return self
        return replace(self, name=evaluation_name(self.name), evaluation=True)

    def as_json(self) -> dict[str, Any]:
        """The run as the ledger records it."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**values, "labels": dict(self.labels)}
