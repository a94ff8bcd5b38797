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
    """What the schema asks for: which of two answers is better, or two scores of one."""
    quoted = message["messages"][1]["content"]
    found = re.findall(r"(\w+) begins ---\n(.*?)\n---", quoted, re.DOTALL)
    texts = dict(found)
    if "first" in texts:
        first, second = (is_sum(texts["prompt"], texts[name]) for name in ("first", "second"))
        better = "equal" if first == second else "first" if first else "second"
        return {"first_comment": "", "second_comment": "", "better": better}
    is_right, is_short = is_sum(texts["prompt"], texts["output"]), len(texts["output"]) <= SHORT
    comment = "Add the numbers again." if not is_right else "" if is_short else "Be brief."
    return {"comment": comment, "correct": 10 * is_right, "short": 10 * is_short}


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
