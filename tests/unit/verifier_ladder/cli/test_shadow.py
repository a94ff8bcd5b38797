"""`vladder campaign shadow`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from histories import History, Item

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.shadow import shadow_name

Run = Callable[..., Any]
HOSTILE = "C\x1b[31m[bold]X"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A campaign whose shadow thinks otherwise of one candidate, and has failed once."""
    path = tmp_path / "ledger.db"
    with open_ledger(path) as store:
        for name, value in (("c", 0.9), (shadow_name("c"), 0.1)):
            items = [Item(text, text, reward=Reward(value)) for text in (HOSTILE, "CCO")]
            items[1].reward = Reward(0.5)
            History(store, name).score(items)
        facts = {"run": "one", "step": 7, "samples": 3, "reason": "OSError: no"}
        store.append(Block("shadow", shadow_name("c"), facts=facts))
    return path


def test_the_newest_campaign_that_is_no_shadow_is_compared(ledger: Path, run: Run) -> None:
    done = run("campaign", "shadow", "--ledger", ledger)

    assert 0 == done.exit_code, done.stderr
    assert "2 of 2 samples compared" in done.stdout
    assert "1 flip (50.0%); good is at 0.5 or above" in done.stdout
    assert "reward changes by -0.4" in done.stdout
    assert "3 samples of step 7 of run one were not shadowed: OSError: no" in done.stdout


def test_text_of_a_model_is_shown_as_text(ledger: Path, run: Run) -> None:
    told = run("campaign", "shadow", "c", "--ledger", ledger).stdout

    assert "\x1b" not in told
    assert "C[bold]X" in told


def test_the_comparison_is_json_for_programs(ledger: Path, run: Run) -> None:
    told = json.loads(run("campaign", "shadow", "c", "--ledger", ledger, "--json").stdout)

    assert (1, 0.5, "c~shadow") == (told["flips"], told["flip_rate"], told["shadow"])


def test_a_threshold_moves_what_is_good(ledger: Path, run: Run) -> None:
    command = ("campaign", "shadow", "c", "--ledger", ledger, "--threshold", "0.05")

    assert "0 flip" in run(*command).stdout


def test_a_campaign_without_a_shadow_is_a_mistake_of_the_call(ledger: Path, run: Run) -> None:
    with open_ledger(ledger) as store:
        History(store, "alone")

    done = run("campaign", "shadow", "--ledger", ledger)

    assert 2 == done.exit_code
    assert "'alone' has no shadow" in done.stderr
