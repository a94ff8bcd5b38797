"""Teachers: models that give the tokens that a student wrote their log-probabilities.

**Behind vLLM**, or whoever answers as it does: `/completions` is asked about the prompt's and the
completion's tokens with `prompt_logprobs`; nothing is generated but the one token that it insists
on, which is thrown away.

**In a service** a teacher is a subclass of `TeacherService`: one process of the machine holds it.

**Another tokenizer** gives other tokens the same numbers, and scores that mean nothing. It is
refused: by the digest of its vocabulary where the teacher can tell it, and where it can't by what
it says that the tokens are, which must be what the student wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from heapq import nsmallest
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.httpservice import HttpService
from verifier_ladder.services.service import Service
from verifier_ladder.text import printable
from verifier_ladder.tiers.simulation.chatendpoint import key_variable
from verifier_ladder.tiers.simulation.tokenscores import TokenScores, checked_scores

if TYPE_CHECKING:
    from torch import Tensor

_PATH: Final = "/completions"
_HALF = "\ufffd"
_LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8, so tokens that may stand for parts of it."""


class Written(NamedTuple):
    """What a student wrote."""

    prompt: Sequence[int]
    tokens: Sequence[int]
    text: str


# ---- In a service


class TeacherService(Service):
    """Base of a teacher that one process of the machine holds.

    A subclass loads its model in `setup`. With torch, `scored` makes an answer of its logits.
    """

    def vocabulary(self) -> str:
        """Digest of its tokenizer's vocabulary: `tokenscores.vocabulary_digest`."""
        raise TypeError(f"{type(self).__name__} has no vocabulary method")

    def score_tokens(
        self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]], top: int
    ) -> Sequence[dict[str, Any]]:
        """Score the tokens of completions.

        Args:
            prompts: The tokens of each prompt.
            completions: The tokens of each completion, none of which is empty.
            top: How many of the most probable tokens to name at each place.

        Returns:
            For each completion an object with a list for each of its tokens: `logprobs`,
            `top_ids` and `top_logprobs`.
        """
        del prompts, completions, top
        raise TypeError(f"{type(self).__name__} has no score_tokens method")


def scored(logits: Tensor, ids: Sequence[int], top: int) -> dict[str, Any]:
    """An answer of a teacher, from the logits at the places of a completion's tokens.

    Args:
        logits: What the model says before each of these tokens. Shape (tokens, vocabulary).
        ids: The tokens.
        top: How many of the most probable to name.

    Example:
        >>> import torch
        >>> scored(torch.tensor([[0.0, 0.0]]), [1], 1)["top_ids"]
        [[0]]
    """
    import torch

    logprobs = logits.double().log_softmax(-1)
    numbers, named = logprobs.topk(min(top, logits.shape[-1]), dim=-1)
    own = logprobs.gather(-1, torch.tensor(ids, device=logits.device)[:, None])[:, 0]
    return {
        "logprobs": own.tolist(), "top_ids": named.tolist(), "top_logprobs": numbers.tolist(),
    }  # fmt: skip


class _Told(BaseModel):
    """What a service has answered about one completion."""

    model_config = ConfigDict(strict=True)
    logprobs: list[FiniteFloat]
    top_ids: list[list[int]]
    top_logprobs: list[list[FiniteFloat]]


def asked_service(
    service: Service, who: str, written: Sequence[Written], top: int
) -> list[TokenScores]:
    """What a teacher of this machine says of completions.

    Raises:
        ToolError: If it fails, or its answer is none.
    """
    prompts, tokens = [list(each.prompt) for each in written], [list(e.tokens) for e in written]
    told = _called(service, who, "score_tokens", prompts, tokens, top)
    if not isinstance(told, list) or len(told) != len(written):
        raise ToolError(f"teacher {who} gives no list of {len(written)} answers")
    try:
        made = [TokenScores(*_Told.model_validate(each).model_dump().values()) for each in told]
    except ValidationError as error:
        raise _no_teacher(f"teacher {who}", error) from None
    pairs = zip(made, written, strict=True)
    return [checked_scores(scores, each.tokens, who) for scores, each in pairs]


def _called(service: Service, who: str, method: str, *given: Any) -> Any:
    """What a method of a service answers.

    Raises:
        ToolError: If it fails.
    """
    try:
        return service.call(method, *given)
    except ToolError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the user's model raises
        raise ToolError(
            f"teacher {who} failed: {type(error).__name__}: {printable(error)}"
        ) from None


def check_vocabulary(service: Service, who: str, wanted: str) -> str:
    """The digest of a teacher's vocabulary, which must be the one that is wanted, if any.

    Raises:
        ConfigError: If it has another one.
        ToolError: If it fails.
    """
    told = _called(service, who, "vocabulary")
    if not isinstance(told, str) or not told:
        raise ConfigError(f"teacher {who} does not tell the digest of its vocabulary")
    if wanted and told != wanted:
        raise ConfigError(
            f"teacher {who} has another tokenizer: its vocabulary is {told:.12}… and must be "
            f"{wanted:.12}…; the tokens of one can't be scored by another"
        )
    return told


# ---- Behind an endpoint


class _Logprob(BaseModel):
    logprob: FiniteFloat
    decoded_token: str | None = None


class _Choice(BaseModel):
    index: Annotated[int, Field(ge=0, le=0)]
    prompt_logprobs: list[dict[str, _Logprob] | None]


class _Completion(BaseModel):
    choices: Annotated[list[_Choice], Field(min_length=1, max_length=1)]


class TeacherEndpoint:
    """A teacher behind vLLM.

    Example:
        >>> TeacherEndpoint("big", "Qwen/Qwen3-32B", "http://127.0.0.1:8000/v1").settings
        {'model': 'Qwen/Qwen3-32B'}
    """

    def __init__(
        self, who: str, model: str, url: str, *, api_key: str = "", timeout: float = 60.0,
        retries: int = 3,
    ) -> None:  # fmt: skip
        """Describe the teacher; nothing is asked yet.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        if not model or not url:
            raise ConfigError(f"teacher {who}: give the model's name, and its url, ending in /v1")
        self.who, self.settings = who, {"model": model}
        self.secrets = key_variable(api_key)
        headers = {"Authorization": f"Bearer ${api_key}"} if api_key else None
        connect = partial(HttpService, headers=headers, timeout=timeout, retries=retries)
        self._service = connect(url.rstrip("/"))

    async def scores(self, written: Written, top: int) -> TokenScores:
        """What it says of a completion.

        Raises:
            ToolError: If it says nothing, or is another tokenizer's.
        """
        prompt = [*written.prompt, *written.tokens]
        message = {
            **self.settings, "prompt": prompt, "max_tokens": 1, "temperature": 0.0,
            "prompt_logprobs": top,
        }  # fmt: skip
        reply = await self._service.post(orjson.dumps(message), _PATH)
        if reply.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}:
            raise ToolError(
                f"teacher {self.who} refuses these tokens: it has another tokenizer, or they are "
                f"too many: {reply.body[:200].decode('utf-8', 'replace')}"
            )
        try:
            (choice,) = _Completion.model_validate(self._service.decoded(reply)).choices
        except ValidationError as error:
            raise _no_teacher(self._service.url, error) from None
        return self._read(choice.prompt_logprobs, written, top)

    def _read(
        self, told: Sequence[dict[str, _Logprob] | None], written: Written, top: int
    ) -> TokenScores:
        wanted = len(written.prompt) + len(written.tokens)
        if len(told) != wanted:
            raise ToolError(
                f"teacher {self.who} reads {len(told)} tokens where the student has {wanted}: it "
                "has another tokenizer"
            )
        made, pieces = TokenScores([], [], []), []
        for token, place in zip(written.tokens, told[len(written.prompt) :], strict=True):
            own = (place or {}).get(str(token))
            if place is None or own is None:
                raise ToolError(
                    f"teacher {self.who} says nothing of the student's token {token}: it has "
                    "another tokenizer"
                )
            best = nsmallest(top, place.items(), key=lambda each: -each[1].logprob)
            made.logprobs.append(own.logprob)
            made.top_ids.append([_number(name) for name, _ in best])
            made.top_logprobs.append([each.logprob for _, each in best])
            pieces.append(own.decoded_token)
        if not _say(pieces, written.text):
            raise ToolError(
                f"teacher {self.who} reads the student's tokens as "
                f"{printable(''.join(filter(None, pieces)), 60)!r}, and it wrote "
                f"{printable(written.text, 60)!r}: it has another tokenizer"
            )
        return checked_scores(made, written.tokens, self.who)


def _say(pieces: Sequence[str | None], text: str) -> bool:
    """Whether what tokens are decoded to is a text, as far as single tokens can tell.

    Spaces don't count: some tokenizers leave them out at the beginning of what they decode. Nor
    does a token that is a part of a character. Behind the text there may be tokens that end it.
    """
    left, loose = "".join(text.split()), 0
    for piece in pieces:
        bare = "".join((piece or "").split())
        if piece is None or _HALF in bare:
            loose += 1
            continue
        if not bare:
            continue
        # Behind parts of characters the next whole one may stand a little further on.
        at = left.find(bare, 0, len(bare) + loose * _LONGEST_CHARACTER)
        if at < 0 or (at and not loose):
            return not left
        left, loose = left[at + len(bare) :], 0
    return len(left) <= loose * _LONGEST_CHARACTER


def _number(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise ToolError(f"a teacher names a token {name!r:.40}, and no number") from None


def _no_teacher(who: str, error: ValidationError) -> ToolError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return ToolError(f"{who} answers as no teacher does: {place}: {first['msg']}")
