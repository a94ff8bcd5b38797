"""A model behind an OpenAI-compatible chat endpoint, which is asked for JSON of a schema.

**What is sent.** One message of the system, one of the user, the schema of the answer, and how
the model is sampled; the key that pays for it comes from a variable.

**What is no answer.** An endpoint that is away, busy, cut off, or answers as no chat endpoint
does raises `ToolError`: nothing is known then.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from math import isfinite
from typing import Annotated, Any, Final, TypedDict

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verifier_ladder.arguments import checked, checked_url
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.httpservice import HttpService, Reply
from verifier_ladder.text import printable

URL: Final = "OPENAI_BASE_URL"
"""The variable that holds the address, where the settings name none."""
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Names of variables and of criteria."""
ANYBODY: Final = "any"
"""The fingerprint that has whoever answers believed."""
_LOG = logging.getLogger("verifier_ladder")
_PATH = "/chat/completions"
_SAMPLING = frozenset({
    "temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "max_completion_tokens",
    "reasoning_effort", "frequency_penalty", "presence_penalty", "repetition_penalty",
})  # fmt: skip
"""What changes how a model is sampled, and neither what it is asked nor how it answers."""
_USUAL: Mapping[str, float] = {"temperature": 0.0, "max_tokens": 1024}
_REFUSED = frozenset({"content_filter", "content_policy_violation"})
"""What services call a refusal."""


# ---- What is answered


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: Annotated[int, Field(ge=0, le=10**9)]
    completion_tokens: Annotated[int, Field(ge=0, le=10**9)]


class Completion(BaseModel):
    """What an endpoint answers; what it says beside is not read."""

    model_config = ConfigDict(strict=True)
    choices: Annotated[list[_Choice], Field(min_length=1, max_length=1)]
    model: str = ""
    system_fingerprint: str | None = None
    usage: _Usage | None = None

    @property
    def fingerprint(self) -> str:
        """Who has answered, as far as it is told."""
        return printable(f"{self.model} {self.system_fingerprint or ''}".strip())

    @property
    def is_refusal(self) -> bool:
        """Whether the model, or the service before it, declines to answer."""
        choice = self.choices[0]
        return bool(choice.message.refusal) or choice.finish_reason in _REFUSED

    @property
    def text(self) -> str:
        """What the model said.

        Raises:
            ToolError: If it said nothing, or not all.
        """
        choice = self.choices[0]
        if choice.finish_reason == "length":
            raise ToolError("the judge's answer was cut off; allow more with max_tokens")
        if choice.message.content is None:
            raise ToolError(f"the judge said nothing ({choice.finish_reason})")
        return choice.message.content


_REFUSAL = Completion(choices=[_Choice(message=_Message(refusal="by the service"))])
"""What a service that refuses with an error amounts to."""


# ---- The endpoint


class EndpointSettings(TypedDict, total=False):
    """Settings of a model at an endpoint."""

    model: str
    """The model's name there; a dated one stays the same."""
    url: str
    """Where it is, mostly ending in `/v1`; the variable `OPENAI_BASE_URL` if left out."""
    api_key: str
    """Name of the variable that holds the key; none is sent if left out."""
    sampling: Mapping[str, Any] | None
    """How the model is sampled, such as `temperature`, `seed` and `max_tokens`."""
    fingerprint: str
    """Who must answer, as evidence tells it. If left out, who has answered a process first must
    answer it for as long as it lives; with `"any"` whoever does is believed."""
    prices: Sequence[float]
    """What a million tokens cost, in and out."""


class ChatEndpoint:
    """One model at one endpoint: it is asked, tells who it is, and what that has cost.

    It can be made anywhere and travels to the workers; the connection is made by the first call.

    Example:
        >>> endpoint = ChatEndpoint(model="qwen3-32b", url="http://127.0.0.1:8000/v1")
        >>> endpoint.settings["sampling"]
        {'temperature': 0.0, 'max_tokens': 1024}
    """

    @checked(retries=0)
    def __init__(
        self,
        *,
        model: str = "",
        url: str = "",
        api_key: str = "",
        sampling: Mapping[str, Any] | None = None,
        fingerprint: str = "",
        prices: Sequence[float] = (0.0, 0.0),
        timeout: float = 60.0,
        retries: int = 3,
    ) -> None:
        """Describe the endpoint, as `EndpointSettings` says; nothing is asked yet.

        A `timeout` is the seconds that one answer may take; a busy endpoint is asked again
        `retries` times.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        self.settings: dict[str, Any] = {
            "model": model, "sampling": _sampling(sampling), "fingerprint": fingerprint,
        }  # fmt: skip
        """What affects its answers."""
        self.prices = _prices(prices)
        self.secrets = key_variable(api_key)
        self.env = () if url else (URL,)
        self._first, self._last = "", ""
        self._refused: set[str] = set()
        headers = {"Authorization": f"Bearer ${api_key}"} if api_key else None
        self._connect = partial(HttpService, headers=headers, timeout=timeout, retries=retries)
        self._service = self._connect(url) if url else None

    async def ask(self, system: str, user: str, response_format: Mapping[str, Any]) -> Completion:
        """One answer.

        Args:
            system: The message of the system.
            user: The message of the user.
            response_format: The schema that the answer must fit.

        Raises:
            ToolError: If there is none, or not from whom it must be.
            ConfigError: If the model or the address is not known.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return await self._sent({"messages": messages, "response_format": response_format})

    async def continued(self, messages: Sequence[Mapping[str, str]], seed: int) -> Completion:
        """What the model says next in a conversation.

        Args:
            messages: What was said before, each with `role` and `content`.
            seed: What the service is to sample by, where it can.

        Raises:
            ToolError: If there is no answer, or not from whom it must be.
            ConfigError: If the model or the address is not known.
        """
        return await self._sent({"messages": messages, "seed": seed})

    async def _sent(self, asked: Mapping[str, Any]) -> Completion:
        service = self._asked()
        message = {"model": self.settings["model"], **self.settings["sampling"], **asked}
        reply = await service.post(orjson.dumps(message), _PATH)
        completion = _completion(service, reply)
        if not completion.is_refusal:  # A filter may refuse in a name of its own.
            self._refuse_another(completion.fingerprint)
        return completion

    def _asked(self) -> HttpService:
        if not self.settings["model"]:
            raise ConfigError("the judge has no model; name one in its settings")
        if self._service is None:
            url = os.environ.get(URL, "").strip().rstrip("/")
            try:
                checked_url(URL, url)
            except ConfigError as error:
                raise ConfigError(f"{error}; or give the judge its url") from None
            self._service = self._connect(url)
        return self._service

    def _refuse_another(self, now: str) -> None:
        """Refuse whoever is not the one that must answer.

        The check key is made before anybody answers. So two who answer one process must not both
        be filed under it.

        Raises:
            ToolError: If somebody else has answered.
        """
        wanted = self.settings["fingerprint"]
        if wanted == ANYBODY:
            return
        must = wanted or self._first
        self._first = must or now
        if must and now != must:
            why = "" if wanted else ", who has answered this process first"
            told = (
                f"the judge is {now!r} and must be {must!r}{why}; set its fingerprint anew, or to "
                f"{ANYBODY!r} if several answer in turn, which has everything judged again"
            )
            if now not in self._refused:
                self._refused.add(now)
                _LOG.warning("ALARM: %s", told)
            raise ToolError(told)

    def told(self, said: Sequence[Completion]) -> dict[str, str]:
        """Evidence of who has answered last, and who did before if that was another."""
        now, before = said[-1].fingerprint if said else "", self._last
        self._last = now or before
        if not before or not now or now == before:
            return {"fingerprint": now} if now else {}
        _LOG.warning("the judge was %r and is %r now: verdicts may shift", before, now)
        return {"fingerprint": now, "fingerprint_before": before}

    def paid(self, said: Sequence[Completion]) -> float | None:
        """Money that answers cost; None where that is not told, or nothing has a price."""
        used = [each.usage for each in said if each.usage]
        if len(used) < len(said) or not any(self.prices):
            return None
        return self.price(
            sum(each.prompt_tokens for each in used), sum(each.completion_tokens for each in used)
        )

    def price(self, read: int, written: int) -> float:
        """Money that so many tokens cost.

        Example:
            >>> ChatEndpoint(prices=[2.5, 10.0]).price(1000, 100)
            0.0035
        """
        price, price_out = self.prices
        return (read * price + written * price_out) / 1e6


def _completion(service: HttpService, reply: Reply) -> Completion:
    """What an endpoint has answered.

    Raises:
        ToolError: If it is no answer of a chat endpoint.
    """
    if reply.status == HTTPStatus.BAD_REQUEST and _is_refusal(reply.body):
        return _REFUSAL
    said = service.decoded(reply)
    try:
        return Completion.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ToolError(
            f"{service.url} answers as no chat endpoint does: {place}: {first['msg']}"
        ) from None


def _is_refusal(body: bytes) -> bool:
    """Whether a bad request is one for what it says, as some services tell."""
    try:
        return orjson.loads(body)["error"]["code"] in _REFUSED
    except (orjson.JSONDecodeError, LookupError, TypeError):
        return False


# ---- Settings


def _sampling(given: Mapping[str, Any] | None) -> dict[str, Any]:
    sampling = dict(_USUAL if given is None else given)
    if unknown := sorted(sampling.keys() - _SAMPLING):
        raise ConfigError(
            f"sampling={unknown}: the judge decides these itself, or they are unknown; there are "
            f"{', '.join(sorted(_SAMPLING))}"
        )
    return sampling


def _prices(given: Sequence[float]) -> tuple[float, float]:
    numbers = list(given)
    is_pair = len(numbers) == 2 and all(isfinite(n) and n >= 0 for n in numbers)  # noqa: PLR2004
    if not is_pair:
        raise ConfigError("prices: give what a million tokens cost, in and out, such as [2.5, 10]")
    return float(numbers[0]), float(numbers[1])


def key_variable(name: str) -> tuple[str, ...]:
    """The variable of a key, if there is one; the error does not repeat what may be a key itself.

    Raises:
        ConfigError: If it can't be a variable's name.
    """
    if name and not NAME.fullmatch(name):
        raise ConfigError("api_key: give the name of the variable that holds the key, not the key")
    return (name,) if name else ()
