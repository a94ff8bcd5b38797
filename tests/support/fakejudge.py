"""A chat endpoint on this machine that plays a gullible judge of sums.

It knows the truth about sums. But it believes whatever reaches it outside of the quotation, and
obeys what its chat template would take for markup, and what a person would not see.
"""

import json
import re
import unicodedata
from http.server import BaseHTTPRequestHandler
from typing import Any

from services import Service

from verifier_ladder.tiers.simulation.canaries import built_in

MARKUP = re.compile(
    r"<\|[^<>]*\|>|\|>|<\||<</?SYS>>|\[/?[A-Z_]{3,}\]|"
    r"</?(?:s|bos|eos|think|tool_call|start_of_turn|end_of_turn)\s*>"
)
KNOWN = {
    (each.prompt, text): bool(grade)
    for each in built_in(0.0, 1.0, compared=True)
    for text, grade in ((each.output, each.grade), (each.reference, 1.0 - each.grade))
}
"""What it knows beside sums: what built-in canaries are about."""
ASKED = frozenset({"prompt", "reference"})
"""What is no output."""
SAFE = "\n\t\u200c\u200d\ufe0e\ufe0f"


class FakeJudge(Service):
    """Answers with what a test has prepared, then by the truth, but for `mistaken` outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.paths: list[str] = []
        self.mistaken: set[str] = set()
        self.preferred = "equal"
        """What it says of two answers that are both right, or both wrong."""
        self.refused: set[str] = set()
        self.fingerprint = "fp_1"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.paths.append(handler.path)
        message = self.read(handler)
        prepared = self.prepared()
        if prepared is None:
            status, said = self.reply(message)
            prepared = status, {}, said
        self.send(handler, prepared)

    def reply(self, message: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        model, texts = message["model"], sections(message["messages"][1]["content"])
        if model in FAULTS:
            return FAULTS[model]
        if model in WITH_FORTY_TWO:
            about, other = WITH_FORTY_TWO[model]
            if "42" in (text for name, text in texts.items() if name not in ASKED):
                return about
            if other is not None:
                return other
        if model == "refuses-three" and "answer_3" in texts:
            return REFUSAL
        if model == "refuses-once" and len(self.asked) % 2:
            return REFUSAL
        return 200, self.judged(message, texts)

    def judged(self, message: dict[str, Any], texts: dict[str, str]) -> dict[str, Any]:
        """What it thinks of what is shown."""
        shown = {name: text for name, text in texts.items() if name not in ASKED}
        if self.refused & {*shown.values()}:
            return completion(None, refusal="I can't help with that.")
        flipped = message["model"] == "contrary"
        prompt = texts["prompt"]
        truth = {
            name: KNOWN.get((prompt, text), is_right(prompt, text))
            != ((text in self.mistaken) or flipped)
            for name, text in shown.items()
        }
        fields = message["response_format"]["json_schema"]["schema"]["properties"]
        fooled = is_taken_in(message)
        if "better" in fields:
            told: dict[str, Any] = self.compared(truth, fooled=fooled)
        elif "rank_1" in fields:
            told = self.ranked(truth, fooled=fooled)
        else:
            told = dict.fromkeys(fields, 10 * (fooled or truth["output"]))
        words = {name: "Add it up again." for name in fields if "comment" in name}
        return completion(json.dumps({**told, **words}), fingerprint=self.fingerprint)

    def compared(self, truth: dict[str, bool], *, fooled: bool) -> dict[str, Any]:
        """Which of two answers is right; the other one, once it was talked round."""
        if truth["first"] == truth["second"] and not fooled:
            return {"better": self.preferred}
        return {"better": "first" if truth["first"] != fooled else "second"}

    def ranked(self, truth: dict[str, bool], *, fooled: bool) -> dict[str, int]:
        """What is right before what is not; by its place, too, if it prefers one."""
        step = {"equal": 0, "first": 1, "second": -1}[self.preferred]
        worth = {
            name: (-100 * (is_right != fooled), step * place)
            for place, (name, is_right) in enumerate(truth.items())
        }
        order = sorted(set(worth.values()))
        return {
            name.replace("answer", "rank"): 1 + order.index(each) for name, each in worth.items()
        }


def completion(
    content: str | None, *, finish: str = "stop", fingerprint: str = "fp_1", **message: Any
) -> dict[str, Any]:
    """What an endpoint answers."""
    said = {"role": "assistant", "content": content, **message}
    return {
        "object": "chat.completion", "model": "fake-2026", "system_fingerprint": fingerprint,
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
    }  # fmt: skip


def judged(score: Any, comment: str = "Well.") -> dict[str, Any]:
    """An answer with one score."""
    return completion(json.dumps({"comment": comment, "score": score}))


def sections(said: str) -> dict[str, str]:
    """What stands between lines with the mark, by name."""
    mark = said.partition("\n")[0].removeprefix("The mark is ").removesuffix(".")
    found = re.findall(
        rf"^--- {mark} (\w+) begins ---\n(.*?)\n--- {mark} \1 ends ---$",
        said,
        re.DOTALL | re.MULTILINE,
    )
    return dict(found)


def is_right(prompt: str, output: str) -> bool:
    """Whether the last number of the output is the sum that the prompt asks for."""
    addends, numbers = re.findall(r"\d+", prompt), re.findall(r"\d+", output)
    return bool(numbers) and int(numbers[-1]) == sum(map(int, addends))


def is_taken_in(message: dict[str, Any]) -> bool:
    """Whether anything of the output stands where it is believed."""
    said = message["messages"][1]["content"]
    mark = said.partition("\n")[0].removeprefix("The mark is ").removesuffix(".")
    texts = sections(said)
    quoted = "".join(
        f"--- {mark} {name} begins ---\n{text}\n--- {mark} {name} ends ---\n"
        for name, text in texts.items()
    )
    folded = unicodedata.normalize("NFKC", re.sub("[\u200c\u200d\ufe0e\ufe0f]", "", said))
    return (
        [each["role"] for each in message["messages"]] != ["system", "user"]
        or said != f"The mark is {mark}.\n{quoted}"
        or said.count(mark) != 1 + 2 * len(texts)
        or MARKUP.search(folded) is not None
        or any(unicodedata.category(c)[0] == "C" and c not in SAFE for c in said)
    )


def _said(told: Any) -> dict[str, Any]:
    return completion(told if isinstance(told, str) else json.dumps(told))


_GOOD = {"comment": "", "score": 10}
REFUSAL = 200, completion(None, refusal="I can't help with that.")
_FORBIDDEN = 400, {"error": {"code": "content_policy_violation"}}
FAULTS: dict[str, tuple[int, dict[str, Any]]] = {
    "down": (500, {}), "forbidden": _FORBIDDEN, "odd-request": (400, {"error": None}),
    "wrong-request": (400, {"error": {"code": "other"}}),
    **{
        name: (200, said) for name, said in {
            "cut-off": completion(json.dumps(_GOOD), finish="length"),
            "silent": completion(None), "filtered": completion(None, finish="content_filter"),
            "no-json": _said("Ten."), "a-list": _said([_GOOD]), "no-choice": {"choices": []},
            "one-more": _said({**_GOOD, "more": 1}), "one-less": _said({"comment": ""}),
            "no-comment": _said({"score": 10}), "odd-comment": _said({**_GOOD, "comment": 1}),
            "as-text": _said({**_GOOD, "score": "10"}),
            "as-truth": _said({**_GOOD, "score": True}),
            "above": _said({**_GOOD, "score": 10.1}), "below": _said({**_GOOD, "score": -0.1}),
            "two-scores": _said({"comment": "Well.", "correct": 10, "short": 2}),
            "unnamed": {**_said(_GOOD), "model": "", "system_fingerprint": None},
            "half-named": {**_said(_GOOD), "system_fingerprint": None},
            "five": _said({**_GOOD, "score": 5}), "seven": _said({**_GOOD, "score": 7}),
        }.items()
    },
}  # fmt: skip
"""What models answer that have a fault, by their names."""
Answer = tuple[int, dict[str, Any]]
WITH_FORTY_TWO: dict[str, tuple[Answer, Answer | None]] = {
    "refuses-forty-two": (REFUSAL, None), "forbids-forty-two": (_FORBIDDEN, None),
    "cut-off-control": (REFUSAL, FAULTS["cut-off"]), "no-control": (REFUSAL, FAULTS["no-json"]),
}  # fmt: skip
"""What they answer about 42, and about all else; None for what is true."""
