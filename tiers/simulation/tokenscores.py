"""Token scores: what a teacher gives each token that a student wrote, and several together.

At each place a teacher has a distribution over the whole vocabulary. Kept of it are the
log-probability of the student's token, the `top` most probable tokens with theirs, and the *tail*:
the probability of all other tokens together, so that what is kept is a distribution again.

**Several teachers** are mixed: p(token) = Σ wᵢ·pᵢ(token) / Σ wᵢ. That holds exactly for the
student's token, which every teacher is asked about. Of a token that one teacher names among its
most probable and another does not, only the first one's share is known; the other's stays in the
tail. So what the mixture names is never more than the truth, and the tail never less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import exp, fsum, inf, log
from typing import Any, Final, NamedTuple

import orjson

from verifier_ladder.errors import ToolError

ARTIFACT: Final = "teacher.json"
"""Name of the artifact that holds the scores beside a verdict."""
LOWEST: Final = -9999.0
"""What stands for the logarithm of 0, as vLLM writes it: JSON has no infinite numbers."""
_SLACK = 1e-3
"""By how much probabilities may exceed 1: those of teachers in half precision do."""
_DIGITS = 6


class TokenScores(NamedTuple):
    """The scores of the tokens of one completion, in order.

    Example:
        >>> one = TokenScores([-0.5], [[7, 3]], [[-0.5, -1.5]])
        >>> round(one.tails[0], 3)
        0.17
    """

    logprobs: list[float]
    """Of the student's tokens."""
    top_ids: list[list[int]]
    """The most probable tokens at each place, the most probable first."""
    top_logprobs: list[list[float]]
    """Theirs."""

    @property
    def tails(self) -> list[float]:
        """The probability of all tokens that are not named, at each place."""
        return [max(0.0, 1.0 - fsum(map(exp, each))) for each in self.top_logprobs]

    @property
    def mean(self) -> float:
        """The mean of the student's tokens."""
        return fsum(self.logprobs) / len(self.logprobs)


def vocabulary_digest(vocabulary: Mapping[str, int]) -> str:
    """Digest of a tokenizer's vocabulary, such as `tokenizer.get_vocab()`.

    Two tokenizers with one digest write a token of one number alike.

    Example:
        >>> vocabulary_digest({"a": 0, "b": 1}) == vocabulary_digest({"b": 1, "a": 0})
        True
    """
    rows = sorted((number, token) for token, number in vocabulary.items())
    return sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()


def checked_scores(told: TokenScores, ids: Sequence[int], who: str) -> TokenScores:
    """Scores that are some of so many tokens.

    Args:
        told: What a teacher has answered.
        ids: The student's tokens.
        who: The teacher, for the error.

    Raises:
        ToolError: If there are more or fewer places than tokens, a number is no log-probability,
            or those of one place are no distribution.
    """
    sizes = {len(told.logprobs), len(told.top_ids), len(told.top_logprobs)}
    if sizes != {len(ids)}:
        raise ToolError(
            f"teacher {who} scores {len(told.logprobs)} tokens of {len(ids)}: it has another "
            "tokenizer, or is not asked about the student's tokens"
        )
    # Neither NaN nor infinity is in the range.
    floor, ceiling = LOWEST - 1.0, _SLACK
    for own, numbers, named in zip(told.logprobs, told.top_logprobs, told.top_ids, strict=True):
        is_right = all(floor <= each <= ceiling for each in (own, *numbers))
        if not is_right or len(numbers) != len(named) or len(set(named)) != len(named):
            raise ToolError(f"teacher {who} answers with what is no log-probability of a token")
        if fsum(map(exp, numbers)) > 1.0 + _SLACK:
            raise ToolError(f"teacher {who} answers with probabilities that come to more than 1")
    return told


def mixed(scores: Sequence[TokenScores], weights: Sequence[float], top: int) -> TokenScores:
    """The mixture of several teachers.

    Args:
        scores: Of each teacher, about the same tokens.
        weights: How much each counts; above 0.
        top: How many tokens are named at each place, at most.

    Example:
        >>> sure, other = (TokenScores([log(p)], [[1]], [[log(p)]]) for p in (0.5, 0.1))
        >>> round(exp(mixed([sure, other], [3.0, 1.0], 1).logprobs[0]), 6)
        0.4
    """
    total = fsum(weights)
    shares = [log(weight / total) for weight in weights]
    made = TokenScores([], [], [])
    for place in range(len(scores[0].logprobs)):
        own = [share + each.logprobs[place] for share, each in zip(shares, scores, strict=True)]
        made.logprobs.append(_sum(own))
        named: dict[int, list[float]] = {}
        for share, each in zip(shares, scores, strict=True):
            for token, number in zip(each.top_ids[place], each.top_logprobs[place], strict=True):
                named.setdefault(token, []).append(share + number)
        ranked = sorted(((_sum(parts), token) for token, parts in named.items()), key=_order)[:top]
        made.top_ids.append([token for _, token in ranked])
        made.top_logprobs.append([number for number, _ in ranked])
    return made


def _order(entry: tuple[float, int]) -> tuple[float, int]:
    return -entry[0], entry[1]


def _sum(logs: Sequence[float]) -> float:
    """Logarithm of the sum of numbers of which these are the logarithms."""
    highest = max(logs)
    if highest == -inf:
        return highest
    return highest + log(fsum(exp(each - highest) for each in logs))


def as_artifact(
    scores: TokenScores, ids: Sequence[int], teachers: Mapping[str, float], vocabulary: str
) -> bytes:
    """The scores as the bytes of an artifact: JSON, numbers with six decimals."""
    return orjson.dumps({
        "teachers": dict(teachers), "vocabulary": vocabulary, "token_ids": list(ids),
        "logprobs": _rounded(scores.logprobs), "top_ids": scores.top_ids,
        "top_logprobs": list(map(_rounded, scores.top_logprobs)), "tail": _rounded(scores.tails),
    })  # fmt: skip


def read_artifact(data: bytes) -> dict[str, Any]:
    """What `as_artifact` wrote.

    Example:
        >>> one = TokenScores([-0.5], [[7]], [[-0.5]])
        >>> read_artifact(as_artifact(one, [7], {"big": 1.0}, ""))["tail"]
        [0.393469]
    """
    found: dict[str, Any] = orjson.loads(data)
    return found


def _rounded(numbers: Sequence[float]) -> list[float]:
    return [round(max(LOWEST, number), _DIGITS) for number in numbers]
