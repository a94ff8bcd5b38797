"""What a training is made of beside its steps: evaluation, resuming, several processes, chats,
images, tools and several functions, with the real trainers."""
# mypy: ignore-errors
# TRL is not installed everywhere that types are checked.

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from PIL import Image
from trl import GRPOTrainer
from trl.data_utils import prepare_multimodal_messages

import verifier_ladder as vl
from verifier_ladder.curriculum import curriculum
from verifier_ladder.datasets import Selection, training_set
from verifier_ladder.learners.trl import reward_function
from verifier_ladder.runs import read_run

Train = Callable[..., Any]
CHAT = (
    "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}w8 {% endif %}"
)
SURE = Selection(pass_at=0.0, sure=0.0)


def accuracy(completions: list[Any], answer: list[str], **_: Any) -> list[float]:
    """Share of words that are the answer."""
    texts = [c if isinstance(c, str) else c[0]["content"] for c in completions]
    return [c.split().count(a) / 4 for c, a in zip(texts, answer, strict=True)]


def checked() -> vl.Verifier:
    """Judges in the trainer's process: nothing here is about how it is killed."""
    return vl.wrap(accuracy, version="1", columns=["answer"], isolation="inline")


def contents(ledger: vl.Ledger, **options: Any) -> set[str]:
    record = read_run(ledger, **options)
    return {record.contents[sample.content] for sample in record.samples}


# ---- Evaluation


def test_evaluation_is_in_no_export_group_or_curriculum_of_the_training(
    train: Train, data: Dataset, tmp_path: Path
) -> None:
    """On the very prompts of the training, which both meet at the same global steps."""
    function = reward_function(checked(), ledger=tmp_path / "l.db", run="r", deadline=60)
    trainer = train(
        function, steps=4, eval_dataset=data, eval_strategy="steps", eval_steps=2,
        per_device_eval_batch_size=8, num_generations_eval=4,
    )  # fmt: skip
    trainer.evaluate()
    trained, evaluated = [], []
    for seen, mode in zip(trainer.seen, trainer.modes, strict=True):
        (trained if mode == "train" else evaluated).append(seen)

    with vl.open_ledger(tmp_path / "l.db") as ledger:
        record, beside = read_run(ledger, "r"), read_run(ledger, "r", evaluation=True)
        assert (8 * len(trained), 8 * len(evaluated)) == (len(record.samples), len(beside.samples))
        assert len(evaluated) >= 3 * 4
        for found, batches in ((record, trained), (beside, evaluated)):
            said = {text for seen in batches for text in seen.completions}
            assert said == {found.contents[sample.content] for sample in found.samples}
        assert 8 * len(trained) == curriculum(ledger, "r", pass_at=0.2).passes.samples
        made = training_set(ledger, "sft", run="r", selection=SURE)
        rows = made.splits["train"]
        assert {"r"} == {row["source"]["run"] for row in rows}
        assert 8 * len(trained) == made.samples
    for step in range(4):
        advantages = function.campaign.advantages("r", step)
        assert 8 == len(advantages)


# ---- Resuming


def test_a_training_resumed_from_a_checkpoint_goes_on_in_its_run(
    train: Train, tmp_path: Path
) -> None:
    for steps, resume in ((2, False), (4, True)):
        function = reward_function(checked(), ledger=tmp_path / "l.db", run="r", deadline=60)
        trainer = train(
            function, steps=steps, save_strategy="steps", save_steps=1, resume=resume
        )  # fmt: skip
        assert steps == trainer.state.global_step
        function.close()

    with vl.open_ledger(tmp_path / "l.db") as ledger:
        samples = read_run(ledger, "r").samples
    assert [0, 1, 2, 3] == sorted({sample.step for sample in samples})
    assert 32 == len({(sample.step, sample.position) for sample in samples}) == len(samples)


# ---- Two processes


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import conftest
from conftest import *
from test_lives import checked
from verifier_ladder.learners.trl import reward_function

if __name__ == "__main__":
    words = conftest.make_words()
    function = reward_function(checked(), ledger="l.db", run="r", deadline=60)
    config = GRPOConfig(
        output_dir="out", use_cpu=True, bf16=False, report_to="none", seed=7, max_steps=2,
        per_device_train_batch_size=4, num_generations=4, max_completion_length=4,
        save_strategy="no", disable_tqdm=True, beta=0.0, ddp_backend="gloo",
        eval_strategy="steps", eval_steps=1, per_device_eval_batch_size=4, num_generations_eval=4,
    )
    data = conftest.make_data()
    trainer = GRPOTrainer(
        model=conftest.make_model(), args=config, train_dataset=data,
        eval_dataset=data.select(range(2)), reward_funcs=[function], processing_class=words,
    )
    trainer.train()
    function.close()
"""


def test_two_processes_are_one_run_with_groups_that_do_not_mix(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parent)))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--nproc-per-node", "2",
         "--master-port", "0", "--standalone", script],
        cwd=tmp_path, check=False, capture_output=True, text=True, timeout=500,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr[-3000:]

    with vl.open_ledger(tmp_path / "l.db") as ledger:
        trained, beside = read_run(ledger, "r"), read_run(ledger, "r", evaluation=True)
    assert 16 == len({(s.step, s.position) for s in trained.samples}) == len(trained.samples)
    assert 2 * 2 * 4 == len(beside.samples)
    groups: dict[tuple[int, str], int] = {}
    for sample in trained.samples:
        place = (sample.step, sample.group)
        groups[place] = groups.get(place, 0) + 1
    assert {4} == set(groups.values())


# ---- Chats, tools, images


def test_chats_are_scored_by_what_the_assistant_said(train: Train, tmp_path: Path) -> None:
    chats = Dataset.from_list([
        {"prompt": [{"role": "user", "content": f"w{i} w{i + 1}"}], "answer": f"w{i}"}
        for i in range(8)
    ])  # fmt: skip
    function = reward_function(checked(), ledger=tmp_path / "l.db", run="r", deadline=60)
    trainer = train(function, steps=2, train_dataset=chats, chat_template=CHAT)

    for seen in trainer.seen:
        wanted = accuracy(seen.completions, [row["answer"] for row in seen.rows])
        assert wanted == seen.rewards[:, 0].tolist()
    with vl.open_ledger(tmp_path / "l.db") as ledger:
        record = read_run(ledger, "r")
    prompts = [record.transcripts.prompt(sample.group) for sample in record.samples]
    assert all(prompt[0]["content"].startswith("w") for prompt in prompts)
    assert 4 == len({(sample.step, sample.group) for sample in record.samples})


def test_images_are_told_apart_as_the_trainer_hands_them_over() -> None:
    """No model that sees images is small enough to be made here: the calls are the trainer's, with
    prompts that TRL itself has made."""
    trainer = object.__new__(GRPOTrainer)
    trainer.model = torch.nn.Linear(1, 1)
    trainer._pending_extra_logs = defaultdict(list)
    trainer._pending_metrics = defaultdict(list)
    text = [{"role": "user", "content": "Which colour?"}]
    colours = ["red"] * 4 + ["blue"] * 4
    images = [Image.new("RGB", (4, 4), colour) for colour in colours]
    function = reward_function(checked(), deadline=60)
    for training in (True, False):
        trainer.model.train(training)
        function(
            prompts=[prepare_multimodal_messages(text, images=[one]) for one in images],
            completions=[[{"role": "assistant", "content": f"w{n}"}] for n in range(8)],
            completion_ids=[[1]] * 8, answer=["w1"] * 8, image=images,
            trainer_state=type("State", (), {"global_step": 0}), environments=None,
            log_metric=trainer._log_metric, log_extra=trainer._log_completion_extra,
        )  # fmt: skip
    record = read_run(function.campaign.ledger)
    groups = [sample.group for sample in record.samples]
    assert [4, 4] == [groups.count(group) for group in dict.fromkeys(groups)]
    assert "0x" not in str(record.transcripts.prompt(groups[0]))
    function.close()


def test_tools_are_turns_of_the_completion() -> None:
    """An untrained model calls no tools: the completion is one that TRL's tool loop makes."""

    class Turns(vl.Verifier):
        name, version, reads_turns, isolation = "turns", "1", True, "inline"

        def verify(self, candidates: Any) -> list[float]:
            return [float(len(c.turns)) if c.turns[0].observation == "4" else 0.0
                    for c in candidates]  # fmt: skip

    call = {"type": "function", "function": {"name": "add", "arguments": {"a": 2, "b": 2}}}
    said = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "name": "add", "content": "4"},
        {"role": "assistant", "content": "It is 4."},
    ]
    function = reward_function(Turns(), deadline=60)
    prompt = [{"role": "user", "content": "2 + 2?"}]
    rewards = function(
        prompts=[prompt] * 2, completions=[said, said], completion_ids=[[1]] * 2,
        trainer_state=type("State", (), {"global_step": 0}), environments=[object(), object()],
    )  # fmt: skip

    assert [2.0, 2.0] == rewards
    record = read_run(function.campaign.ledger)
    kept = record.transcripts.sample(0, record.samples[0].position)["completion"]
    assert "4" == kept[1]["content"]
    function.close()


# ---- Several functions


def test_weighted_functions_each_keep_their_own_rewards(train: Train, tmp_path: Path) -> None:
    def short(completions: list[str], **_: Any) -> list[float]:
        return [1.0 / (1 + len(c.split())) for c in completions]

    first = reward_function(checked(), ledger=tmp_path / "l.db", run="r", deadline=60)
    second = reward_function(
        vl.wrap(short, version="1", isolation="inline"), ledger=tmp_path / "l.db", run="r",
        deadline=60,
    )  # fmt: skip
    trainer = train(first, second, steps=2, reward_weights=[1.0, 0.25])

    for seen in trainer.seen:
        answers = [row["answer"] for row in seen.rows]
        wanted = zip(accuracy(seen.completions, answers), short(seen.completions), strict=True)
        assert torch.allclose(seen.rewards, torch.tensor(list(wanted)))
    with vl.open_ledger(tmp_path / "l.db") as ledger:
        for name in ("accuracy-v1", "short-v1"):
            assert 16 == len(read_run(ledger, "r", campaign=name).samples)
