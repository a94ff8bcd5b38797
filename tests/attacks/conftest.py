"""What attacks need of the machine: a sandbox of each back end, and what there is to attack."""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attacks import BACKENDS

from verifier_ladder.tiers.sandbox import Backend, Sandbox

SECRET = "hunter2-of-the-worker"  # noqa: S105 - a bait


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, require: Callable[..., None]) -> Backend:
    """A back end that works on this machine."""
    found = Backend(str(request.param))
    why = found.problem()
    require(f"the sandbox {found.kind}", not why, why)
    return found


@pytest.fixture
def a_sandbox(require: Callable[..., None]) -> None:
    """The one that this machine would choose."""
    why = Sandbox().problem()
    require("a sandbox", not why, why)


@pytest.fixture
def outside(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """A file, listening sockets and a process of the machine that candidates are told of."""
    monkeypatch.setenv("VLADDER_TEST_SECRET", SECRET)
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
