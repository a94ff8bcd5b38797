"""A model, a tokenizer and a dataset made here, and trainers that show what they computed."""
# mypy: ignore-errors
# TRL is not installed everywhere that types are checked.

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ |= {
    "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
}  # fmt: skip

import pytest
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

SPECIAL = ["<pad>", "<eos>", "<unk>"]
WORDS = ["crash", "hang", "nan", "raise", "日本", "🧪", "é\u0301", *(f"w{i}" for i in range(9))]


class Seen(NamedTuple):
    """What a trainer made of one batch."""

    rows: list[dict[str, Any]]
    completions: list[str]
    rewards: torch.Tensor
    """Of each reward function, as the trainer holds them: nan where it was told None. (n, m)"""
    advantages: torch.Tensor


def watched(trainer: type) -> type:
    """A trainer class that keeps what it made of each batch in `seen`."""

    class Watched(trainer):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.seen: list[Seen] = []
            self.modes: list[str] = []
            """Whether each batch was made to train or to evaluate."""
            super().__init__(*arguments, **options)

        def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, ids: Any) -> Any:
            rewards = super()._calculate_rewards(inputs, prompts, completions, ids)
            self._now = (inputs, completions, rewards)
            return rewards

        def _generate_and_score_completions(self, inputs: Any) -> Any:
            batch = super()._generate_and_score_completions(inputs)
            self.seen.append(Seen(*self._now, batch["advantages"]))
            self.modes.append("train" if self.model.training else "eval")
            return batch

    return Watched


def make_words() -> PreTrainedTokenizerFast:
    """A tokenizer with one token for each word."""
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))  # noqa: S106  # Not a secret.
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>",  # noqa: S106
        padding_side="left",
    )  # fmt: skip


@pytest.fixture
def words() -> PreTrainedTokenizerFast:
    """A tokenizer of one's own."""
    return make_words()


def make_model() -> GPT2LMHeadModel:
    """An untrained model of some 30 thousand parameters, always the same."""
    torch.manual_seed(0)
    size = len(SPECIAL) + len(WORDS)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=size, n_positions=32, n_embd=32, n_layer=2, n_head=2,
            bos_token_id=1, eos_token_id=1, pad_token_id=0,
        )
    )  # fmt: skip


@pytest.fixture
def model() -> GPT2LMHeadModel:
    """A model of one's own."""
    return make_model()


def make_data() -> Dataset:
    """Eight prompts; the column `answer` is the word wanted, `note` is nobody's business."""
    rows = [{"prompt": f"w{i} w{i + 1}", "answer": f"w{i}", "note": [i]} for i in range(8)]
    return Dataset.from_list(rows)


@pytest.fixture(scope="session")
def data() -> Dataset:
    """The rows."""
    return make_data()


_OF_TRAINER = ("train_dataset", "eval_dataset")
KINDS = {
    "grpo": (GRPOTrainer, GRPOConfig, {"scale_rewards": "none"}),
    "rloo": (RLOOTrainer, RLOOConfig, {"normalize_advantages": False}),
}
Train = Callable[..., Any]


@pytest.fixture(params=KINDS)
def train(
    request: pytest.FixtureRequest, model: Any, words: Any, data: Dataset, tmp_path: Path
) -> Iterator[Train]:
    """Train with reward functions, which are closed after the test; returns the trainer."""
    trainer_class, config_class, raw = KINDS[request.param]
    used: list[Any] = []

    def run(
        *functions: Any, steps: int = 3, unscaled: bool = False, resume: bool = False,
        chat_template: str | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        used.extend(functions)
        options |= raw if unscaled else {}
        given = {name: options.pop(name) for name in _OF_TRAINER if name in options}
        words.chat_template = chat_template
        config = config_class(
            output_dir=str(tmp_path / "out"), use_cpu=True, bf16=False, report_to="none", seed=7,
            max_steps=steps, per_device_train_batch_size=8, num_generations=4,
            max_completion_length=4, logging_steps=1, log_completions=True,
            disable_tqdm=True, beta=0.0,  # Without a second model to compare with.
            **{"learning_rate": 1e-3, "save_strategy": "no", **options},
        )  # fmt: skip
        trainer = watched(trainer_class)(
            model=model, args=config, reward_funcs=list(functions), processing_class=words,
            **{"train_dataset": data, **given},
        )  # fmt: skip
        trainer.train(resume_from_checkpoint=resume)
        return trainer

    yield run
    for function in used:
        function.close()
