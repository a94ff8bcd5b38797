"""A service in the shape of SandboxFusion and of E2B, which runs programs on this machine."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

BROKEN = {
    "status": (503, b"busy"),
    "redirect": (307, b""),
    "deep": (200, b"[" * 100_000),
    "elsewhere": (201, b'{"sandboxID": "x@127.0.0.1/", "domain": "localhost"}'),
}
"""How it answers whatever it is asked."""


class Service:
    """The service's address, what it was asked for, and how it is to misbehave."""

    def __init__(self) -> None:
        self.address, self.token, self.broken = "", "secret-of-the-service", ""
        self.asked: list[tuple[str, str]] = []
        self.living: set[str] = set()

    @staticmethod
    def ran(code: str, fetched: tuple[str, ...]) -> dict[str, Any]:
        """Run a program as SandboxFusion does without isolation of its own."""
        with tempfile.TemporaryDirectory() as place:
            Path(place, "program.py").write_text(code)
            python = os.path.realpath(sys.executable)
            ran = subprocess.run(
                [python, "program.py"], cwd=place, env={"PATH": "/usr/bin:/bin"},
                capture_output=True, check=False,
            )  # fmt: skip
            paths = [Path(place, name) for name in fetched]
            kept = {p.name: base64.b64encode(p.read_bytes()).decode() for p in paths if p.exists()}
        return {
            "run_result": {
                "status": "Finished", "return_code": ran.returncode, "execution_time": 0.1,
                "stdout": ran.stdout.decode(), "stderr": ran.stderr.decode(errors="replace"),
            },
            "files": kept,
        }  # fmt: skip

    def fusion(self, body: dict[str, Any]) -> dict[str, Any]:
        """`POST /run_code`."""
        if self.broken == "nonsense":
            return {"files": [], "run_result": "?"}
        if self.broken == "files":
            return {"files": {"vladder-told.json": "e30="}, "run_result": {}}
        if self.broken == "sandbox":
            return {"status": "SandboxError", "message": "no more machines", "files": {}}
        ran = self.ran(body["code"], tuple(body["fetch_files"]))
        status = "Failed" if ran["run_result"]["return_code"] else "Success"
        return {"status": status, "message": "", **ran}

    def execute(self, body: dict[str, Any]) -> bytes:
        """`POST /execute`: a line for each event."""
        text = self.ran(body["code"], ())["run_result"]["stdout"]
        events = [
            {"type": "number_of_executions", "execution_count": 1},
            {"type": "stdout", "text": text, "timestamp": 0},
            {"type": "end_of_execution"},
        ]
        return b"\n".join(json.dumps(event).encode() for event in events)


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.asked.append(("POST", self.path))
            if service.broken in BROKEN:
                self._say(*BROKEN[service.broken])
            elif self.path == "/run_code":
                is_known = self.headers["Authorization"] == f"Bearer {service.token}"
                answer = service.fusion(body) if is_known else {}
                self._say(200 if is_known else 401, json.dumps(answer).encode())
            elif self.path == "/sandboxes" and self.headers["X-API-Key"] == service.token:
                name = os.urandom(4).hex()
                service.living.add(name)
                made = {"sandboxID": name, "templateID": body["templateID"], "clientID": "c"}
                self._say(201, json.dumps({**made, "envdAccessToken": name}).encode())
            elif self.path == "/execute" and self.headers["X-Access-Token"] in service.living:
                self._say(200, service.execute(body))
            else:
                self._say(401, b"{}")

        def do_DELETE(self) -> None:
            service.living.discard(self.path.rpartition("/")[2])
            self._say(204, b"")

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            if status == HTTPStatus.TEMPORARY_REDIRECT:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    return Handler


@contextmanager
def running(service: Service | None = None) -> Iterator[Service]:
    """Run the service on this machine."""
    service = service or Service()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(service)) as server:
        service.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
