"""A FAKE judge, for the example only: it speaks the protocol, holds no model, and can only add.

    python examples/judge/fake_endpoint.py vladder score examples/judge/rollouts.jsonl …

It serves `/v1/chat/completions` on this machine while the command runs, which finds it by
`OPENAI_BASE_URL`.
"""

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHORT = 20
"""Characters up to which an answer is short."""


class FakeEndpoint(BaseHTTPRequestHandler):
    """Answers as a chat endpoint does."""

    def do_POST(self) -> None:
        """Judge what the user's message quotes."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({
            "model": message["model"], "system_fingerprint": "fake",
            "choices": [{
                "message": {"role": "assistant", "content": json.dumps(judged(message))},
                "finish_reason": "stop",
            }],
        }).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing of each request."""


def judged(message: dict[str, Any]) -> dict[str, Any]:
    """What the schema asks for: which of two answers is better, ranks, or scores of one."""
    quoted = message["messages"][1]["content"]
    texts = dict(re.findall(r"(\w+) begins ---\n(.*?)\n---", quoted, re.DOTALL))
    prompt = texts.pop("prompt")
    right = {name: is_sum(prompt, text) for name, text in texts.items()}
    fields = message["response_format"]["json_schema"]["schema"]["properties"]
    blank = {name: "" for name in fields if "comment" in name}
    if "better" in fields:
        first, second = right["first"], right["second"]
        better = "equal" if first == second else "first" if first else "second"
        return {**blank, "better": better}
    if "rank_1" in fields:
        behind = 1 + sum(right.values())
        ranks = {name.replace("answer", "rank"): 1 if right[name] else behind for name in texts}
        return {**blank, **ranks}
    is_short = len(texts["output"]) <= SHORT
    comment = "Add the numbers again." if not right["output"] else "" if is_short else "Be brief."
    scores = {name: 10 * (is_short if name == "short" else right["output"]) for name in fields}
    return {**scores, "comment": comment}


def is_sum(prompt: str, answer: str) -> bool:
    """Whether the last number of an answer is the sum of those in the prompt."""
    said = re.findall(r"\d+", answer)
    return bool(said) and int(said[-1]) == sum(map(int, re.findall(r"\d+", prompt)))


def main() -> int:
    """Run the command that was given, beside the endpoint."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeEndpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    return subprocess.run(
        sys.argv[1:], env={**os.environ, "OPENAI_BASE_URL": address}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
