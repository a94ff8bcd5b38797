"""The summary in a terminal, wide, narrow and without one."""

import io
from dataclasses import replace

import pytest
from crystals import PROTOTYPES, poscar
from histories import DFT, ESTIMATE, GATE, MEASURED, XTB, History, Item, cost
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from verifier_ladder.ledger import open_ledger
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.summary import print_summary, summarise
from verifier_ladder.summary.terminal import commands
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict


def printed(history: History, *, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_summary(summarise(history.ledger, history.name), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture
def history() -> History:
    made = History(open_ledger(None), "solvation")
    good = Item(
        "CCO", "CCO", {GATE: Verdict.accept(), ESTIMATE: cost(Verdict.accept(-5.0), 0.5)},
        Reward(0.5, 0.1, Tier.FAST), -5.0, 1.0,
    )  # fmt: skip
    bad = Item("C1CC", Verdict.reject("can't read 'C1CC'"), {}, Reward(0.0, 0.0, Tier.FAST))
    made.score([good, bad])
    made.check(good, XTB, cost(Verdict.abstain("SCF diverged", failed_at="tool"), 1.0))
    return made


def test_it_shows_funnel_costs_best_rejects_and_failures(history: History) -> None:
    text = printed(history)

    for words in (
        "2 outputs, 2 distinct candidates", "simulation", "Spent", "CCO",
        "Rejected, and why", "Failed (no reward was lowered)", "SCF diverged", "Ledger", "Next",
    ):  # fmt: skip
        assert words in text


def test_failures_stand_apart_from_rejects(history: History) -> None:
    text = printed(history)

    rejected = text.index("Rejected, and why")
    failed = text.index("Failed (no reward was lowered)")
    assert rejected < text.index("can't read") < failed < text.index("SCF diverged")


@pytest.mark.parametrize("width", [30, 80, 200])
def test_it_fits_any_width(history: History, width: int) -> None:
    lines = printed(history, width=width).splitlines()

    assert all(
        len(line) <= width
        for line in lines
        if not line.startswith("Ledger") and "vladder " not in line  # To be copied, never cut.
    )


def test_80_columns_hold_every_heading_and_number_of_the_costs(history: History) -> None:
    history.ledger.set_caps("solvation", {(2, Resource.CPU_SECONDS): 100.0})
    shown = printed(history, width=80)

    table = shown[shown.index("\ncost") : shown.index("\nSpent")]
    assert "…" not in table
    assert all(word in table for word in ("checks", "cpu time", "wall time", "high_fidelity"))


def test_80_columns_hold_the_numbers_of_the_best(history: History) -> None:
    said = cost(Verdict.accept(-12.34, uncertainty=1.6), 1.0)
    verdicts = {GATE: Verdict.accept(), ESTIMATE: said}
    item = Item("C" * 14, "C" * 14, verdicts, Reward(12.34, 1.6, Tier.WORLD), -12.34, 1.6)
    history.score([item])
    for verifier in (XTB, DFT, MEASURED):
        history.check(item, verifier, said)

    shown = printed(history, width=80)

    (line,) = [line for line in shown.splitlines() if line.startswith("CCCC")]
    assert "…" not in line


def test_an_empty_campaign_is_summed_up_too() -> None:
    text = printed(History(open_ledger(None), "solvation"))

    assert "0 outputs" in text
    assert "Rejected" not in text


def test_a_ledger_that_is_gone_afterwards_gets_no_commands(history: History) -> None:
    console = Console(file=io.StringIO(), width=100, color_system=None)

    print_summary(
        summarise(history.ledger, history.name), console, report="report.html", lasts=False
    )

    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "Report  report.html" in text
    assert "vladder" not in text
    assert "Ledger  " not in text


def test_three_commands_are_proposed_and_quoted_for_the_shell(history: History) -> None:
    made = commands(summarise(history.ledger, "solvation"))

    assert len(made) == 3
    assert "vladder campaign show solvation --json" in made[0][0]


def test_a_crystal_is_called_by_its_formula_and_found_by_its_key(history: History) -> None:
    summary = summarise(history.ledger, history.name)
    salt = replace(summary.best[0], kind="crystal", content=poscar(PROTOTYPES["NaCl"]))
    made, console = replace(summary, best=(salt,)), Console(file=io.StringIO(), width=100)

    print_summary(made, console)

    assert isinstance(console.file, io.StringIO)
    assert "ClNa, 8 atoms" in console.file.getvalue()
    assert f"vladder ledger show {salt.key[:16]} " in commands(made)[1][0]


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_control_character_of_a_model_reaches_the_terminal(raw: str, reason: str) -> None:
    history = History(open_ledger(None), "try")
    hostile = "\x1b]0;owned\x07\x1b[31m\u202e" + raw
    history.score([
        Item(hostile, Verdict.reject(f"\x1b[2J{reason}"), {}, Reward(0.0, 0.0, Tier.FAST)),
        Item(hostile + "C", hostile + "C", {ESTIMATE: Verdict.accept(1.0)}, Reward(1.0)),
    ])  # fmt: skip

    text = printed(history)

    assert not {c for c in text if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0}
    assert "\u202e" not in text
