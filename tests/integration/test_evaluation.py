"""Evaluation is kept apart: nothing is trained on it, and no training is compared with it."""

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.curriculum import curriculum
from verifier_ladder.datasets import Selection, training_set
from verifier_ladder.learners import areal, openrlhf, slime, trl, verifiers, verl
from verifier_ladder.reportcard import report_card
from verifier_ladder.runs import read_run


def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content)) / 10


class Oracle(vl.Verifier):
    """A world verifier that always waits."""

    name, version, tier, kind, waits = "oracle", "1", "world", "text", True

    def verify(self, candidates: Any) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


def short() -> vl.Ladder:
    return vl.Ladder("short", [vl.verifier(isolation="inline")(length)])


def late() -> vl.Ladder:
    return vl.Ladder(
        "late", [vl.verifier(isolation="inline")(length), Oracle()], budget={"world": "unlimited"}
    )


def sampled(texts: Sequence[str], **fields: Any) -> list[vl.Sample]:
    """Samples of one prompt and one global step, as training and evaluation both have them."""
    made = [vl.Candidate("text", text) for text in texts]
    return [
        vl.Sample(one, step=3, position=n, group="prompt", **fields) for n, one in enumerate(made)
    ]


def said(rows: Sequence[dict[str, Any]]) -> set[str]:
    return {str(v) for row in rows for k, v in row.items() if k in _SAID}


_SAID = ("completion", "chosen", "rejected")
SURE = Selection(sure=0.0, pass_at=0.0)
KINDS = ("sft", "preferences", "distillation")


def exported(ledger: vl.Ledger, **options: Any) -> set[str]:
    """Completions of all kinds of training sets of a run."""
    sets = [training_set(ledger, kind, selection=SURE, **options) for kind in KINDS]
    return set().union(*(said(rows) for made in sets for rows in made.splits.values()))


@pytest.mark.parametrize("place", [None, "ledger.db"], ids=["memory", "sqlite"])
@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
def test_evaluation_bends_no_advantage_of_training(
    place: str | None,
    is_first: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    """The same prompt at the same global step, and both hear late from the world."""
    ledger = place and tmp_path / place
    with vl.Campaign.open("c", ladder=late(), ledger=ledger, run="r", workers=1) as campaign:
        for evaluation in (is_first, not is_first):
            texts = ["eeeeeeee", "e"] if evaluation else ["t", "ttt"]
            campaign.score(sampled(texts, evaluation=evaluation), deadline=0)
        assert campaign.drain("300 s")
        used = campaign.cursor
        for case in campaign.cases():
            value = 9.0 if case.candidate.content == "ttt" else 50.0
            campaign.answer(case.check_key, value, source="a laboratory")
        trained = campaign.advantages("r", 3, since=used)
        told = list(campaign.revisions(after=used))
        beside = list(campaign.revisions(after=used, evaluation=True))
        both = list(campaign.revisions(after=used, evaluation=None))

    with vl.Campaign.open("c", ladder=late(), run="r", workers=1) as alone:
        alone.score(sampled(["t", "ttt"]), deadline=0)
        assert alone.drain("300 s")
        used = alone.cursor
        for case in alone.cases():
            value = 9.0 if case.candidate.content == "ttt" else 50.0
            alone.answer(case.check_key, value, source="a laboratory")
        wanted = alone.advantages("r", 3, since=used)

    assert [(w.advantage, w.change) for w in wanted] == [(t.advantage, t.change) for t in trained]
    assert {("r", False)} == {(r.run, r.evaluation) for r in told}
    assert {("r/eval", True)} == {(r.run, r.evaluation) for r in beside}
    assert len(both) == len(told) + len(beside)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.sampled_from("ab")), max_size=12))
def test_no_step_or_group_ever_holds_both(calls: list[tuple[bool, int, str]]) -> None:
    """However training and evaluation take turns, and whoever numbers the steps."""
    with vl.Campaign.open("c", ladder=short(), run="r") as campaign:
        for number, (evaluation, step, group) in enumerate(calls):
            campaign.score(
                [f"{evaluation} {number} {n}" for n in range(2)], groups=[group] * 2,
                step=step + 10 * number if step else None, evaluation=evaluation,
            )  # fmt: skip
        found: dict[tuple[str, int], set[str]] = {}
        for entry in campaign.ledger.entries(kind="score"):
            block = campaign.ledger.read(entry)
            assert block.samples is not None
            kinds = found.setdefault((block.samples.run, block.samples.step), set())
            kinds |= {str(row.content).split()[0] for row in block.candidates}
        runs = {row["name"]: row["evaluation"] for row in campaign.ledger.runs("c")}

    assert all(len(kinds) == 1 for kinds in found.values())
    assert all(("True" in kinds) == runs[run] for (run, _), kinds in found.items())


def test_exports_curriculum_and_report_card_hold_training_only(tmp_path: Path) -> None:
    with vl.Campaign.open("c", ladder=short(), ledger=tmp_path / "l.db", run="r") as campaign:
        for evaluation in (False, True):
            prompt = vl.Transcript(group="prompt", prompt="Say it.", evaluation=evaluation)
            campaign.keep([prompt])
            campaign.score(
                sampled(["eeeee", "e"] if evaluation else ["tttt", "t"], evaluation=evaluation)
            )
        ledger = campaign.ledger

        assert {"tttt", "t"} == exported(ledger) == exported(ledger, run="r")
        assert {"eeeee", "e"} == exported(ledger, run="r", evaluation=True)
        assert 2 == curriculum(ledger, pass_at=0.3).passes.samples
        assert "r/eval" == curriculum(ledger, pass_at=0.3, evaluation=True).run
        assert ("r", 2) == ((card := report_card(ledger)).run, card.samples)
        assert "r/eval" == report_card(ledger, "r", evaluation=True).run
        assert 2 == len(read_run(ledger, "r").samples)
        for make in (training_set, lambda ledger, _, run: curriculum(ledger, run)):
            with pytest.raises(vl.ConfigError, match="is an evaluation"):
                make(ledger, "sft", run="r/eval")


def test_a_run_of_evaluation_alone_is_asked_for_by_that(tmp_path: Path) -> None:
    run = vl.Run("held-out", evaluation=True)
    with vl.Campaign.open("c", ladder=short(), ledger=tmp_path / "l.db", run=run) as campaign:
        campaign.keep([vl.Transcript(group="prompt", prompt="Say it.")])
        campaign.score(sampled(["eeeee", "e"]))

        with pytest.raises(vl.ConfigError, match="evaluation=True"):
            exported(campaign.ledger)
        assert {"eeeee", "e"} == exported(campaign.ledger, evaluation=True)


def test_samples_wait_and_are_withdrawn_with_the_run_that_they_evaluate() -> None:
    with vl.Campaign.open("c", ladder=late(), run="r", workers=1) as campaign:
        for evaluation in (False, True):
            campaign.score(sampled(["a", "bb"], evaluation=evaluation), deadline=0)
        assert campaign.drain("300 s")
        of_step = campaign.cancel(step=3)
        rest = campaign.cancel()

    assert (2, 2) == (of_step.samples, rest.samples)


def test_a_file_is_scored_as_an_evaluation(tmp_path: Path, run: Callable[..., Any]) -> None:
    rows = [{"completion": text, "prompt": "Say it."} for text in ("eeeee", "e")]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "check.py").write_text(CHECK)
    ladder = tmp_path / "ladder.toml"
    ladder.write_text(LADDER)
    options = ["--ladder", ladder, "--import", tmp_path / "check.py", "--ledger", tmp_path / "l"]
    for more in ([], ["--evaluation"]):
        done = run("score", file, *options, "--prompt", "prompt", "--json", *more)
        assert 0 == done.exit_code, done.stderr

    listed = json.loads(run("run", "ls", "--ledger", tmp_path / "l", "--json").stdout)
    kinds = {row["name"].endswith("/eval"): row["evaluation"] for row in listed}
    assert {True: True, False: False} == kinds
    for more in ([], ["--evaluation"]):
        done = run(
            "run", "export", "--ledger", tmp_path / "l", "--as", "sft", "--pass-at", "0.3",
            "--out", tmp_path / "out", "--form", "jsonl", "--json", *more,
        )  # fmt: skip
        told = json.loads(done.stdout)
        assert bool(more) is told["run"].endswith("/eval") is told["evaluation"]
        tasks = run("run", "curriculum", "--ledger", tmp_path / "l", "--json", *more)
        assert bool(more) is json.loads(tasks.stdout)["run"].endswith("/eval")
        card = run("run", "report", "--ledger", tmp_path / "l", "--json", *more)
        assert bool(more) is json.loads(card.stdout)["run"].endswith("/eval")


CHECK = """
import verifier_ladder as vl

@vl.verifier(name="file-length", version="1", isolation="inline")
def file_length(candidate):
    return len(candidate.content) / 10
"""
LADDER = """
name = "file-length"
verifiers = ["file-length"]
"""


# ---- Adapters


class Model:
    """A policy as TRL sees one."""

    training = True


class Trainer:
    """Calls a reward function as `GRPOTrainer` does, whose method `log_metric` is."""

    def __init__(self, *, has_metrics: bool = True) -> None:
        self.model, self.state = Model(), SimpleNamespace(global_step=3)
        self.metrics = {"log_metric": self.log} if has_metrics else {}

    def log(self, name: str, value: float) -> None:
        """Take a metric."""

    def ask(self, function: Any, texts: list[str], prompt: Any = "Say it.") -> Any:
        answers = function(
            prompts=[prompt] * len(texts), completions=texts, trainer_state=self.state,
            completion_ids=[[1]] * len(texts), **self.metrics,
        )  # fmt: skip
        return asyncio.run(answers) if asyncio.iscoroutine(answers) else answers


Ask = Callable[[list[str], bool], object]


def with_trl(ledger: Path, **options: Any) -> Ask:
    function = trl.reward_function(short(), ledger=ledger, run="r", **options)
    trainer = Trainer()

    def ask(texts: list[str], evaluation: bool) -> object:  # noqa: FBT001
        trainer.model.training = not evaluation
        return trainer.ask(function, texts)

    return ask


def with_trl_async(ledger: Path) -> Ask:
    return with_trl(ledger, asynchronous=True)


def with_verl(ledger: Path) -> Ask:
    score = verl.compute_score(short(), ledger=ledger, run="r", asynchronous=False)

    def ask(texts: list[str], evaluation: bool) -> object:  # noqa: FBT001
        extra = {"split": "test" if evaluation else "train", "index": 0}
        return [score("maths", text, "", extra) for text in texts]

    return ask


def with_slime(ledger: Path) -> Ask:
    rm = slime.custom_rm(short(), ledger=ledger, run="r", on_abstain=0.0)

    def ask(texts: list[str], evaluation: bool) -> object:  # noqa: FBT001
        metadata = {"split": "validation"} if evaluation else {}
        made = [
            SimpleNamespace(prompt="Say it.", response=t, label=None, metadata=metadata)
            for t in texts
        ]
        return asyncio.run(rm(None, made))

    return ask


def with_areal(ledger: Path) -> Ask:
    reward = areal.reward_fn(short(), ledger=ledger, run="r")

    def ask(texts: list[str], evaluation: bool) -> object:  # noqa: FBT001
        return [reward("Say it.", t, [], [], evaluation=evaluation) for t in texts]

    return ask


def with_rubric(ledger: Path) -> Ask:
    function = verifiers.rubric_function(short(), ledger=ledger, run="r", on_abstain=0.0)

    def ask(texts: list[str], evaluation: bool) -> object:  # noqa: FBT001
        info = {"split": "eval" if evaluation else "train"}
        return [asyncio.run(function("Say it.", t, info=info)) for t in texts]

    return ask


def with_openrlhf(ledger: Path) -> Ask:
    """Nothing tells it but the option."""
    made = {
        evaluation: openrlhf.reward_func(
            short(), ledger=ledger, run="r", on_abstain=0.0, evaluation=evaluation
        )
        for evaluation in (True, False)
    }

    def ask(texts: list[str], evaluation: bool) -> object:  # noqa: FBT001
        prompts = ["Say it."] * len(texts)
        return made[evaluation]([f"Say it.{t}" for t in texts], prompts, [None] * len(texts))

    return ask


@pytest.mark.parametrize(
    "adapter",
    [with_trl, with_trl_async, with_verl, with_slime, with_areal, with_rubric, with_openrlhf],
)
def test_every_adapter_tells_evaluation_from_training(
    adapter: Callable[[Path], Ask], tmp_path: Path
) -> None:
    if adapter is with_openrlhf:
        pytest.importorskip("torch")
    ask = adapter(tmp_path / "l.db")
    ask(["tttt", "t"], False)  # noqa: FBT003
    ask(["eeeee", "e"], True)  # noqa: FBT003
    ask(["ttttt", "tt"], False)  # noqa: FBT003

    with vl.open_ledger(tmp_path / "l.db") as ledger:
        record, beside = read_run(ledger, "r"), read_run(ledger, "r", evaluation=True)

    def texts(found: Any) -> set[object]:
        return {found.contents[sample.content] for sample in found.samples}

    assert {"tttt", "t", "ttttt", "tt"} == texts(record)
    assert {"eeeee", "e"} == texts(beside)
    kept = [found.transcripts.prompt(s.group) for found in (record, beside) for s in found.samples]
    assert {"Say it."} >= set(filter(None, kept))


def test_prompts_of_an_evaluation_are_kept_with_it(tmp_path: Path) -> None:
    """Also where training has kept the same prompt before."""
    ask = with_trl(tmp_path / "l.db")
    ask(["tttt", "t"], False)  # noqa: FBT003
    ask(["eeeee", "e"], True)  # noqa: FBT003

    with vl.open_ledger(tmp_path / "l.db") as ledger:
        assert {"eeeee", "e"} == exported(ledger, run="r", evaluation=True)


@pytest.mark.parametrize("option", [True, False])
def test_the_option_says_more_than_the_trainer(
    option: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    ask = with_trl(tmp_path / "l.db", evaluation=option)
    for evaluation in (True, False):
        ask(["a", "b"], evaluation)

    with vl.open_ledger(tmp_path / "l.db") as ledger:
        assert 4 == len(read_run(ledger, "r", evaluation=option).samples)


def test_a_trainer_that_shows_nothing_is_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    function = trl.reward_function(short(), ledger=tmp_path / "l.db", run="r")
    trainer = Trainer(has_metrics=False)
    trainer.ask(function, ["a"])
    trainer.ask(function, ["b"])

    told = [one for one in caplog.records if "nobody says which samples" in one.message]
    assert 1 == len(told)


@pytest.fixture
def run() -> Callable[..., Any]:
    from typer.testing import CliRunner

    from verifier_ladder.cli.app import app

    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, list(map(str, arguments)))


def test_threads_that_train_and_evaluate_at_once_stay_apart(tmp_path: Path) -> None:
    score = verl.compute_score(
        short(), ledger=tmp_path / "l.db", run="r", asynchronous=False, deadline=300
    )

    def ask(number: int) -> None:
        score("maths", f"{number}", "", {"split": "test" if number % 2 else "train", "index": 0})

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with vl.open_ledger(tmp_path / "l.db") as ledger:
        for kind in (False, True):
            record = read_run(ledger, "r", evaluation=kind)
            numbers = {int(str(record.contents[s.content])) for s in record.samples}
            assert numbers == {n for n in range(24) if n % 2 == kind}
