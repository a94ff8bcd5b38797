"""Train tiny models with TRL's own trainers on what a run's export holds.

Run by `test_late_training.py` in a folder of its own. A reward function is called as TRL calls
it, the ledger's command exports its run, and each trainer takes the files as they are.
"""
# mypy: ignore-errors
# Its libraries are not installed everywhere that types are checked.

import json
import os
import subprocess
import sys
from types import SimpleNamespace

os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import torch
from datasets import load_dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import (
    DistillationConfig,
    DistillationTrainer,
    DPOConfig,
    DPOTrainer,
    SFTConfig,
    SFTTrainer,
)
from trl.experimental.sdpo import SDPOConfig, SDPOTrainer

import verifier_ladder as vl
from verifier_ladder.learners.trl import reward_function

WORDS = [f"w{i}" for i in range(24)]
USUAL = {
    "use_cpu": True, "bf16": False, "report_to": "none", "max_steps": 2, "save_strategy": "no",
    "per_device_train_batch_size": 4, "disable_tqdm": True, "logging_steps": 1,
}  # fmt: skip


def tokenizer() -> PreTrainedTokenizerFast:
    """Make a tokenizer with one token for each word."""
    vocabulary = {word: i for i, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))  # noqa: S106  # Not a secret.
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>",  # noqa: S106
        padding_side="left",
    )  # fmt: skip


def tiny_model(seed: int) -> GPT2LMHeadModel:
    """Make an untrained model of some 30 thousand parameters."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(WORDS) + 3, n_positions=128, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=1, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


@vl.verifier(kind="text", isolation="inline", capabilities="memory")
def repeats(candidate: vl.Candidate) -> vl.Verdict:
    """Find the first word of the completion once more."""
    first, *rest = candidate.content.split()
    if first in rest:
        return vl.Verdict.accept(1.0)
    return vl.Verdict.reject("no word came twice", feedback=f"say {first} again", score=0.0)


def score() -> None:
    """Score three steps of sixteen prompts, four completions each."""
    reward = reward_function(repeats, ledger="ledger.db", deadline=300)
    for step in range(3):
        prompts = [f"w{i} w{i + step}" for i in range(16) for _ in range(4)]
        completions = [f"{p} w{20 + i % 4} {p.split()[i % 2]}" for i, p in enumerate(prompts)]
        completions = [c.split(" ", i % 3)[-1] for i, c in enumerate(completions)]
        reward(
            prompts=prompts, completions=completions, completion_ids=[[1]] * len(prompts),
            trainer_state=SimpleNamespace(global_step=step),
        )  # fmt: skip
    reward.close()


def exported(kind: str, *options: str) -> dict:
    """Export the run, and load the splits as a user would."""
    command = ["run", "export", "--as", kind, "--ledger", "ledger.db", "--out", kind, *options]
    subprocess.run(
        [sys.executable, "-m", "verifier_ladder.cli", *command,
         "--split", "train=0.8", "--split", "test=0.2"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return load_dataset(kind, cache_dir="cache")


def steps(trainer: object) -> int:
    """Train, and say how many steps it took."""
    trainer.train()
    return trainer.state.global_step


score()
words, done = tokenizer(), {}
data = exported("sft")
done["sft"] = steps(
    SFTTrainer(
        model=tiny_model(0), args=SFTConfig(output_dir="out", **USUAL), processing_class=words,
        train_dataset=data["train"], eval_dataset=data["test"],
    )
)  # fmt: skip
data = exported("preferences")
done["preferences"] = steps(
    DPOTrainer(
        model=tiny_model(0), ref_model=tiny_model(0), processing_class=words,
        args=DPOConfig(output_dir="out", **USUAL), train_dataset=data["train"],
    )
)  # fmt: skip
told = []


def remembered(completions: list[str], **columns: object) -> list[float]:
    """Reward everything alike, and remember what TRL hands over."""
    told.extend(columns["privileged_context"])
    return [0.0] * len(completions)


data = exported("hints")
done["hints"] = steps(
    SDPOTrainer(
        model=tiny_model(0), reward_funcs=[remembered], train_dataset=data["train"],
        processing_class=words,
        args=SDPOConfig(
            output_dir="out", num_generations=2, max_completion_length=4,
            include_environment_feedback=True, remove_unused_columns=False,
            teacher_model_kind="live", **USUAL,
        ),
    )
)  # fmt: skip
done["told"] = sorted(set(told))
data = exported("distillation", "--teacher", "large")
done["distillation"] = steps(
    DistillationTrainer(
        model=tiny_model(0), teacher_model=tiny_model(1), processing_class=words,
        train_dataset=data["train"],
        args=DistillationConfig(output_dir="out", max_completion_length=4, **USUAL),
    )
)  # fmt: skip
with open("done.json", "w") as file:  # noqa: PTH123 - as a script is written
    json.dump(done, file)
