"""`vladder review next`: a person's answer becomes a verdict and revises the rewards."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.registry import REGISTRY
from verifier_ladder.tiers.world.expert import ExpertCase

Run = Callable[..., Any]


class Laboratory(vl.Verifier):
    """Asks somebody to measure."""

    name, version, tier, kind, unit = "laboratory", "1", "world", "text", "kcal/mol"
    waits = True

    def question(self, candidate: vl.Candidate) -> str:
        return f"What is the energy of {candidate.content!r}?"

    def answered(self, candidate: vl.Candidate, value: object) -> vl.Verdict:
        verdict = super().answered(candidate, value)
        if verdict.score is not None and abs(verdict.score) > 100:
            raise vl.VerifierError(f"{verdict.score:g} is not an energy")
        return verdict

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        waiting = vl.Verdict.abstain("waiting for it", evidence={"waiting": True})
        return [waiting for _ in candidates]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A campaign with two open cases."""
    guess = vl.verifier(name="guess", version="1", isolation="inline")(lambda c: len(c.content))
    REGISTRY.add(Laboratory())
    ladder = vl.Ladder("energies", [guess, Laboratory()], budget={"world": "unlimited"})
    with vl.Campaign.open("energies", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign:
        campaign.score(["CCO", "C\x1b[31mC"])
        assert campaign.drain(300)
        assert 2 == len(campaign.cases())
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    runner = CliRunner()

    def call(*arguments: object, typed: str | None = None) -> Any:
        place = ("review", "next", "--ledger", str(folder / "ledger.db"))
        return runner.invoke(app, [*place, *map(str, arguments)], input=typed)

    return call


def test_a_case_is_shown_with_its_question_and_unit(run: Run) -> None:
    text = run("--json").stdout

    case = json.loads(text)["case"]
    assert "kcal/mol" == case["unit"]
    assert case["question"].startswith("What is the energy of 'C")


def test_a_case_is_shown_whatever_its_verifier_raises(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(Laboratory, "question", broken)
    monkeypatch.setattr(Laboratory, "answered", broken)

    case = json.loads(run("--json").stdout)["case"]

    assert "What does laboratory say of it?" == case["question"]


def test_what_other_tiers_said_is_hidden_unless_asked_for(run: Run) -> None:
    blind = json.loads(run("--json").stdout)["case"]
    seeing = json.loads(run("--json", "--unblind").stdout)["case"]

    assert "other_tiers" not in blind
    assert ["guess"] == list(seeing["other_tiers"])


def test_an_answer_revises_the_reward(run: Run) -> None:
    done = run("--answer", "-4.7", "--by", "ada", "--json")

    (revision,) = json.loads(done.stdout)["case"]["revisions"]
    assert (-4.7, "world") == (revision["reward"]["value"], revision["reward"]["tier"])
    assert "answered by ada" in done.stderr


@pytest.mark.parametrize(("word", "reward"), [("yes", 1.0), ("no", 0.0)])
def test_yes_and_no_are_answers(run: Run, word: str, reward: float) -> None:
    done = run("--answer", word, "--json")

    assert 0 == done.exit_code, done.stderr
    (revision,) = json.loads(done.stdout)["case"]["revisions"]
    assert (reward, "world") == (revision["reward"]["value"], revision["reward"]["tier"])


def test_yes_and_no_are_offered_where_the_case_takes_them(run: Run, tmp_path: Path) -> None:
    assert "yes, no, failed, decline" in run(typed="\n").output

    number = ExpertCase(ask="How good?", kind="text", unit="points")
    REGISTRY.add(number)
    ladder = vl.Ladder("numbers", [number], budget={"world": "unlimited"})
    with vl.Campaign.open("numbers", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign:
        campaign.score(["CCO"])
        assert campaign.drain(300)
    done = run("--campaign", "numbers", typed="\n")
    assert "(a number or bound in points, failed, decline;" in done.output
    done = run("--campaign", "numbers", "--answer", "yes")
    assert 2 == done.exit_code
    assert "takes a number in points, not yes or no; text" in done.stderr


def test_answered_cases_are_not_asked_again(run: Run) -> None:
    answered = [json.loads(run("--answer", 1, "--json").stdout)["case"]["key"] for _ in range(2)]

    assert 2 == len(set(answered))
    assert 1 == run().exit_code
    assert {"case": None} == json.loads(run("--json").stdout)


def test_an_answer_is_asked_for_until_it_can_be_read(run: Run) -> None:
    done = run(typed="perhaps\n-4.7\n")

    assert 0 == done.exit_code
    assert "'perhaps' is no answer" in done.stderr
    assert "1 reward revised" in done.stderr


def test_nothing_typed_leaves_the_case_open(run: Run) -> None:
    first = json.loads(run("--json").stdout)["case"]["key"]

    done = run(typed="\n")

    assert "left open" in done.stderr
    assert first == json.loads(run("--json").stdout)["case"]["key"]


def test_a_case_may_be_passed_over_or_chosen(run: Run) -> None:
    second = json.loads(run("--json", "--skip", 1).stdout)["case"]["key"]

    assert second == json.loads(run("--json", "--case", second[:12]).stdout)["case"]["key"]


def test_an_answer_that_makes_no_sense_changes_nothing(run: Run) -> None:
    done = run("--answer", "nan")

    assert 2 == done.exit_code
    assert "is no answer" in done.stderr


def test_an_answer_that_the_verifier_refuses_leaves_the_case_open(run: Run) -> None:
    first = json.loads(run("--json").stdout)["case"]["key"]

    done = run("--answer", "400")

    assert 2 == done.exit_code
    assert "400 is not an energy; the case stays open" in done.stderr
    assert first == json.loads(run("--json").stdout)["case"]["key"]


def test_a_refused_answer_is_asked_for_again(run: Run) -> None:
    done = run(typed="400\n-4.7\n")

    assert 0 == done.exit_code
    assert "400 is not an energy" in done.stderr
    assert "1 reward revised" in done.stderr


def test_looking_at_a_case_runs_nothing(run: Run, folder: Path) -> None:
    with vl.open_ledger(folder / "ledger.db") as ledger:
        before = ledger.newest()
        run("--json")
        assert before == ledger.newest()


def test_a_candidate_can_t_paint_the_terminal(run: Run) -> None:
    shown = run(typed="\n").stdout + run("--skip", 1, typed="\n").stdout

    assert "\x1b" not in shown
    assert "CC" in shown


def test_without_its_verifiers_the_ladder_file_is_asked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(REGISTRY._verifiers, "laboratory")

    done = run("--answer", "1")

    assert 2 == done.exit_code
    assert "--ladder" in done.stderr
