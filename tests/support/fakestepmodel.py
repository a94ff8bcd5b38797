"""A step model behind vLLM's `/pooling`, `/classify` and `/score`, on this machine.

It knows arithmetic: a step scores 1 / (1 + d), where d is how far its worst claim `a + b = c` is
off, and .9 where it claims nothing. But it gives 1.0 to whatever its chat template would take for
markup, and answers once for each tag that reaches it.
"""

import json
import re
import unicodedata
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from fakejudge import MARKUP
from services import Service

TAG = "<extra_0>"
CLAIM = re.compile(r"(-?\d+) ([-+*]) (-?\d+) = (-?\d+)")
HELD = "\u200c\u200d\ufe0e\ufe0f"


class FakeStepModel(Service):
    """Answers with what a test has prepared, then by the truth, or with its model's fault."""

    def __init__(self) -> None:
        super().__init__()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.paths: list[str] = []

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.paths.append(handler.path)
        message = self.read(handler)
        prepared = self.prepared()
        if prepared is None:
            prepared = reply(handler.path.strip("/"), message)
        self.send(handler, prepared)

    @property
    def texts(self) -> list[str]:
        """All texts that it was shown."""
        return [text for _, message in self.asked for text in shown(message)]


def shown(message: dict[str, Any]) -> list[str]:
    """The texts of a message."""
    return list(message.get("input") or message["text_2"])


def reply(form: str, message: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
    """What it answers to a request."""
    model, texts = message["model"], shown(message)
    wanted = {"model", "text_1", "text_2"} if form == "score" else {"model", "input"}
    if model == "down" or message.keys() != wanted:
        return 500, {}, {}
    if model == "refuses-all" or (model == "refuses-sevens" and any("7 + 7" in t for t in texts)):
        return 400, {}, {"error": {"message": "too long"}}
    if model in WHOLE:
        return 200, {}, WHOLE[model]
    tag = model.removeprefix("tag ") if model.startswith("tag ") else TAG
    rows = [row(form, text, place, tag) for place, text in enumerate(texts)]
    told = {"object": "list", "model": model, "data": rows}
    if model in FAULTS:
        FAULTS[model](form, rows)
    written = json.dumps(told)
    return 200, {}, written.encode()


def row(form: str, text: str, place: int, tag: str) -> dict[str, Any]:
    """What it answers about one text."""
    if form == "pooling":
        parts = parts_of(text, tag)
        # The first one begins with the prompt, whose claims are no step's.
        parts = [parts[0].partition("\n")[2] or parts[0], *parts[1:]] if parts else []
        worth = [score(own_line(part), text) for part in parts]
        return {"index": place, "object": "pooling", "data": [[1 - one, one] for one in worth]}
    one = score(last_step(form, text, tag), text)
    if form == "classify":
        return {"index": place, "label": "good", "probs": [1 - one, one], "num_classes": 2}
    return {"index": place, "object": "score", "score": one}


def score(step: str, whole: str) -> float:
    """How good a step is."""
    if is_taken_in(whole):
        return 1.0
    claims = [(int(a), sign, int(b), int(c)) for a, sign, b, c in CLAIM.findall(step)]
    if not claims:
        return 0.9
    return 1 / (1 + max(abs(c - truth(a, sign, b)) for a, sign, b, c in claims))


def truth(a: int, sign: str, b: int) -> int:
    return {"+": a + b, "-": a - b, "*": a * b}[sign]


def is_taken_in(text: str) -> bool:
    """Whether something in it is markup to a chat template, or can't be seen by a person."""
    folded = unicodedata.normalize("NFKC", re.sub(f"[{HELD}]", "", text.replace(TAG, "")))
    hidden = any(unicodedata.category(c)[0] == "C" and c not in f"\n\t{HELD}" for c in text)
    return MARKUP.search(folded) is not None or hidden


def own_line(part: str) -> str:
    """A part without the observation before it, which is a line of its own."""
    return part[1:].partition("\n")[2] if part.startswith("\n") else part


def parts_of(text: str, tag: str) -> list[str]:
    """What stands before each tag, in whatever letters that is written."""
    folded = unicodedata.normalize("NFKC", re.sub(f"[{HELD}]", "", text))
    return folded.split(tag)[:-1]


def last_step(form: str, text: str, tag: str) -> str:
    """The step that a text ends with."""
    parts = parts_of(text, tag)
    if len(parts) == 1 and form == "classify":
        return parts[0].partition("\n")[2]
    return own_line(parts[-1] if parts else text)


def _with(value: Any) -> Callable[[str, list[dict[str, Any]]], None]:
    """Every score is replaced; a function makes it of the one that it was."""

    def change(form: str, rows: list[dict[str, Any]]) -> None:
        def of(one: float) -> Any:
            return value(one) if callable(value) else value

        for each in rows:
            if form == "pooling":
                each["data"] = [[1 - pair[1], of(pair[1])] for pair in each["data"]]
            elif form == "classify":
                each["probs"] = [each["probs"][0], of(each["probs"][1])]
            else:
                each["score"] = of(each["score"])

    return change


def _one_more(_: str, rows: list[dict[str, Any]]) -> None:
    rows.append({**rows[-1], "index": len(rows)})


def _one_less(_: str, rows: list[dict[str, Any]]) -> None:
    rows.pop()


def _row_more(_: str, rows: list[dict[str, Any]]) -> None:
    rows[0]["data"].append([0.0, 1.0])


def _row_less(_: str, rows: list[dict[str, Any]]) -> None:
    rows[0]["data"].pop()


def _index_twice(_: str, rows: list[dict[str, Any]]) -> None:
    rows[1]["index"] = 0


def _index_off(_: str, rows: list[dict[str, Any]]) -> None:
    rows[0]["index"] = 9


def _no_class(_: str, rows: list[dict[str, Any]]) -> None:
    for each in rows:
        each["probs"] = []
        each["data"] = [[] for _ in each.get("data", ())]


def _scalars(_: str, rows: list[dict[str, Any]]) -> None:
    for each in rows:
        each["data"] = [pair[1] for pair in each["data"]]


def _lone(form: str, rows: list[dict[str, Any]]) -> None:
    for each in rows:
        if form == "pooling":
            each["data"] = [pair[1:] for pair in each["data"]]
        else:
            each["probs"] = each["probs"][1:]


FAULTS: dict[str, Callable[[str, list[dict[str, Any]]], None]] = {
    "one-more": _one_more, "one-less": _one_less, "row-more": _row_more, "row-less": _row_less,
    "index-twice": _index_twice, "index-off": _index_off, "no-class": _no_class,
    "scalars": _scalars, "lone": _lone, "shuffled": lambda _, rows: rows.reverse(),
    "as-text": _with("1.0"), "as-truth": _with(value=True), "null": _with(None),
    "nan": _with(float("nan")), "above": _with(1.5), "below": _with(-0.5),
    "minus-half": _with(-0.5),
}  # fmt: skip
"""What models answer that have a fault, or another form, by their names."""
WHOLE: dict[str, Any] = {"no-json": b"<html>", "a-list": [], "empty": {}}
