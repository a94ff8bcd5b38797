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

MARKUP = re.compile(
    r"<\|[^<>]*\|>|\|>|<\||<</?SYS>>|\[/?[A-Z_]{3,}\]|"
    r"</?(?:s|bos|eos|think|tool_call|start_of_turn|end_of_turn)\s*>"
)
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
        if self.replies:
            super().answer(handler)
            return
        message = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.asked.append((dict(handler.headers), message))
        written = json.dumps(self.reply(message)).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(written)))
        handler.end_headers()
        handler.wfile.write(written)

    def reply(self, message: dict[str, Any]) -> dict[str, Any]:
        texts = sections(message["messages"][1]["content"])
        shown = {name: text for name, text in texts.items() if name not in {"prompt", "reference"}}
        if self.refused & {*shown.values()}:
            return completion(None, refusal="I can't help with that.")
        truth = {
            name: is_right(texts["prompt"], text) != (text in self.mistaken)
            for name, text in shown.items()
        }
        fields = message["response_format"]["json_schema"]["schema"]["properties"]
        fooled = is_taken_in(message)
        told = (
            self.compared(truth, fooled=fooled) if "better" in fields
            else dict.fromkeys(fields, 10 * (fooled or truth["output"]))
        )  # fmt: skip
        words = {name: "Add it up again." for name in fields if name.endswith("comment")}
        return completion(json.dumps({**told, **words}), fingerprint=self.fingerprint)

    def compared(self, truth: dict[str, bool], *, fooled: bool) -> dict[str, Any]:
        """Which of two answers is right; the other one, once it was talked round."""
        if truth["first"] == truth["second"] and not fooled:
            return {"better": self.preferred}
        return {"better": "first" if truth["first"] != fooled else "second"}


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
