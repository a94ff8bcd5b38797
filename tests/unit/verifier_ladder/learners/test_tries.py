"""AReaL asks again about what is unknown, most often another process of its pool."""

import pickle
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import VerifierError
from verifier_ladder.learners import areal
from verifier_ladder.learners.tries import Tries, note


def length(completions: list[str]) -> list[float]:
    if completions[0] == "raise":
        raise ValueError(completions[0])
    return [float(len(completions[0]))]


def made(**options: Any) -> areal.RewardFn:
    check = vl.wrap(length, version="1", isolation="inline")
    return areal.reward_fn(check, group_size=4, run="r", **options)


def ask(function: areal.RewardFn, text: str) -> float | None:
    """As AReaL's wrapper does: three tries more, each with the same arguments."""
    for _ in range(4):
        try:
            return function("p", text, [1], list(map(ord, text)))
        except VerifierError:
            continue
    return None


def groups(ledger: Any, run: str = "r") -> list[list[float | None]]:
    with vl.Campaign.open(
        "length-v1", ledger=ledger, run=run,
        ladder=vl.Ladder("length", [vl.wrap(length, version="1", isolation="inline")]),
    ) as campaign:  # fmt: skip
        steps = range(campaign.ledger.next_step("length-v1", run))
        return [
            [row.advantage for row in campaign.advantages(run, step, since=0)] for step in steps
        ]


def test_tries_of_an_unknown_rollout_leave_its_group_whole(tmp_path: Path) -> None:
    function = made(ledger=tmp_path / "l.db")
    assert [4.0, None, 3.0, 2.0] == [
        ask(function, text) for text in ("aaaa", "raise", "aaa", "aa")
    ]
    function.close()

    whole, *apart = groups(tmp_path / "l.db")
    assert 4 == len(whole)
    assert 3 == sum(one is not None for one in whole)
    assert [[None]] * 3 == apart


def test_equal_rollouts_that_stay_unknown_have_a_place_each(tmp_path: Path) -> None:
    function = made(ledger=tmp_path / "l.db")
    assert [None, None, 3.0, 2.0] == [
        ask(function, text) for text in ("raise", "raise", "aaa", "aa")
    ]
    function.close()

    whole, *_ = groups(tmp_path / "l.db")
    assert [False, False, True, True] == [one is not None for one in whole]


def test_what_was_known_at_last_may_come_again() -> None:
    """In a later epoch: then it has a place in its group."""
    tries = Tries(most=4)
    tries.unknown("a", "why")
    note(tries.token, "a", is_known=True)

    assert not tries.is_another("a")


def test_copies_hear_of_a_try_and_errors_tell_of_it() -> None:
    here = Tries(most=4)
    told = pickle.dumps(here.unknown("a", "why"))
    there = pickle.loads(pickle.dumps(here))  # noqa: S301
    assert there.is_another("a")
    assert not there.is_another("b")

    note(here.token, "a", is_known=True)
    with pytest.raises(VerifierError, match="why"):
        raise pickle.loads(told)  # noqa: S301
    assert here.is_another("a")
