"""Spans: where the characters of a step stand among the tokens of a completion.

Verifiers say where a step stands by characters (`TurnVerdict.span`), for they see text. Learners
that take a number per token need its tokens. Two ways lead from one to the other:

- **Offsets**: the tokenizer tells of each token which characters it stands for. That holds where
  it makes the same tokens of the text again.
- **Decoding**: a model may have written a text in other tokens than the tokenizer would. Then as
  many tokens are decoded as it takes to come to a character.

A token that stands for characters of two steps belongs to both. Tokens that stand for no
characters, such as the end of a completion, belong to none. Of a character that takes several
tokens, all belong to its step. Where a completion was cut, a step has the tokens that are left,
and None if none is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from verifier_ladder.errors import ConfigError
from verifier_ladder.reward import Reward

Span = tuple[int, int]
_HALF = "\ufffd"
"""What bytes decode to that are no whole character yet."""


def tokens_between(spans: Sequence[Span | None], offsets: Sequence[Span]) -> list[Span | None]:
    """The tokens of each step, by the characters that each token stands for.

    Args:
        spans: The first character of each step, and the one after its last.
        offsets: The same of each token; two equal numbers for one that stands for none.

    Returns:
        The first token of each step, and the one after its last; None where it has none.

    Example:
        >>> tokens_between([(0, 3), (4, 9)], [(0, 0), (0, 3), (3, 6), (6, 9), (9, 9)])
        [(1, 2), (2, 4)]
    """
    real = [(place, begin, end) for place, (begin, end) in enumerate(offsets) if end > begin]
    begins, ends = [begin for _, begin, _ in real], [end for _, _, end in real]
    found: list[Span | None] = []
    for span in spans:
        if span is None or span[0] == span[1]:
            found.append(None)
            continue
        first, after = bisect_left(ends, span[0] + 1), bisect_left(begins, span[1])
        found.append((real[first][0], real[after - 1][0] + 1) if first < after else None)
    return found


def step_tokens(
    reward: Reward, text: str, tokenizer: Any, ids: Sequence[int] | None = None
) -> list[Span | None]:
    """The tokens of each step that a reward speaks of.

    Args:
        reward: The reward; its turns have spans.
        text: The completion that was judged.
        tokenizer: A tokenizer of transformers that knows offsets, or one of tokenizers.
        ids: The tokens that the model wrote; what the tokenizer makes of the text if left out.

    Returns:
        For each of `reward.turns` its first token in the completion and the one after its last;
        None for one without a span, or whose tokens were cut off.

    Raises:
        ConfigError: If the tokens do not say what the text says, or the tokenizer knows no
            offsets.
    """
    spans = [turn.span for turn in reward.turns]
    if not any(spans):
        return [None] * len(spans)
    made, offsets = _encoded(tokenizer, text)
    if ids is None:
        return tokens_between(spans, offsets)
    given = [int(one) for one in ids]
    if given[: len(made)] == made and not _decoded(tokenizer, given[len(made) :]):
        return tokens_between(spans, offsets)
    if _decoded(tokenizer, given) != text:
        raise ConfigError(
            "these tokens do not say what was judged: give the tokens of the completion alone, "
            "and the tokenizer that they are of"
        )
    return [None if span is None else _by_decoding(tokenizer, given, span) for span in spans]


def _by_decoding(tokenizer: Any, ids: Sequence[int], span: Span) -> Span | None:
    """The tokens of one step: a few beginnings are decoded, each half as far from its end."""
    if span[0] == span[1]:
        return None

    def length(count: int) -> int:
        return len(_decoded(tokenizer, ids[:count]).rstrip(_HALF))

    counts = range(len(ids) + 1)
    first = bisect_left(counts, span[0] + 1, key=length)
    after = min(len(ids), bisect_left(counts, span[1], key=length))
    # Bytes of the first character may have begun some tokens before it was whole.
    while first > 1 and length(first - 1) == span[0] < len(_decoded(tokenizer, ids[: first - 1])):
        first -= 1
    return (first - 1, after) if first <= after else None


def _encoded(tokenizer: Any, text: str) -> tuple[list[int], list[Span]]:
    """The tokens of a text, and the characters that each stands for."""
    if hasattr(tokenizer, "encode_batch"):  # Of tokenizers.
        made = tokenizer.encode(text, add_special_tokens=False)
        return list(made.ids), list(made.offsets)
    try:
        told = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    except NotImplementedError:
        raise ConfigError(
            "this tokenizer does not tell which characters a token stands for; load the fast one "
            "(use_fast=True)"
        ) from None
    return list(told["input_ids"]), [(int(a), int(b)) for a, b in told["offset_mapping"]]


def _decoded(tokenizer: Any, ids: Sequence[int]) -> str:
    return str(tokenizer.decode(list(ids), skip_special_tokens=True))
