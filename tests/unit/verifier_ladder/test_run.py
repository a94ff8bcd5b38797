"""Runs."""

from types import MappingProxyType
from typing import Any

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.run import Run


@pytest.mark.parametrize("name", ["grpo-01", "a/b:c@d+e f.g", "läufe", "x" * 200])
def test_a_name_may_hold_what_can_be_shown_and_typed(name: str) -> None:
    assert name == Run(name).name


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0b", "a\nb", "<b>", "\x1b[31m", None, 3])
def test_other_names_are_refused(name: Any) -> None:
    with pytest.raises(ConfigError, match="can't be called"):
        Run(name)


def test_a_run_survives_its_json() -> None:
    run = Run("one", project="water", labels=MappingProxyType({"seed": "3"}), scaffold="react")

    assert Run(**run.as_json()) == Run(**{**run.as_json(), "labels": {"seed": "3"}})
    assert {"seed": "3"} == run.as_json()["labels"]
