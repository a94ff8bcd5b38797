"""A FAKE step model, for the example only: it speaks vLLM's protocol, and can only add.

    python examples/steps/fake_endpoint.py vladder score examples/steps/rollouts.jsonl …

It serves `/pooling` and `/classify` on this machine while the command runs, which finds it by
`STEP_MODEL_URL`. A step scores 1 / (1 + d), where d is how far its sum is off.
"""

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TAG = "<extra_0>"


class FakeEndpoint(BaseHTTPRequestHandler):
    """Answers as vLLM does for a pooling model."""

    def do_POST(self) -> None:
        """Score the steps of each text."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = pooled if self.path == "/pooling" else classified
        rows = [{"index": place, **answer(text)} for place, text in enumerate(message["input"])]
        body = json.dumps({"object": "list", "model": message["model"], "data": rows}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing of each request."""


def pooled(text: str) -> dict[str, Any]:
    """One row for each tag: what stands before it."""
    return {"data": [[1 - score(step), score(step)] for step in text.split(TAG)[:-1]]}


def classified(text: str) -> dict[str, Any]:
    """Two classes for the step that a text ends with."""
    worth = score(text.strip().rpartition("\n")[2])
    return {"probs": [1 - worth, worth], "num_classes": 2}


def score(step: str) -> float:
    """How good a step is."""
    sums = re.findall(r"(\d+) \+ (\d+) = (\d+)", step)
    return 1 / (1 + max((abs(int(a) + int(b) - int(c)) for a, b, c in sums), default=0))


def main() -> int:
    """Run the command that was given, beside the endpoint."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeEndpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    return subprocess.run(
        sys.argv[1:], env={**os.environ, "STEP_MODEL_URL": address}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
