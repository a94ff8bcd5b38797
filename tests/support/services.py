"""A service over HTTP on this machine, which answers what a test has prepared."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Reply = tuple[int, dict[str, str], Any]


class Service:
    """Answers with what the test has prepared, then with lengths; remembers what it was asked."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.asked: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.connections = 0
        self.released = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                service.connections += 1
                super().setup()

            def do_POST(self) -> None:
                service.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/verify"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        message = self.read(handler)
        contents = [each["content"] for each in message.get("candidates", ())]
        lengths = {"verdicts": [len(content) for content in contents]}
        self.send(handler, self.prepared() or (200, {}, lengths))

    def read(self, handler: BaseHTTPRequestHandler) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(
            handler.rfile.read(int(handler.headers["Content-Length"]))
        )
        self.asked.append((dict(handler.headers), message))
        return message

    def prepared(self) -> Reply | None:
        """The next reply that the test has prepared, for one of those who ask at once."""
        try:
            return self.replies.pop(0)
        except IndexError:
            return None

    def send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        status, headers, body = reply
        if body == "wait":
            self.released.wait(300)
        written = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(written)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(written)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
