"""verl's own reward loop scores with a file of ours, as its configuration names it."""
# mypy: ignore-errors
# verl is not installed everywhere that types are checked.

import asyncio
import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls
from verl.trainer.ppo.reward import load_reward_manager
from verl.utils.import_utils import load_extern_object
from verl.workers.reward_manager.naive import NaiveRewardManager

import verifier_ladder as vl
from verifier_ladder.errors import VerifierError
from verifier_ladder.learners import verl as adapter
from verifier_ladder.scheduler.late import step_advantages
from verifier_ladder.tiers.simulation.processreward import ProcessReward
from verifier_ladder.tiers.simulation.stepservice import StepService

FILE = """
    import os, threading
    import verifier_ladder as vl
    from verifier_ladder.learners import verl

    def judge(data_source, solution_str, ground_truth, extra_info=None):
        if solution_str == "raise":
            raise ValueError(solution_str)
        if solution_str == "crash":
            os._exit(9)
        if solution_str == "hang":
            threading.Event().wait()
        if solution_str == "nan":
            return float("nan")
        return {"score": float(solution_str == ground_truth), "source": data_source}

    check = verl.wrap(judge, version="1", timeout=0.5)
    options = dict(ledger="LEDGER", deadline=60, campaign="c", run="mine")
    compute_score = verl.compute_score(check, on_abstain=-1.0, **options)
    strict = verl.compute_score(check, **options)
    plain = verl.compute_score(check, on_abstain=-1.0, asynchronous=False, **options)
    Manager = verl.reward_manager(check, on_abstain=-1.0, **options)
"""
KEYS = {
    "score",
    "unknown",
    "pending",
    "reason",
    "gaming_alarms",
    "unanswered_alarms",
    "feedback",
    "process",
    "scores",
    "turns",
}


def yes(completions: list[str]) -> list[float]:
    return [1.0] * len(completions)


class Characters:
    """A tokenizer with one token for each character, 0 is padding."""

    def decode(self, ids: torch.Tensor, *, skip_special_tokens: bool) -> str:
        assert skip_special_tokens
        return "".join(map(chr, ids.tolist()))


def batch(texts: Sequence[str], truth: str = "4", **more: Any) -> DataProto:
    """A batch as the agent loop hands it to the reward loop."""
    width = max(map(len, texts))
    ids = torch.tensor([[*map(ord, t), *[0] * (width - len(t))] for t in texts])
    prompts = torch.ones(len(texts), 2, dtype=torch.long)
    mask = torch.cat([prompts, (ids != 0).long()], dim=1)
    tensors = {"prompts": prompts, "responses": ids, "attention_mask": mask}
    rows = {
        "data_source": ["sums"] * len(texts),
        "reward_model": [{"ground_truth": truth, "style": "rule"}] * len(texts),
        "extra_info": [{"index": 3, "note": np.arange(2)} for _ in texts],
        "uid": [f"u{i // 2}" for i in range(len(texts))],
        **more,
    }
    return DataProto(
        TensorDict(tensors, batch_size=len(texts)),
        {name: np.array(values, dtype=object) for name, values in rows.items()},
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The user's file."""
    path = tmp_path / "reward.py"
    path.write_text(dedent(FILE).replace("LEDGER", str(tmp_path / "ledger.db")))
    return path


Worker = Callable[..., RewardLoopWorker]


@pytest.fixture
def worker(file: Path) -> Iterator[Worker]:
    """Workers of verl's reward loop, without the Ray actor around them."""

    def make(function: str | None = "compute_score", **manager: Any) -> RewardLoopWorker:
        reward = {
            "custom_reward_function": {"path": function and str(file), "name": function},
            "reward_manager": {"source": "register", "name": "naive", **manager},
            "reward_model": {"enable": False},
        }
        made = RewardLoopWorker.__new__(RewardLoopWorker)
        made.config = OmegaConf.create({"reward": reward})
        made.reward_manager = load_reward_manager(
            made.config, Characters(), reward_router_address=None, reward_model_tokenizer=None
        )
        return made

    return make


def importlib(file: Path) -> dict[str, Any]:
    return {"source": "importlib", "name": "Manager", "module": {"path": str(file)}}


def scored(worker: RewardLoopWorker, data: DataProto) -> list[dict[str, Any]]:
    return worker.reward_manager.loop.run_until_complete(worker.compute_score_batch(data))


@pytest.fixture(params=["compute_score", "reward manager"])
def loop(request: pytest.FixtureRequest, worker: Worker, file: Path) -> RewardLoopWorker:
    """A worker that scores in one of the two ways."""
    return worker() if request.param == "compute_score" else worker(None, **importlib(file))


def test_scores_come_in_order(loop: RewardLoopWorker) -> None:
    told = scored(loop, batch(["4", "5", "4", "é4"]))

    assert [1.0, 0.0, 1.0, 0.0] == [one["reward_score"] for one in told]


def test_verifiers_that_misbehave_cost_their_own_samples_only(loop: RewardLoopWorker) -> None:
    told = scored(loop, batch(["4", "raise", "crash", "hang", "nan", "5"]))

    assert [1.0, -1.0, -1.0, -1.0, -1.0, 0.0] == [one["reward_score"] for one in told]
    assert [0, 1, 1, 1, 1, 0] == [one["reward_extra_info"]["unknown"] for one in told]


def test_every_sample_has_the_same_flat_keys(loop: RewardLoopWorker) -> None:
    """verl reads them off the first, and makes an array of each."""
    told = scored(loop, batch(["raise", "4"]))

    for one in told:
        assert set(one["reward_extra_info"]) == KEYS
        assert all(isinstance(v, (float, str)) for v in one["reward_extra_info"].values())


def test_all_unknown_is_a_batch_like_any_other(loop: RewardLoopWorker) -> None:
    told = scored(loop, batch(["raise"] * 4))

    assert [-1.0] * 4 == [one["reward_score"] for one in told]
    scores = loop.reward_manager.assemble_rm_scores(batch(["raise"] * 4), [-1.0] * 4)
    assert [-1.0] * 4 == scores.sum(dim=1).tolist()


def test_without_a_number_for_the_unknown_it_raises(worker: Worker) -> None:
    """verl would take NaN for a reward, and train on it."""
    with pytest.raises(VerifierError, match="on_abstain"):
        scored(worker("strict"), batch(["4", "nan"]))


def test_the_legacy_manager_takes_the_plain_form(file: Path) -> None:
    function = load_extern_object(str(file), "plain")
    manager = NaiveRewardManager(Characters(), num_examine=0, compute_score=function)

    told = manager(batch(["4", "raise", "5"]), return_dict=True)

    assert [1.0, -1.0, 0.0] == told["reward_tensor"].sum(dim=1).tolist()
    assert [0.0, 1.0, 0.0] == told["reward_extra_info"]["unknown"]


def test_workers_of_one_run_do_not_take_each_others_places(worker: Worker) -> None:
    """verl starts several, and each loads the file for itself."""
    for text in ("1", "2", "4"):
        (told,) = scored(worker(), batch([text]))
        assert float(text == "4") == told["reward_score"]


def test_a_registered_manager_is_found_by_its_name() -> None:
    check = vl.wrap(yes, isolation="inline")
    made = adapter.reward_manager(check, register="ladder-for-test")

    assert made is get_reward_manager_cls("ladder-for-test")


def warnings(caplog: pytest.LogCaptureFixture, *words: str) -> list[str]:
    lines = [one.getMessage() for one in caplog.records if one.name == "verifier_ladder"]
    return [line for line in lines if all(word in line for word in words)]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, True), ({"extra_info": [{"split": "test"}] * 2}, False),
        ({"trainer": {"test_freq": 5, "val_before_train": False}}, True),
        ({"trainer": {"test_freq": -1, "val_before_train": False}}, False),
    ],
    ids=["nobody says", "the rows say", "it validates", "it never validates"],
)  # fmt: skip
def test_that_nobody_says_what_validates_is_told_once(
    told: dict[str, Any],
    said: bool,  # noqa: FBT001
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = OmegaConf.create({"trainer": told.pop("trainer", {})})
    made = adapter.reward_manager(vl.wrap(yes, isolation="inline"))
    manager = made(config, Characters(), None)
    for texts in (["1", "2"], ["3", "4"]):
        data = batch(texts, **told)
        for i in range(2):
            manager.loop.run_until_complete(manager.run_single(data[i : i + 1]))

    lines = warnings(caplog, "which samples of yes evaluate", "verl.dataset()")
    assert int(said) == len(lines)


@pytest.mark.parametrize(("workers", "said"), [(8, 1), (1, 0)])
def test_workers_that_share_a_prompt_are_told_of_with_what_joins_it(
    workers: int, said: int, caplog: pytest.LogCaptureFixture
) -> None:
    config = OmegaConf.create(
        {"reward": {"num_workers": workers}, "actor_rollout_ref": {"rollout": {"n": 4}}}
    )
    made = adapter.reward_manager(vl.wrap(yes, isolation="inline"))
    made(config, Characters(), None)

    assert said == len(warnings(caplog, "reward.num_workers=1", "--group-size 4"))


def test_samples_that_come_while_calls_are_at_work_wait_for_them(tmp_path: Path) -> None:
    """However long the calls take, and in however many moments the samples come."""
    count, may_answer = 40, threading.Event()

    def slow(completions: list[str]) -> list[float]:
        may_answer.wait()
        return [1.0] * len(completions)

    ledger = tmp_path / "ledger.db"
    check = vl.wrap(slow, version="1", isolation="inline", batch=True)
    manager = adapter.reward_manager(check, ledger=ledger, deadline=None)(None, Characters(), None)

    async def score(data: DataProto) -> None:
        asked = []
        for i in range(count):
            asked.append(asyncio.create_task(manager.run_single(data[i : i + 1])))
            for _ in range(5):  # It has asked, and whatever that begins has begun.
                await asyncio.sleep(0)
        may_answer.set()
        await asyncio.gather(*asked)

    manager.loop.run_until_complete(score(batch([f"{i:02}" for i in range(count)])))

    with vl.open_ledger(ledger) as opened:
        calls = [opened.read(entry).samples for entry in opened.entries(kind="score")]
    assert count == sum(len(samples.groups) for samples in calls)
    assert len(calls) <= 5  # Four at work, and one for all that came meanwhile.


def test_a_batch_is_one_call_and_groups_are_verls(tmp_path: Path) -> None:
    check = vl.wrap(yes, isolation="inline")
    ledger = tmp_path / "ledger.db"
    manager = adapter.reward_manager(check, ledger=ledger)(None, Characters(), None)

    async def score(data: DataProto) -> None:
        await asyncio.gather(*(manager.run_single(data[i : i + 1]) for i in range(len(data))))

    manager.loop.run_until_complete(score(batch(["1", "2", "3", "4"])))

    with vl.open_ledger(ledger) as opened:
        (samples,) = (opened.read(entry).samples for entry in opened.entries(kind="score"))
    assert ["u0", "u0", "u1", "u1"] == list(samples.groups)


def test_parts_that_were_not_asked_are_nan() -> None:
    @vl.verifier(name="short", version="1", role="gate", isolation="inline")
    def short(candidate: vl.Candidate) -> bool:
        return len(candidate.content) < 4

    @vl.verifier(name="length", version="1", isolation="inline")
    def length(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    score = adapter.compute_score(vl.Ladder("brief", [short, length]), asynchronous=False)
    kept, refused = (score("s", text, "4", {}) for text in ("abc", "abcdef"))

    assert (3.0, 1.0, 3.0) == (kept["score"], kept["short"], kept["length"])
    assert 0.0 == refused["score"]
    assert math.isnan(refused["length"])
    assert set(kept) == set(refused) == {*KEYS, "short", "length"}


@pytest.mark.parametrize(("size", "expected"), [(2, [-1.0, 1.0]), (3, [None, None]), (None, None)])
def test_samples_that_come_at_different_times_are_compared_as_the_configuration_says(
    worker: Worker, file: Path, size: int | None, expected: list[float | None] | None
) -> None:
    made = worker(None, **importlib(file))
    config = made.config.copy()
    if size is not None:
        config.actor_rollout_ref = {"rollout": {"n": size, "val_kwargs": {"n": 1}}}
    manager = type(made.reward_manager)(config, Characters(), None)
    for text in ("5", "4"):
        manager.loop.run_until_complete(manager.run_single(batch([text])))

    with vl.open_ledger(file.parent / "ledger.db") as opened:
        steps = range(opened.next_step("c", "mine"))
        rows = [step_advantages(opened, "c", "mine", step) for step in steps]
    told = [[row.advantage for row in step] for step in rows]
    assert ([expected] if size else [[None], [None]]) == told


class Lengths(StepService):
    """A step model: a step of n characters has 1/n."""

    name, version = "lengths", "1"

    def score_steps(self, prompts: Any, outputs: Any) -> list[list[float]]:
        assert len(prompts) == len(outputs)
        return [[1 / len(step) for step in steps] for steps in outputs]


def test_a_reward_manager_tells_the_tokens_of_each_step() -> None:
    """Its own tokenizer is real, and so are the tokens: of bytes, with the end of the response."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({"<pad>": 0, **{one: n + 1 for n, one in enumerate(letters)}}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>")  # noqa: S106
    text = "größer\nab"
    ids = torch.tensor([[*tokenizer(text)["input_ids"], 0, 0]])
    prompts = torch.ones(1, 2, dtype=torch.long)
    mask = torch.cat([prompts, (ids != 0).long()], dim=1)
    rows = {
        "raw_prompt": [[{"role": "user", "content": "Say it."}]], "data_source": ["words"],
        "reward_model": [{"ground_truth": ""}], "extra_info": [{"index": 1}], "uid": ["u"],
    }  # fmt: skip
    data = DataProto(
        TensorDict({"prompts": prompts, "responses": ids, "attention_mask": mask}, batch_size=1),
        {name: np.array([*values, None], dtype=object)[:1] for name, values in rows.items()},
    )
    steps = ProcessReward(service=Lengths(), combine="last")
    manager = adapter.reward_manager(steps, on_abstain=0.0)(OmegaConf.create({}), tokenizer, None)
    told = manager.loop.run_until_complete(manager.run_single(data))

    assert 0.5 == told["reward_score"]
    turns = json.loads(told["reward_extra_info"]["turns"])
    assert [[0, 8], [9, 11]] == [turn["tokens"] for turn in turns]
    assert ["größer", "ab"] == [tokenizer.decode(ids[0, slice(*turn["tokens"])]) for turn in turns]
