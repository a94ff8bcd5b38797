"""Runs: one training or evaluation run attached to a campaign."""

from __future__ import annotations

import getpass
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from verifier_ladder.errors import ConfigError
from verifier_ladder.settings import load_settings

_NAME = re.compile(r"[\w.\-:/+@ ]{1,200}")


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

    def __post_init__(self) -> None:
        """Refuse names that could not be shown or typed."""
        name: object = self.name
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigError(
                f"a run can't be called {self.name!r}; use up to 200 letters, digits and ._-:/+@"
            )
        labels: object = self.labels
        if not isinstance(labels, Mapping) or not all(
            isinstance(part, str) for pair in labels.items() for part in pair
        ):
            raise ConfigError(
                f"labels={labels!r} of run {name}: give text for text, such as "
                '{"team": "solvents"}'
            )

    def as_json(self) -> dict[str, Any]:
        """The run as the ledger records it."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**values, "labels": dict(self.labels)}
