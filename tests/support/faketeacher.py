"""A teacher behind vLLM's `/completions` with `prompt_logprobs`, on this machine.

Its vocabulary is the letters a to z and a space, its distribution a closed form: after a token t,
the probability of a token u is proportional to `2 ** -((u - t) % 27)`.
"""

import json
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from math import fsum, log
from typing import Any

from services import Service

LETTERS = "abcdefghijklmnopqrstuvwxyz "
SIZE = len(LETTERS)
_TOTAL = fsum(2.0**-n for n in range(SIZE))


def encoded(text: str) -> list[int]:
    return [LETTERS.index(letter) for letter in text]


def logprob(before: int, token: int, base: float = 2.0) -> float:
    """What the teacher gives a token after another one."""
    total = _TOTAL if base == 2.0 else fsum(base**-n for n in range(SIZE))
    return -log(base) * ((token - before) % SIZE) - log(total)


class FakeTeacher(Service):
    """Answers with what a test has prepared, then by its law, or with its model's fault."""

    def __init__(self) -> None:
        super().__init__()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.paths: list[str] = []

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.paths.append(handler.path)
        message = self.read(handler)
        self.send(handler, self.prepared() or reply(message))


def reply(message: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
    """What it answers to a request."""
    model, prompt, top = message["model"], message["prompt"], message["prompt_logprobs"]
    if any(token >= SIZE for token in prompt):
        return 400, {}, {"error": {"message": "token out of vocabulary"}}
    if model == "down":
        return 500, {}, {}
    letters = LETTERS[1:] + "a" if model == "other letters" else LETTERS
    places: list[Any] = [None]
    for before, token in pairwise(prompt):
        base = 3.0 if model == "steep" else 2.0
        ranked = sorted(range(SIZE), key=lambda other: -logprob(before, other, base))
        places.append({
            str(one): {
                "logprob": logprob(before, one, base), "rank": ranked.index(one) + 1,
                "decoded_token": letters[one],
            }
            for one in dict.fromkeys([token, *ranked[:top]])
        })  # fmt: skip
    if model in FAULTS:
        places = FAULTS[model](places, prompt)
    choice = {"index": 0, "text": "x", "finish_reason": "length", "prompt_logprobs": places}
    return 200, {}, json.dumps({"object": "text_completion", "choices": [choice]}).encode()


def _last(places: list[Any], prompt: list[int], **changed: Any) -> list[Any]:
    return [*places[:-1], {**places[-1], str(prompt[-1]): {**_own(places, prompt), **changed}}]


def _own(places: list[Any], prompt: list[int]) -> dict[str, Any]:
    return dict(places[-1][str(prompt[-1])])


FAULTS: dict[str, Any] = {
    "one less": lambda places, _: places[:-1],
    "one more": lambda places, _: [*places, places[-1]],
    "no place": lambda places, _: [*places[:-1], None],
    "other tokens": lambda places, prompt: [
        *places[:-1], {k: v for k, v in places[-1].items() if k != str(prompt[-1])}
    ],
    "nan": lambda places, prompt: _last(places, prompt, logprob=float("nan")),
    "text": lambda places, prompt: _last(places, prompt, logprob="high"),
    "positive": lambda places, prompt: _last(places, prompt, logprob=0.5),
    "too sure": lambda places, _: [
        *places[:-1], {k: {**v, "logprob": 0.0} for k, v in places[-1].items()}
    ],
    "no number": lambda places, _: [*places[:-1], {**places[-1], "x": {"logprob": -0.1}}],
    "no places": lambda _, __: None,
}  # fmt: skip
"""What models answer that have a fault, by their names."""
