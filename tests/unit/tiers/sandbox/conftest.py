"""A sandbox of each back end, and what there is to attack outside of it."""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.errors import SandboxError
from verifier_ladder.tiers.sandbox import Input, Limits, Program, Result, Sandbox

SECRET = "hunter2-of-the-worker"  # noqa: S105 - a bait
BACKENDS = ("namespaces", "landlock")
_opened: dict[str, Sandbox | SandboxError] = {}
Run = Callable[..., Result]


@pytest.fixture(scope="session", autouse=True)
def _sandboxes() -> Iterator[None]:
    """Close what was opened, after a secret stood in the environment of whoever opened it."""
    os.environ["VLADDER_TEST_SECRET"] = SECRET
    yield
    del os.environ["VLADDER_TEST_SECRET"]
    for each in _opened.values():
        if isinstance(each, Sandbox):
            each.close()
    _opened.clear()


@pytest.fixture(params=BACKENDS)
def sandbox(request: pytest.FixtureRequest, require: Callable[..., None]) -> Sandbox:
    """A sandbox; the tests share one of each back end."""
    kind = str(request.param)
    if kind not in _opened:
        try:
            _opened[kind] = Sandbox.open(backends=(kind,))
        except SandboxError as error:
            _opened[kind] = error
    found = _opened[kind]
    require(f"the sandbox {kind}", isinstance(found, Sandbox), str(found))
    assert isinstance(found, Sandbox)
    return found


@pytest.fixture
def run(sandbox: Sandbox) -> Run:
    """`run(source, *args, entry=…, stdin=…, **limits)`: one result."""

    def once(
        source: str,
        *args: Any,
        entry: str = "main.py:solve",
        stdin: bytes = b"",
        argv: tuple[str, ...] = (),
        **limits: Any,
    ) -> Result:
        program = Program({"main.py": source}, entry=entry)
        given = Limits(**{"memory": 256 << 20, "cpu": 20.0, "wall": 100.0, **limits})
        (result,) = sandbox.run(program, [Input(args, stdin=stdin, argv=argv)], given)
        return result

    return once


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A file, listening sockets and a process of the machine that candidates are told of."""
    folder = tmp_path_factory.mktemp("outside")
    for each in (folder, folder.parent, folder.parent.parent):
        if each.owner() == Path.home().owner() and each.name.startswith(("pytest", "outside")):
            each.chmod(0o755)
    secret = folder / "secret.txt"
    secret.write_text(SECRET)
    secret.chmod(0o666)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as abstract,
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,  # noqa: S607
    ):
        name = f"\0vladder-test-{os.getpid()}"
        abstract.bind(name)
        abstract.listen()
        yield {
            "file": str(secret),
            "folder": str(folder),
            "port": server.getsockname()[1],
            "abstract": name,
            "process": process.pid,
            "worker": os.getpid(),
            "secret": SECRET,
        }
        assert process.poll() is None, "a candidate has ended a process of the machine"
        assert secret.read_text() == SECRET, "a candidate has written to the machine"
        assert {secret} == set(folder.iterdir())
        assert process.stdin is not None
        process.stdin.close()
