"""Every function that makes a reward function takes what its errors list, and nothing else."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder import learners


def judge(completions: list[str], **_: Any) -> list[float]:
    return [float(len(completion)) for completion in completions]


def makers() -> Iterator[Callable[..., Any]]:
    """All public functions that take options, of all learners."""
    yield from (vl.wrap, vl.verifier)
    for module in pkgutil.iter_modules(learners.__path__, f"{learners.__name__}."):
        found = vars(importlib.import_module(module.name))
        for name, function in found.items():
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            of_module = function.__module__ == module.name
            if of_module and (name == "reward_function" or "options" in parameters(function)):
                yield function


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


MAKERS = list(makers())
NAMES = [f"{function.__module__}.{function.__name__}" for function in MAKERS]


def test_all_learners_are_looked_at() -> None:
    assert {
        "trl.reward_function", "verl.compute_score", "verl.reward_manager", "verl.wrap",
        "areal.reward_fn", "slime.custom_rm", "skyrl.environment", "openrlhf.reward_func",
        "verifiers.reward", "verifiers.rubric_function",
    } <= {name.removeprefix(f"{learners.__name__}.") for name in NAMES}  # fmt: skip


def made(function: Callable[..., Any], **options: Any) -> Any:
    """What it makes of a verifier or a function; None where its library is not installed."""
    is_wrapper = function.__name__ in {"wrap", "verifier"}
    given = judge if is_wrapper else vl.wrap(judge, version="1")
    if "on_abstain" in parameters(function):
        options = {"on_abstain": 0.0, **options}
    try:
        return function(**options) if function is vl.verifier else function(given, **options)
    except ModuleNotFoundError:
        return None


def listed(function: Callable[..., Any]) -> list[str]:
    """The options that its error lists."""
    with pytest.raises(vl.ConfigError) as raised:
        made(function, clap=1.0)
    said = re.fullmatch(r"unknown option clap; (\w+) takes (.+)", str(raised.value))
    assert said
    assert function.__name__ == said[1]
    return said[2].split(", ")


def value(function: Callable[..., Any], option: str) -> Any:
    """A value that an option takes: its default."""
    if function.__name__ in {"wrap", "verifier"} and option not in parameters(function):
        return getattr(vl.wrap(judge, version="1"), option, None)
    default = getattr(parameters(function).get(option), "default", None)
    return 0.0 if default is inspect.Parameter.empty else default


@pytest.mark.parametrize("function", MAKERS, ids=NAMES)
def test_an_unknown_option_is_refused_with_those_that_are_taken(
    function: Callable[..., Any],
) -> None:
    found = listed(function)
    own = [n for n, p in parameters(function).items() if p.kind is p.KEYWORD_ONLY]

    assert set(own) <= set(found)
    for option in found:
        made(function, **{option: value(function, option)})


def test_a_horizon_reaches_the_campaign(tmp_path: Path) -> None:
    from verifier_ladder.learners.trl import reward_function

    reward = reward_function(
        vl.wrap(judge, version="1", isolation="inline"), ledger=tmp_path / "l.db", horizon=64
    )
    assert [1.0] == reward(["p"], ["a"])
    assert 64 == reward.campaign.forecast().horizon
    reward.close()
    with pytest.raises(vl.ConfigError, match="horizon=0: give a whole number of at least 1"):
        reward_function(vl.wrap(judge, version="1"), horizon=0)
