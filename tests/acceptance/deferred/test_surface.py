"""What users expect of the surface, and don't find yet.

Each test is a strict expected failure that names its entry; when the thing is built, the mark goes
and the test stays.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import forked
import pytest

import verifier_ladder as vl
from verifier_ladder.ladder import Ladder
from verifier_ladder.scheduler.policies import AllTiers


def later(*, reason: str) -> pytest.MarkDecorator:
    """Expected to fail by its assertion; whatever else goes wrong is a failure."""
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


def vladder(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    return forked.run(
        [sys.executable, "-m", "verifier_ladder.cli", *words],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


MODULE = """
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1")
def length(candidate):
    return float(len(candidate.content))

ladder = vl.Ladder("lengths", [length])
"""


@later(reason="F3: `score` takes TOML files only")
def test_score_takes_a_ladder_from_a_python_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "rollouts.jsonl").write_text('{"completion": "abc"}\n')

    done = vladder("score", "rollouts.jsonl", "--ladder", "mine.py:ladder", folder=tmp_path)

    assert 0 == done.returncode, done.stderr


@later(reason="F3: client and campaign differ")
def test_a_client_answers_what_a_campaign_answers() -> None:
    asked = {"score", "revisions", "answer", "cancel", "cases", "status", "drain"}

    assert set() == asked - set(dir(vl.Client))


@later(reason="F5: spellings of the field are refused")
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_both_spellings_of_a_direction_are_known(direction: Any) -> None:
    try:
        found: str = vl.Target(direction=direction).direction
    except vl.ConfigError as error:
        found = str(error)

    assert found[:5] == direction[:5]


@later(reason="F5: a time limit is no text")
def test_the_time_limit_of_a_verifier_is_an_amount_of_time() -> None:
    try:
        found: Any = vl.verifier(name="n", version="1", timeout="30 s")(len).timeout
    except vl.ConfigError:
        found = None

    assert found == 30.0


@later(reason="F5: four fixed names for tiers")
def test_a_tier_has_a_label_of_ones_own() -> None:
    assert "labels" in inspect.signature(Ladder).parameters


@later(reason="F6: no answer in Python")
def test_a_ledger_tells_the_history_of_a_candidate() -> None:
    with vl.open_ledger("memory://") as ledger:
        assert hasattr(ledger, "history")


@later(reason="F6: a reward is a tuple of eight")
def test_rewards_are_not_concatenated() -> None:
    one, other = vl.Reward(1.0), vl.Reward(2.0)
    try:
        total = one + other  # type: ignore[operator, unused-ignore]
    except TypeError:
        return

    assert not isinstance(total, tuple)


@later(reason="F6: a campaign knows no `async with`")
def test_a_campaign_opens_with_async_with() -> None:
    assert hasattr(vl.Campaign, "__aenter__")


@later(reason="F7: a policy of one's own has no entry point")
def test_a_policy_is_found_by_its_entry_point() -> None:
    from importlib.metadata import entry_points

    assert entry_points(group="verifier_ladder.policies")


@later(reason="F7: no policy by name in TOML")
def test_a_policy_of_ones_own_is_named_in_a_table() -> None:
    class Mine(AllTiers):
        name = "mine-f7"

    try:
        found = Ladder.from_table({"name": "l", "verifiers": [], "policy": Mine.name}).policy.name
    except vl.ConfigError as error:
        found = str(error)

    assert found == Mine.name


@later(reason="F11: no `/metrics`")
def test_a_server_has_metrics() -> None:
    from fastapi.testclient import TestClient

    from verifier_ladder.server.app import create_app

    @vl.verifier(name="length", tier="fast", kind="text", version="1", isolation="inline")
    def length(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    with (
        vl.Campaign.open("served", ladder=vl.Ladder("lengths", [length])) as campaign,
        TestClient(create_app(campaign), base_url="http://127.0.0.1") as client,
    ):
        assert 200 == client.get("/metrics").status_code


@later(reason="F11: no `ledger init`")
def test_a_ledger_can_be_made_by_a_command(tmp_path: Path) -> None:
    done = vladder("ledger", "init", "--ledger", "new.db", folder=tmp_path)

    assert 0 == done.returncode, done.stderr
    assert (tmp_path / "new.db").exists()


@later(reason="F11: Debian's PostgreSQL 15 is refused")
def test_postgresql_15_is_taken() -> None:
    from verifier_ladder.ledger.postgresqltables import OLDEST

    assert OLDEST <= 15


@later(reason="F3: TOML files name installed verifiers only")
def test_a_ladder_file_takes_a_verifier_from_a_python_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "ladder.toml").write_text('name = "lengths"\nverifiers = ["mine.py:length"]\n')
    try:
        found = len(Ladder.from_toml(tmp_path / "ladder.toml").verifiers)
    except vl.ConfigError:
        found = 0

    assert found == 1
