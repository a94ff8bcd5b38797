"""Step models behind vLLM: what scores each step of an output.

There are three forms, as vLLM's pages on pooling models describe them:

- `pooling`: a process reward model. One text holds all steps of an output, each with a tag behind
  it, and `/pooling` answers with one row a tag (`--pooler-config '{"pooling_type": "STEP", …}'`).
- `classify`: a classifier of texts. Each step is a text that ends with it, and `/classify` answers
  with the probabilities of its classes.
- `score`: a model of pairs. Each step is a pair of the prompt and the steps up to it, and `/score`
  answers with a number.

Many outputs go into one request. Where vLLM refuses such a request, each is asked about alone, so
that one that is too long for the model costs no other its scores.

**What is no answer**: more or fewer numbers than steps, NaN, what is no number or out of range, an
endpoint that is away or busy. Nothing is known then.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Final, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from verifier_ladder.arguments import checked_url
from verifier_ladder.errors import ConfigError, LadderError, ToolError
from verifier_ladder.httpservice import HttpService, Reply
from verifier_ladder.tiers.simulation.chatendpoint import key_variable
from verifier_ladder.tiers.simulation.judgeform import quoted
from verifier_ladder.tiers.simulation.steps import Step

URL: Final = "STEP_MODEL_URL"
"""The variable that holds the address, where the settings name none."""
FORMS: Final = ("pooling", "classify", "score")
POOLING, CLASSIFY, SCORE = FORMS
PROMPT, STEPS = "{prompt}", "{steps}"
TEMPLATE: Final = f"{PROMPT}\n{STEPS}"
_TAGS: Final = {POOLING: "<extra_0>", CLASSIFY: "\n", SCORE: "\n"}
_REFUSALS = frozenset({
    HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY,
})  # fmt: skip
"""What vLLM says of a text that it can't take, such as one that is too long for the model."""
_LARGEST = 4_000_000
"""Characters of the texts of one request, but for those of a single output."""


class RefusedError(ToolError):
    """The step model takes no such text."""


class Asked(NamedTuple):
    """An output that is to be scored."""

    prompt: str
    steps: Sequence[Step]


Scores = list[float] | LadderError
"""The scores of an output's steps, or why they are not known."""


# ---- What is answered


class _Row(BaseModel):
    model_config = ConfigDict(strict=True)
    index: Annotated[int, Field(ge=0)]


class _Pooled(_Row):
    data: list[FiniteFloat | list[FiniteFloat]]


class _Classified(_Row):
    probs: list[FiniteFloat]


class _Scored(_Row):
    score: FiniteFloat


class _Answer(BaseModel):
    data: list[Any]


class _Pooling(_Answer):
    data: list[_Pooled]


class _Classification(_Answer):
    data: list[_Classified]


class _Scoring(_Answer):
    data: list[_Scored]


_ANSWERS: Mapping[str, type[_Answer]] = {
    POOLING: _Pooling, CLASSIFY: _Classification, SCORE: _Scoring,
}  # fmt: skip


# ---- The endpoint


class StepEndpoint:
    """A step model behind vLLM.

    It can be made anywhere and travels to the workers; the connection is made by the first call.

    Example:
        >>> endpoint = StepEndpoint("Qwen/Qwen2.5-Math-PRM-7B", "http://127.0.0.1:8000")
        >>> endpoint.settings["tag"]
        '<extra_0>'
    """

    def __init__(
        self, model: str = "", url: str = "", *, form: str = POOLING, template: str = TEMPLATE,
        tag: str | None = None, label: int = -1, api_key: str = "", timeout: float = 60.0,
        retries: int = 3, batch: int = 64,
    ) -> None:  # fmt: skip
        """Describe the endpoint, as `ProcessReward` says; nothing is asked yet.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        if form not in FORMS:
            raise ConfigError(f"form={form!r}: choose {', '.join(FORMS)}")
        tag = _TAGS[form] if tag is None else tag
        if not tag or "\\" in tag:
            raise ConfigError(f"tag={tag!r}: give what stands behind each step, without backslash")
        self._before, self._between, self._behind = _parts(template)
        self.settings: dict[str, Any] = {
            "model": model, "form": form, "template": template, "tag": tag, "label": label,
        }  # fmt: skip
        """What affects its answers."""
        self.secrets, self.env = key_variable(api_key), (() if url else (URL,))
        self._form, self._tag, self._label, self._batch = form, tag, label, batch
        headers = {"Authorization": f"Bearer ${api_key}"} if api_key else None
        self._connect = partial(HttpService, headers=headers, timeout=timeout, retries=retries)
        self._service = self._connect(url) if url else None

    def requests(self, asked: Sequence[Asked]) -> list[list[int]]:
        """Places of outputs that are asked about together, in as few requests as sizes allow."""
        made: list[list[int]] = []
        texts = letters = 0
        for place, each in enumerate(asked):
            own, size = self.size(each)
            if not made or texts + own > self._batch or letters + size > _LARGEST:
                made.append([])
                texts = letters = 0
            made[-1].append(place)
            texts, letters = texts + own, letters + size
        return made

    def size(self, asked: Asked) -> tuple[int, int]:
        """How many texts an output takes, and their characters, roughly."""
        letters = [len(step.text) + len(step.after) for step in asked.steps]
        if self._form == POOLING:
            return 1, len(asked.prompt) + sum(letters)
        behind = range(len(letters), 0, -1)
        whole = sum(length * times for length, times in zip(letters, behind, strict=True))
        return len(letters), len(asked.prompt) * len(letters) + whole

    async def scores(self, asked: Sequence[Asked], gate: asyncio.Semaphore) -> list[Scores]:
        """The scores of the steps of each output, or why there are none.

        Args:
            asked: The outputs, which one request is to be about.
            gate: Lets so many requests out at once.
        """
        try:
            async with gate:
                return await self._scores(asked)
        except RefusedError as error:
            if len(asked) == 1:
                return [error]
        except (ToolError, ConfigError) as error:
            return [error] * len(asked)
        alone = await asyncio.gather(*(self.scores([each], gate) for each in asked))
        return [answer for answers in alone for answer in answers]

    async def _scores(self, asked: Sequence[Asked]) -> list[Scores]:
        service, texts = self._asked(), [self._texts(each) for each in asked]
        flat = [text for each in texts for text in each]
        message: dict[str, Any] = {"model": self.settings["model"]}
        if self._form == SCORE:
            prompts = [quoted(each.prompt) for each in asked for _ in each.steps]
            message |= {"text_1": prompts, "text_2": flat}
        else:
            message |= {"input": flat}
        reply = await service.post(orjson.dumps(message), f"/{self._form}")
        rows = iter(self._rows(service, reply, len(flat)))
        return [
            self._own(each, [next(rows) for _ in own])
            for each, own in zip(asked, texts, strict=True)
        ]

    def _own(self, asked: Asked, rows: Sequence[Any]) -> Scores:
        """The scores of one output's steps."""
        if self._form == SCORE:
            return [float(row.score) for row in rows]
        found = rows[0].data if self._form == POOLING else [row.probs for row in rows]
        if len(found) != len(asked.steps):
            return ToolError(
                f"the step model gives {len(found)} scores for {len(asked.steps)} steps; is "
                f"{self._tag!r} the tag that it answers about?"
            )
        try:
            return [self._of_class(each) for each in found]
        except IndexError:
            return ToolError(f"the step model has no class {self._label}; set label to one it has")

    def _of_class(self, row: float | list[float]) -> float:
        return float(row[self._label]) if isinstance(row, list) else float(row)

    def _rows(self, service: HttpService, reply: Reply, count: int) -> list[Any]:
        """What is answered about each text, in their order."""
        if reply.status in _REFUSALS:
            said = reply.body[:200].decode("utf-8", "replace")
            raise RefusedError(f"{service.url} answered with status {reply.status}: {said}")
        try:
            rows = _ANSWERS[self._form].model_validate(service.decoded(reply)).data
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise self._no_model(service, f"{place}: {first['msg']}") from None
        if len(rows) != count:
            raise ToolError(f"the step model gives {len(rows)} answers for {count} texts")
        by_index = {row.index: row for row in rows}
        if by_index.keys() != set(range(count)):
            raise self._no_model(service, "its indices are none")
        return [by_index[place] for place in range(count)]

    def _no_model(self, service: HttpService, why: str) -> ToolError:
        return ToolError(f"{service.url} answers as no step model does in /{self._form}: {why}")

    # ---- What it is shown

    def _texts(self, asked: Asked) -> list[str]:
        """The texts that an output is shown as: one, or one for each step."""
        prompt = self._shown(asked.prompt)
        steps = [f"{self._shown(step.text)}{self._tag}" for step in asked.steps]
        seen = [f"\n{self._shown(step.after)}\n" if step.after else "" for step in asked.steps]
        if self._form == POOLING:
            pairs = zip(steps, seen, strict=True)
            return [self._whole(prompt, "".join(map("".join, pairs)))]
        made, before = [], ""
        for step, after in zip(steps, seen, strict=True):
            before += step  # A step is judged before anything follows it.
            made.append(before if self._form == SCORE else self._whole(prompt, before))
            before += after
        return made

    def _whole(self, prompt: str, steps: str) -> str:
        return f"{self._before}{prompt}{self._between}{steps}{self._behind}"

    def _shown(self, text: str) -> str:
        """A text that can't be taken for markup, nor for the end of a step."""
        safe = quoted(text)
        return safe.replace(self._tag, _broken(self._tag)) if self._form == POOLING else safe

    def _asked(self) -> HttpService:
        if not self.settings["model"]:
            raise ConfigError("the step model has no name; give model in the settings")
        if self._service is None:
            url = os.environ.get(URL, "").strip().rstrip("/")
            try:
                checked_url(URL, url)
            except ConfigError as error:
                raise ConfigError(f"{error}; or give the step model its url") from None
            self._service = self._connect(url)
        return self._service


def _parts(template: str) -> tuple[str, str, str]:
    """A template before, between and behind what is put into it.

    What is put in is never looked through, so that no text can be a part of the template.

    Raises:
        ConfigError: If it has not each place once, the prompt first.
    """
    before, _, rest = template.partition(PROMPT)
    between, found, behind = rest.partition(STEPS)
    if not found or PROMPT in rest or STEPS in before + behind:
        raise ConfigError(
            f"template={template!r:.200}: write {PROMPT} once, and {STEPS} once behind it"
        )
    return before, between, behind


def _broken(tag: str) -> str:
    """A tag that a text holds, as no tokenizer takes it for one."""
    if len(tag) == 1:
        return f"\\u{{{ord(tag):x}}}"
    return "".join(f"{letter}\\" for letter in tag)  # No two of its letters stay neighbours.
