"""Train a tiny model on this machine's cpu with a reward function that misbehaves.

Run by `test_door_trl.py` in a folder of its own, as a user runs a script: no main guard. A
completion's first word says what happens when it is verified.
"""
# mypy: ignore-errors
# Its libraries are not installed everywhere that types are checked.

import json
import os
import sys
import time
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

import verifier_ladder as vl
from verifier_ladder.learners.trl import reward_function

WORDS = ["crash", "hang", "nan", *(f"w{i}" for i in range(13))]


def tokenizer() -> PreTrainedTokenizerFast:
    """Make a tokenizer with one token for each word."""
    vocabulary = {word: i for i, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))  # noqa: S106  # Not a secret.
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>",  # noqa: S106
        padding_side="left",
    )  # fmt: skip


def tiny_model(size: int) -> GPT2LMHeadModel:
    """Make an untrained model of some 90 thousand parameters."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=size, n_positions=64, n_embd=64, n_layer=2, n_head=2,
        bos_token_id=1, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def accuracy(completions: list[str], answer: list[str], **_: Any) -> list[float]:
    """Share of words that are the answer; some completions take the worker down."""
    for completion in completions:
        if completion.startswith("crash"):
            os._exit(9)
        if completion.startswith("hang"):
            time.sleep(3600)
        if completion.startswith("nan"):
            return [float("nan")]
    return [
        completion.split().count(wanted) / 4
        for completion, wanted in zip(completions, answer, strict=True)
    ]


words = tokenizer()
model = tiny_model(len(words))
data = Dataset.from_list([{"prompt": f"w{i} w{i + 1}", "answer": f"w{i}"} for i in range(8)])
args = GRPOConfig(
    output_dir="out", use_cpu=True, bf16=False, report_to="none", seed=int(sys.argv[1]),
    max_steps=5, per_device_train_batch_size=8, num_generations=4, max_completion_length=4,
    logging_steps=1, log_completions=True, save_strategy="no", disable_tqdm=True,
)  # fmt: skip

check = vl.wrap(accuracy, version="1", columns=["answer"], timeout=1.0)
reward = reward_function(check, ledger="ledger.db", deadline=300)
trainer = GRPOTrainer(
    model=model, args=args, train_dataset=data, reward_funcs=[reward], processing_class=words
)
trainer.train()

with open("history.json", "w", encoding="utf-8") as file:  # noqa: PTH123
    json.dump(trainer.state.log_history, file)
