"""A sample's id stands for one candidate, one task and its turns, whatever was recorded first."""

from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.canonicaliser import Canonicaliser

TASKS: list[dict[str, Any] | None] = [
    None, {"answer": "4"}, {"answer": "5"}, {"answer": 4}, {"answer": "4", "more": [1, 2.5]},
]  # fmt: skip


def equal(candidate: vl.Candidate) -> float:
    return float(candidate.content == (candidate.task or {}).get("answer"))


def ladder() -> vl.Ladder:
    given: dict[str, Any] = {
        "version": "1",
        "kind": "text",
        "isolation": "inline",
        "task_fields": ["answer"],
    }
    fast = vl.verifier(name="fast", **given)(equal)
    slow = vl.verifier(name="slow", tier="simulation", **given)(equal)
    return vl.Ladder("l", [fast, slow], policy="all_tiers")


def opened(path: Path | None) -> vl.Campaign:
    return vl.Campaign.open("c", ladder=ladder(), ledger=path, workers=1)


def sample(task: dict[str, Any] | None) -> vl.Sample:
    return vl.Sample(vl.Candidate("text", "4", task), run="r", step=3, position=0)


@pytest.fixture(params=["memory", "file"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "ledger.db" if request.param == "file" else None


@pytest.mark.parametrize("first", range(len(TASKS)))
def test_an_id_that_stands_for_another_task_is_refused(path: Path | None, first: int) -> None:
    with opened(path) as campaign:
        (told,) = campaign.score([sample(TASKS[first])], deadline=0.0)
        assert campaign.drain("300 s")
        for number, task in enumerate(TASKS):
            if number == first:
                (again,) = campaign.score([sample(task)])
                assert told.value == again.value
            else:
                with pytest.raises(vl.ConfigError, match="recorded with another task"):
                    campaign.score([sample(task)])


def test_a_task_is_known_again_when_the_ledger_is_opened_again(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as campaign:
        campaign.score([sample(TASKS[4])])
    with opened(tmp_path / "ledger.db") as campaign:
        (again,) = campaign.score([sample(TASKS[4])])
        with pytest.raises(vl.ConfigError, match="recorded with another task"):
            campaign.score([sample(TASKS[1])])

    assert 1.0 == again.value


TURNS = [
    (), (vl.Turn("2+2", "4"),), (vl.Turn("2+2", "5"),), (vl.Turn("2+2", "4"), vl.Turn("4", "")),
    (vl.Turn("2+2", "4", {"tool": "calculator"}),),
]  # fmt: skip


def turned(number: int) -> vl.Sample:
    return vl.Sample(vl.Candidate("text", "4", None, TURNS[number]), run="r", step=3, position=0)


@pytest.mark.parametrize("first", range(len(TURNS)))
def test_an_id_that_stands_for_other_turns_is_refused(path: Path | None, first: int) -> None:
    with opened(path) as campaign:
        (told,) = campaign.score([turned(first)], deadline=0.0)
        assert campaign.drain("300 s")
        for number in range(len(TURNS)):
            if number == first:
                (again,) = campaign.score([turned(number)])
                assert told.value == again.value
            else:
                with pytest.raises(vl.ConfigError, match="recorded with other turns"):
                    campaign.score([turned(number)])


def test_turns_are_known_again_when_the_ledger_is_opened_again(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as campaign:
        campaign.score([turned(4)])
    with opened(tmp_path / "ledger.db") as campaign:
        campaign.score([turned(4)])
        with pytest.raises(vl.ConfigError, match="recorded with other turns"):
            campaign.score([turned(1)])


class Stripped(Canonicaliser):
    """Leaves out spaces around."""

    kind, name, version, inline = "text", "stripped", "1", True

    def canonicalise(self, content: str | bytes) -> str | bytes:
        return content.strip()


def spelled(path: Path) -> vl.Campaign:
    given = ladder()
    made = vl.Ladder("l", given.verifiers, policy="all_tiers", canonicaliser=Stripped())
    return vl.Campaign.open("c", ladder=made, ledger=path, workers=1)


@pytest.mark.parametrize("settings", [("32MiB", "64MiB"), ("64MiB", "32MiB")])
def test_a_sample_that_there_was_no_room_for_once_is_the_same_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: tuple[str, str]
) -> None:
    long = vl.Sample(vl.Candidate("text", f" {'x' * 300_000} "), run="r", step=3, position=0)
    other = vl.Sample(vl.Candidate("text", f" {'y' * 300_000} "), run="r", step=3, position=0)
    told = []
    for setting in settings:
        monkeypatch.setenv("VLADDER_CACHE_MEMORY", setting)
        with spelled(tmp_path / "ledger.db") as campaign:
            told += campaign.score([long])
            assert campaign.drain("300 s")
            with pytest.raises(vl.ConfigError, match="recorded with another candidate"):
                campaign.score([other])

    first, again = told
    assert (first.value, first.failed_at) == (again.value, again.failed_at)
    assert ("memory" == first.failed_at) == (settings[0] == "32MiB")


@pytest.mark.parametrize("deadlines", [(0.0, None), (None, 0.0)])
def test_a_sample_that_there_was_no_time_for_once_is_the_same_sample(
    tmp_path: Path, deadlines: tuple[float | None, float | None]
) -> None:
    same = vl.Sample(vl.Candidate("text", " 4 "), run="r", step=3, position=0)
    for deadline in deadlines:
        with spelled(tmp_path / "ledger.db") as campaign:
            campaign.score([same], deadline=deadline)
            assert campaign.drain("300 s")
