"""OpenEnv without the library; `tests/learners/openenv` has the library and a server."""

import sys
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.tiers.generic.openenv import (
    OpenEnvEnvironment,
    OpenEnvRubricVerifier,
    OpenEnvVerifier,
)

URL = "http://127.0.0.1:8000"


def steps(candidate: vl.Candidate) -> list[tuple[str, None]]:
    return [(str(candidate.content), None)]


class Rubric:
    """As much of one as is asked: rewards the length of what is said."""

    def __call__(self, action: str, _: None) -> Any:
        return {"": None, "nan": float("nan")}.get(action, float(len(action)))

    def named_rubrics(self) -> list[tuple[str, Any]]:
        return []


def test_without_the_library_they_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("openenv.core.generic_client", "openenv.core.rubrics"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(vl.ToolError, match="pip install openenv-core"):
        OpenEnvEnvironment(URL).reset(0)
    with pytest.raises(vl.ConfigError, match="pip install openenv-core"):
        OpenEnvRubricVerifier(Rubric, steps=steps, name="r", version="1").setup()
    said = OpenEnvVerifier(name="e", version="1", url=URL).judge([vl.Candidate("text", "{}")])[0]
    assert (said.outcome, said.failed_at) == ("abstain", "tool")


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "file:///etc/passwd", "http://", "ftp://a"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(vl.ConfigError, match="url"):
        OpenEnvVerifier(name="e", version="1", url=url)


@pytest.mark.parametrize("seed", [-1, True, "1", 0.5])
def test_a_seed_without_sense_is_the_tasks_fault(seed: Any) -> None:
    check = OpenEnvVerifier(name="e", version="1", url=URL)
    said = check.judge([vl.Candidate("text", "{}", {"seed": seed})])[0]

    assert (said.outcome, said.failed_at) == ("abstain", None)
    assert "seed" in said.reason


def test_a_trajectory_has_bounds_and_its_environment_a_network() -> None:
    check = OpenEnvVerifier(name="e", version="1", url=URL, most_turns=1)
    said = check.judge([vl.Candidate("text", "", None, (vl.Turn("{}"), vl.Turn("{}")))])[0]

    assert said.outcome == "reject"
    assert check.network
    assert not OpenEnvRubricVerifier(Rubric, steps=steps, name="r", version="1").network
    with pytest.raises(vl.ConfigError, match="most_turns"):
        OpenEnvVerifier(name="e", version="1", url=URL, most_turns=0)


def test_a_rubric_that_gives_no_number_is_unknown() -> None:
    check = OpenEnvRubricVerifier(Rubric, steps=steps, name="r", version="1")
    said = check.judge([vl.Candidate("text", text) for text in ("abc", "", "nan")])

    assert [v.score for v in said] == [3.0, None, None]
    assert [v.outcome for v in said] == ["accept", "abstain", "abstain"]
