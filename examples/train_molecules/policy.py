"""A policy small enough for a laptop: a GPT-2 that writes molecules fragment by fragment."""
# mypy: ignore-errors
# transformers is not installed everywhere that types are checked.

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

PROMPT = "molecule:"
SPECIAL = ["<pad>", "<eos>", "<unk>", PROMPT]
# Put one behind the other, most give a molecule; a halogen in the middle of a chain does not.
FRAGMENTS = [
    "C", "CC", "C(C)", "C(C)(C)", "C(O)", "C(N)", "C(=O)", "C(OC)", "C(C#N)", "C(F)", "C(F)(F)",
    "C(Cl)", "F", "Cl", "Br", "S", "C=C", "c1ccccc1",
]  # fmt: skip
LONGEST = 6
"""Fragments of one molecule."""


def tokenizer() -> PreTrainedTokenizerFast:
    """One token for each fragment; decoded, they are a SMILES without spaces."""
    words = {word: i for i, word in enumerate([*SPECIAL, *FRAGMENTS])}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))  # noqa: S106  # Not a secret.
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+"), "removed")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>",  # noqa: S106
        padding_side="left",
    )  # fmt: skip


def model(seed: int) -> GPT2LMHeadModel:
    """An untrained model of about 100 thousand parameters: at first it writes at random."""
    torch.manual_seed(seed)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(SPECIAL) + len(FRAGMENTS), n_positions=16, n_embd=64, n_layer=2,
            n_head=2, bos_token_id=1, eos_token_id=1, pad_token_id=0,
        )
    )  # fmt: skip
