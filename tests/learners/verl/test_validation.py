"""Which samples validate: from verl's datasets through its agent loop into the ledger."""
# mypy: ignore-errors
# verl is not installed everywhere that types are checked.

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import verl
from omegaconf import DictConfig, OmegaConf
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import DataLoader
from transformers import LlamaConfig, PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.trainer.ppo.ray_trainer import RayPPOTrainer
from verl.trainer.ppo.utils import create_rl_dataset
from verl.trainer.ppo.v1 import agent_loop_tq
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn
from verl.workers.rollout.replica import TokenOutput

import verifier_ladder as vl
from verifier_ladder.curriculum import curriculum
from verifier_ladder.datasets import Selection, training_set
from verifier_ladder.runs import read_run
from verifier_ladder.scheduler.late import step_advantages

WORDS = ["<pad>", "<eos>", "<unk>", "4", "5", "6", "sum", "user", "assistant"]
FILE = """
    import verifier_ladder as vl
    from verifier_ladder.learners import verl

    def judge(data_source, solution_str, ground_truth, extra_info=None):
        return float(solution_str == ground_truth)

    options = dict(on_abstain=-1.0, ledger="LEDGER", deadline=60, campaign="c", run="mine")
    check = verl.wrap(judge, version="1", isolation="inline")
    compute_score = verl.compute_score(check, **options)
    Manager = verl.reward_manager(check, **options)
    Dataset = verl.dataset()
"""
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}assistant {% endif %}"
)
MANAGERS = {
    "compute_score": {"custom_reward_function": {"path": "reward.py", "name": "compute_score"}},
    "reward manager": {
        "reward_manager": {
            "source": "importlib", "name": "Manager", "module": {"path": "reward.py"}
        }
    },
}  # fmt: skip
Roll = Callable[[DictConfig], None]


class Server:
    """Answers "4" to whoever asks."""

    async def generate(self, **_: Any) -> TokenOutput:
        return TokenOutput(token_ids=[WORDS.index("4"), WORDS.index("<eos>")])


class Handle:
    """What a Ray actor of a reward worker looks like from outside."""

    def __init__(self, worker: RewardLoopWorker) -> None:
        self.compute_score = SimpleNamespace(remote=worker.compute_score)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a tokenizer, a file of rewards, and two files of rows that say nothing."""
    monkeypatch.chdir(tmp_path)
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))  # noqa: S106
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"  # noqa: S106
    )  # fmt: skip
    made.chat_template = TEMPLATE
    made.save_pretrained(tmp_path / "model")
    LlamaConfig(
        vocab_size=len(WORDS), hidden_size=32, architectures=["LlamaForCausalLM"]
    ).save_pretrained(tmp_path / "model")
    (tmp_path / "reward.py").write_text(dedent(FILE).replace("LEDGER", str(tmp_path / "l.db")))
    for name, count in (("train", 3), ("test", 2)):
        rows = [
            {"prompt": [{"role": "user", "content": f"sum {4 + i}"}], "data_source": "sums",
             "reward_model": {"ground_truth": "4"}, "extra_info": {"index": i}}
            for i in range(count)
        ]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def configured(reward: dict[str, Any], **data: Any) -> DictConfig:
    """verl's own configuration, for two samples of each prompt."""
    folder = Path(verl.__file__).parent / "trainer/config"
    return OmegaConf.merge(
        OmegaConf.load(folder / "_generated_ppo_trainer.yaml"),
        {
            "data": {
                "train_files": "train.jsonl", "val_files": "test.jsonl",
                "filter_overlong_prompts": False, "cache_dir": "cache",
                "custom_cls": {"path": "reward.py", "name": "Dataset"}, **data,
            },
            "actor_rollout_ref": {
                "model": {"path": "model", "tokenizer_path": "model"},
                "rollout": {
                    "n": 2, "val_kwargs": {"n": 2}, "name": "vllm",
                    "prompt_length": 8, "response_length": 4,
                },
            },
            "reward": {"num_workers": 1, **reward},
        },
    )  # fmt: skip


def rows_of(config: DictConfig, worker: AgentLoopWorker, *, validates: bool) -> dict[str, Any]:
    """All rows of a file, as verl's trainers read them."""
    files = config.data.val_files if validates else config.data.train_files
    data = create_rl_dataset(files, config.data, worker.tokenizer, None, is_train=not validates)
    rows = next(iter(DataLoader(data, batch_size=len(data), collate_fn=collate_fn)))
    return rows | {"uid": np.array([f"u{i}" for i in range(len(data))], dtype=object)}


async def rolled_out(config: DictConfig, *, validates: bool) -> None:
    """One pass over a file with the agent loop of verl's first trainer."""
    worker = AgentLoopWorker(config, Server(), None, [Handle(RewardLoopWorker(config))])
    batch = DataProto.from_single_dict(rows_of(config, worker, validates=validates))
    asked = RayPPOTrainer._get_gen_batch(None, batch).repeat(2, interleave=True)
    asked.meta_info = {"validate": validates, "global_steps": 1}
    told = await worker.generate_sequences(asked)
    assert {1.0} == set(told.batch["rm_scores"].sum(dim=1).tolist())


async def rolled_out_later(config: DictConfig, *, validates: bool) -> None:
    """The same with the agent loop of its second, without the queue that takes what it made."""
    worker = agent_loop_tq.AgentLoopWorkerTQ.__ray_actor_class__(
        config, Server(), None, [Handle(RewardLoopWorker(config))]
    )
    asked = tu.get_tensordict(rows_of(config, worker, validates=validates))
    tu.assign_non_tensor_data(asked, "global_steps", 1)
    if validates:
        tu.assign_non_tensor_data(asked, "validate", True)  # noqa: FBT003
    await worker.generate_sequences(asked)
    await asyncio.gather(*worker.background_tasks)


async def _nothing(**_: Any) -> None:
    """Keep nothing."""


QUEUE = SimpleNamespace(init=lambda: None, async_kv_put=_nothing, async_kv_batch_put=_nothing)


@pytest.fixture(params=[rolled_out, rolled_out_later], ids=["first trainer", "second trainer"])
def roll(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Roll:
    """Train, then validate; each with two samples of each prompt."""
    monkeypatch.setattr(agent_loop_tq, "tq", QUEUE)

    def run(config: DictConfig) -> None:
        for validates in (False, True):
            asyncio.get_event_loop().run_until_complete(request.param(config, validates=validates))

    return run


@pytest.mark.parametrize("reward", MANAGERS.values(), ids=MANAGERS)
def test_validation_is_in_no_curriculum_of_the_training(
    home: Path, roll: Roll, reward: dict[str, Any]
) -> None:
    """On the very prompts of the training, whose rows do not say what they are for."""
    roll(configured(reward))

    with vl.open_ledger(home / "l.db") as ledger:
        trained = read_run(ledger, "mine", campaign="c")
        beside = read_run(ledger, "mine", campaign="c", evaluation=True)
        assert [6, 4] == [len(record.samples) for record in (trained, beside)]
        assert 6 == curriculum(ledger, "mine", pass_at=0.5).passes.samples


def test_validation_is_in_no_export_or_group_of_the_training(home: Path, roll: Roll) -> None:
    """As a reward manager tells them, who knows of prompts and groups."""
    roll(configured(MANAGERS["reward manager"]))

    with vl.open_ledger(home / "l.db") as ledger:
        for run, count in (("mine", 6), ("mine/eval", 4)):
            told = [
                row.advantage
                for step in range(ledger.next_step("c", run))
                for row in step_advantages(ledger, "c", run, step)
            ]
            assert [0.0] * count == told
        sure = Selection(pass_at=0.0, sure=0.0)
        assert 6 == training_set(ledger, "sft", run="mine", selection=sure).samples


def test_files_that_train_and_validate_say_nothing(
    home: Path, roll: Roll, caplog: pytest.LogCaptureFixture
) -> None:
    roll(configured(MANAGERS["compute_score"], val_files="train.jsonl"))

    lines = [one.getMessage() for one in caplog.records if one.name == "verifier_ladder"]
    assert 2 == len([line for line in lines if "data.val_files" in line])
    assert 2 == len([line for line in lines if "verl.dataset()" in line])
    with vl.open_ledger(home / "l.db") as ledger:
        assert 12 == len(read_run(ledger, "mine", campaign="c").samples)
