"""Processes that are attached to another one, which runs the ledger's checks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import forked
import pytest

import verifier_ladder as vl
from verifier_ladder.campaign import Campaign
from verifier_ladder.scheduler.engines.remote import HomeLostError

SCRIPT = """
import json, sys
from pathlib import Path
import verifier_ladder as vl
from verifier_ladder.scheduler.policies import AllTiers

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def quick(candidate):
    return 1.0

@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline")
def slow(candidate):
    return 2.0

class Odd(Exception):
    def __init__(self, number, text):
        super().__init__(f"{text} {number}")
        self.held = lambda: number

class Fails(AllTiers):
    name = "all_tiers"

    def __init__(self, error, calls):
        super().__init__()
        self.error, self.calls = error, calls

    def decide(self, situation):
        with open(self.calls, "a") as file:
            file.write("x")
        raise {"odd": lambda: Odd(7, "boom"), "file": lambda: FileNotFoundError("no weights"),
               "value": lambda: ValueError("bad value"),
               "config": lambda: vl.ConfigError("set it")}[self.error]()

ledger, error, calls = sys.argv[1:]
ladder = vl.Ladder("attached", [quick, slow], policy=Fails(error, calls))
with vl.Campaign.open("attached", ladder=ladder, ledger=ledger) as campaign:
    try:
        campaign.score(["a"])
    except Exception as raised:
        print(json.dumps([type(raised).__name__, str(raised)]))
"""


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("odd", ["EngineError", "Odd: boom 7"]),
        ("file", ["FileNotFoundError", "no weights"]),
        ("value", ["ValueError", "bad value"]),
        ("config", ["ConfigError", "set it"]),
    ],
)
def test_an_error_at_the_home_is_told_once_and_the_batch_is_scored_once(
    tmp_path: Path, error: str, told: list[str]
) -> None:
    (tmp_path / "attached.py").write_text(SCRIPT)
    ledger, calls = tmp_path / "ledger.db", tmp_path / "calls"
    with vl.Campaign.open("home", ladder=vl.Ladder("home", [length]), ledger=ledger) as home:
        done = forked.run(
            [sys.executable, "attached.py", str(ledger), error, str(calls)],
            cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip

        assert told == json.loads(done.stdout), done.stderr
        assert "x" == calls.read_text()
        assert [3.0] == [reward.value for reward in home.score(["abc"])]


def test_a_call_that_ends_one_home_after_the_other_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("verifier_ladder.campaign._LONGEST_PAUSE", 0.0)
    tries: list[int] = []

    def lose(_: object) -> None:
        tries.append(1)
        raise HomeLostError("it went away")

    with (
        Campaign.open("lost", ladder=vl.Ladder("lost", [length])) as campaign,
        pytest.raises(vl.EngineError, match="went away 11 times during one call"),
    ):
        campaign._call(lose)

    assert 11 == len(tries)
