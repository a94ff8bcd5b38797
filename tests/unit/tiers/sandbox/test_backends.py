"""Sandboxes that the machine's owner sets: a command of his, and a service on another machine."""

import os
import resource
import shutil
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest
from fusion import Service, running

from verifier_ladder import metering
from verifier_ladder.errors import ConfigError, SandboxError
from verifier_ladder.tiers.sandbox import Backend, Ending, Input, Limits, Program, Sandbox, Warmth
from verifier_ladder.tiers.sandbox.backend import allowed, chosen
from verifier_ladder.tiers.sandbox.controls import controls

PYTHON = os.path.realpath(sys.executable)
LIMITS = Limits(cpu=2.0, wall=60.0, memory=256 << 20)
ADD = Program({"main.py": "def solve(n):\n    print('said')\n    return n + 1"})
ENDINGS = {
    "def solve(n):\n    while True: pass": Ending.CPU,
    "import os\ndef solve(n): os.abort()": Ending.CRASHED,
    "def solve(n): return n / 0": Ending.RAISED,
    "import os\nos._exit(3)": Ending.EXITED,
    "def solve(n):\n    while True: print('x' * 10000)": Ending.OUTPUT,
}


def endings(sandbox: Sandbox) -> dict[str, Ending]:
    sources = [Program({"main.py": source}) for source in ENDINGS]
    ended = [sandbox.run(program, [Input((1,))], LIMITS)[0].ended for program in sources]
    return dict(zip(ENDINGS, ended, strict=True))


@pytest.fixture(params=["a plain interpreter", "bubblewrap"])
def wrapped(request: pytest.FixtureRequest, require: Callable[..., None]) -> Iterator[Sandbox]:
    """A sandbox inside a command."""
    command: tuple[str, ...] = (PYTHON,)
    if request.param == "bubblewrap":
        require("bubblewrap", shutil.which("bwrap") is not None, "apt-get install bubblewrap")
        command = (
            "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/",
            "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", PYTHON,  # noqa: S108 - its own
        )  # fmt: skip
    backend = Backend("command", command=command)
    why = backend.problem()
    require(f"a sandbox in {command[0]}", not why, why)
    with Sandbox(backend=backend) as sandbox:
        yield sandbox


def test_a_command_runs_programs_and_tells_how_they_ended(wrapped: Sandbox) -> None:
    first, second = wrapped.run(ADD, [Input((1,)), Input((2,))], LIMITS)

    assert (2, 3) == (first.value, second.value)
    assert b"said\n" == first.stdout
    assert ENDINGS == endings(wrapped)
    assert "command/2" == wrapped.name


def test_what_runs_in_a_command_is_metered(wrapped: Sandbox) -> None:
    wrapped.start()
    burn = "import time\ndef solve(n):\n    while time.process_time() < 0.4: pass"
    before = wrapped.seconds

    results = wrapped.run(Program({"main.py": burn}), [Input((1,)), Input((1,))], LIMITS)

    assert all(0.35 <= result.cpu <= 0.45 for result in results)
    assert 0.75 <= wrapped.seconds - before <= 0.95
    after = wrapped.seconds
    wrapped.close()
    assert wrapped.seconds <= after


def test_a_command_holds_the_controls(wrapped: Sandbox) -> None:
    assert [] == [control for control in controls(wrapped) if not control.held]


def test_files_in_a_command_are_written_or_named_as_missing(wrapped: Sandbox) -> None:
    program = Program({"main.py": "def solve(): return open('x', 'w').write('abc')"})
    limits = Limits(files=4, file_bytes=1 << 20)
    wrapped.start()
    if wrapped.gives("files"):
        assert 3 == wrapped.run(program, [Input()], limits)[0].value
    else:
        with pytest.raises(SandboxError, match=r"no folder to write into \(files\)"):
            wrapped.run(program, [Input()], limits)


def test_a_command_that_is_killed_is_nobody_s_fault(wrapped: Sandbox) -> None:
    wrapped.start()
    inside = psutil.Process(wrapped.process).children(recursive=True)
    os.kill(wrapped.process, 9)
    psutil.wait_procs(inside, timeout=60)  # They die with it, but not in the same moment.

    with pytest.raises(SandboxError, match="the command has ended"):
        wrapped.run(ADD, [Input((1,))], LIMITS)
    assert 2 == wrapped.run(ADD, [Input((1,))], LIMITS)[0].value


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("no-such-program",), "no-such-program can't be started"),
        (("/bin/false",), "the command has ended"),
        (("/bin/cat",), "the command has ended"),
        (("/bin/echo", "hello"), "what is no answer"),
    ],
)
def test_a_command_that_holds_no_interpreter_says_so(command: tuple[str, ...], why: str) -> None:
    assert why in Backend("command", command=command).problem()


@pytest.fixture
def service() -> Iterator[Service]:
    with running() as started:
        yield started


@pytest.fixture(params=["sandboxfusion", "e2b"])
def remote(request: pytest.FixtureRequest, service: Service) -> Iterator[Sandbox]:
    """A sandbox behind a service of each shape."""
    url = f"{request.param}+{service.address}"
    if request.param == "e2b":
        url += f"?sandbox_url={service.address}"
    with Sandbox(backend=Backend("remote", url=url, token=service.token)) as sandbox:
        yield sandbox


def test_a_service_runs_programs_and_tells_how_they_ended(
    remote: Sandbox, service: Service
) -> None:
    before = metering.charged()
    (result,) = remote.run(ADD, [Input((1,))], LIMITS)

    assert metering.charged() > before
    assert (2, b"said\n") == (result.value, result.stdout)
    assert ENDINGS == endings(remote)
    assert not service.living


def test_what_a_service_does_not_give_is_named(remote: Sandbox) -> None:
    with pytest.raises(SandboxError, match=r"no folder to write into \(files\)"):
        remote.run(ADD, [Input((1,))], Limits(files=4, file_bytes=1 << 20))
    exact = Sandbox(needs=("metering",), backend=remote.backend)
    assert "no exact measure of what a program took (metering)" in exact.problem()
    for _ in range(2):
        with pytest.raises(SandboxError, match="metering"):
            exact.run(ADD, [Input((1,))], LIMITS)
    assert (
        "not installed"
        in Sandbox(Warmth(modules=("no_such_module",)), backend=remote.backend).problem()
    )


def test_what_sandboxes_took_is_never_told_less(wrapped: Sandbox) -> None:
    def known() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime + metering.reported()

    one = Sandbox(backend=wrapped.backend)
    one.run(ADD, [Input((1,))] * 20, LIMITS)
    told = [known()]
    one.close()
    told.append(known())
    del one
    told.append(known())

    assert sorted(told) == pytest.approx(told, abs=1e-3)


def test_a_command_serves_many_inputs_with_few_threads(wrapped: Sandbox) -> None:
    wrapped.run(ADD, [Input((1,))] * 40, LIMITS)

    family = psutil.Process(wrapped.process)
    threads = [p.num_threads() for p in (family, *family.children(recursive=True))]
    assert max(threads) <= 2


@pytest.mark.parametrize(
    ("shape", "broken"),
    [
        *(("sandboxfusion", each) for each in ("sandbox", "nonsense", "files")),
        *((shape, each) for shape in ("sandboxfusion", "e2b")
          for each in ("status", "redirect", "deep")),
        ("e2b", "elsewhere"),
    ],
)  # fmt: skip
def test_a_service_that_fails_is_nobody_s_fault(shape: str, broken: str, service: Service) -> None:
    backend = Backend("remote", url=f"{shape}+{service.address}", token=service.token)
    service.broken = broken

    with pytest.raises(SandboxError, match="the remote sandbox"):
        Sandbox(backend=backend).run(ADD, [Input((1,))], LIMITS)
    assert 1 == len(service.asked), "it went where it was sent"


def test_a_service_that_is_away_or_refuses_is_told(service: Service) -> None:
    away = Backend("remote", url="sandboxfusion+http://127.0.0.1:9", token="")
    assert "could not be asked" in away.problem()
    stranger = Backend("remote", url=f"sandboxfusion+{service.address}", token="wrong")  # noqa: S106
    assert "status 401" in stranger.problem()
    assert "wrong" not in repr(stranger)


def test_the_settings_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ["namespaces", "landlock"] == [backend.kind for backend in allowed()]
    monkeypatch.setenv("VLADDER_SANDBOX", "command")
    with pytest.raises(ConfigError, match="VLADDER_SANDBOX_COMMAND"):
        chosen()
    monkeypatch.setenv("VLADDER_SANDBOX_COMMAND", "bwrap --ro-bind '/a b' / python3")
    assert ("bwrap", "--ro-bind", "/a b", "/", "python3") == chosen().command
    monkeypatch.setenv("VLADDER_SANDBOX", "remote")
    for wrong in ("", "http://127.0.0.1", "fusion+http://127.0.0.1", "e2b+ftp://x"):
        monkeypatch.setenv("VLADDER_SANDBOX_URL", wrong)
        with pytest.raises(ConfigError, match="VLADDER_SANDBOX_URL"):
            chosen()
    monkeypatch.setenv("VLADDER_SANDBOX_URL", "e2b+https://api.e2b.app")
    monkeypatch.setenv("VLADDER_SANDBOX_TOKEN", "key")
    assert ("remote", "key") == (chosen().kind, chosen().token)


def test_only_the_class_is_part_of_the_key() -> None:
    def identity(*command: str) -> dict[str, object]:
        return Sandbox(backend=Backend("command", command=command)).identity

    assert identity("runsc", "python3") == identity("docker", "python3")
