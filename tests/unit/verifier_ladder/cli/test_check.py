"""`vladder check` lists checks with their stories, and gives dead ones another chance."""

import json
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.testing.records import (
    NOW,
    check_row,
    claim,
    completion,
    enqueue,
    key,
    request,
)
from verifier_ladder.verdict import Verdict

HOSTILE = "no such\x1b[31m file\u202e"


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    """Two dead checks, one of them after two attempts, and one that is queued."""
    path = tmp_path / "ledger.db"
    with open_ledger(path) as store:
        store.open_campaign("trial", {"name": "l", "verifiers": []}, key("ladder"))
        rows = [check_row("a"), check_row("b", verifier="dft", tier=2, digest=key("dft"))]
        enqueue(store, *rows, requests=[request("a"), request("b")])
        tool = Verdict.abstain(HOSTILE, failed_at="tool")
        (first,) = claim(store, verifier=key("xtb"))
        store.fail([completion(first, tool)], retry_at=NOW + 1, now=NOW)
        (second,) = claim(store, verifier=key("xtb"), now=NOW + 2)
        store.fail([completion(second, tool)], retry_at=None, now=NOW + 2)
        (other,) = claim(store)
        raised = Verdict.abstain("KeyError: 'x'", failed_at="verifier")
        store.fail([completion(other, raised)], retry_at=None, now=NOW)
        enqueue(store, check_row("c"))
    return path


def states(path: Path) -> dict[str, CheckState]:
    with open_ledger(path) as store:
        return {str(row.payload["content"]): row.state for row in store.checks()}


def listed(run: Any, path: Path, *options: str) -> list[str]:
    done = run("check", "ls", "--json", "--ledger", path, *options)
    return sorted(row["candidate"] for row in json.loads(done.stdout))


def test_ls_tells_where_checks_failed_and_why(run: Any, failing: Path) -> None:
    done = run("check", "ls", "--ledger", failing)

    assert 0 == done.exit_code
    assert all(word in done.stdout for word in ("dead", "queued", "xtb 1", "dft 1", "KeyError"))
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "abc"),
        (("--state", "dead"), "ab"),
        (("--state", "dead", "--state", "queued"), "abc"),
        (("--verifier", "dft"), "b"),
        (("--tier", "simulation"), "ac"),
        (("--campaign", "trial", "--state", "queued"), "c"),
        (("--limit", "1", "--tier", "high_fidelity"), "b"),
    ],
)
def test_ls_chooses(run: Any, failing: Path, options: tuple[str, ...], expected: str) -> None:
    assert list(expected) == listed(run, failing, *options)


def test_ls_as_json_tells_every_attempt(run: Any, failing: Path) -> None:
    digits = key("check a").hex()[:8]
    (story,) = json.loads(run("check", "ls", digits, "--json", "--ledger", failing).stdout)

    assert ("dead", "tool", 2) == (story["state"], story["failed_at"], story["attempt"])
    assert [(1, "abstain"), (2, "abstain")] == [
        (attempt["number"], attempt["outcome"]) for attempt in story["attempts"]
    ]
    assert story["check_key"] == key("check a").hex()


def test_a_key_tells_the_whole_story(run: Any, failing: Path) -> None:
    text = run("check", "ls", key("check a").hex()[:8], "--ledger", failing).stdout

    assert key("check a").hex() in text
    assert 2 == text.count("abstain")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("ls", "--state", "broken"), "there is queued, leased"),
        (("ls", "xy"), "four or more"),
        (("ls", "--campaign", "other"), "holds no campaign 'other'"),
        (("ls", "--tier", "slow"), "slow"),
        (("retry",), "say which"),
    ],
)
def test_what_makes_no_sense_is_told(
    run: Any, failing: Path, options: tuple[str, ...], message: str
) -> None:
    done = run("check", *options, "--ledger", failing)

    assert 2 == done.exit_code
    assert message in done.stderr


def test_retry_queues_a_dead_check_by_its_key(run: Any, failing: Path) -> None:
    done = run("check", "retry", key("check a").hex()[:8], "--ledger", failing)

    assert 0 == done.exit_code
    expected = {"a": CheckState.QUEUED, "b": CheckState.DEAD, "c": CheckState.QUEUED}
    assert expected == states(failing)


def test_retry_queues_all_that_match(run: Any, failing: Path) -> None:
    done = run("check", "retry", "--all", "--json", "--ledger", failing)

    assert {"checks": 2, "samples": 0} == json.loads(done.stdout)
    assert {CheckState.QUEUED} == set(states(failing).values())


def test_retry_of_nothing_says_so(run: Any, failing: Path) -> None:
    done = run("check", "retry", "--campaign", "trial", "--tier", "world", "--ledger", failing)

    assert 1 == done.exit_code
    assert "0 checks" in done.stderr
