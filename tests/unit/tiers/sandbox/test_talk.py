"""Conversations: what a program reads next depends on what it has written."""

from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.errors import ConfigError, SandboxError
from verifier_ladder.tiers.sandbox import Backend, Ending, Input, Limits, Program, Result, Sandbox

ECHO = "import sys\nfor line in sys.stdin: print(line.strip()[::-1], flush=True)"
PROGRAM = Program({"main.py": "pass"}, entry="main.py")
LIMITS = Limits(cpu=5.0, wall=60.0)
Partner = Generator[bytes, bytes, None]


def saying(lines: Iterable[bytes], told: list[bytes]) -> Partner:
    """A partner that says line after line, whatever it is told."""
    for line in lines:
        told.append((yield line))  # noqa: PERF401 - it is told one by one


def talked(sandbox: Sandbox, source: str, partner: Partner, limits: Limits = LIMITS) -> Result:
    return sandbox.talk(Program({"main.py": source}, entry="main.py"), partner, limits)


def test_each_line_is_answered_by_the_next(sandbox: Sandbox) -> None:
    told: list[bytes] = []

    talked(sandbox, ECHO, saying([b"abc\n", b"de\n", b"f\n"], told))

    assert [b"cba", b"ed", b"f"] == told


def test_nothing_is_there_to_read_before_the_last_line_was_answered(sandbox: Sandbox) -> None:
    source = (
        "import os, sys\nos.set_blocking(0, False)\nfor _ in range(3):\n"
        "    found = b''\n    while not found:\n"
        "        try: found = os.read(0, 1 << 16)\n        except BlockingIOError: pass\n"
        "    os.write(1, b'%d\\n' % found.count(b'\\n'))"
    )
    told: list[bytes] = []

    talked(sandbox, source, saying([b"one\n"] * 3, told))

    assert [b"1", b"1", b"1"] == told


def test_a_program_ends_with_its_partner(sandbox: Sandbox) -> None:
    told: list[bytes] = []

    talked(sandbox, "print('a', flush=True)\nwhile True: pass", saying([b""], told))

    assert [b"a"] == told


@pytest.mark.parametrize(
    ("source", "ended"),
    [
        ("print('a', flush=True)", Ending.FINISHED),
        ("import os\nos._exit(3)", Ending.EXITED),
        ("print('a', flush=True)\nraise ValueError", Ending.RAISED),
        ("while True: pass", Ending.CPU),
        ("input()\ninput()", Ending.WALL),
        ("while True: print('x' * 1000, end='')", Ending.OUTPUT),
    ],
)
def test_how_a_program_ended_that_is_not_done_is_told(
    sandbox: Sandbox, source: str, ended: Ending
) -> None:
    limits = Limits(cpu=0.3, wall=2.0 if ended is Ending.WALL else 60.0, output=1 << 16)

    result = talked(sandbox, source, saying([b"one\n"] * 9, []), limits)

    assert ended is result.ended


def test_what_nobody_reads_keeps_nobody_waiting(sandbox: Sandbox) -> None:
    source = (
        "import sys\nprint('x\\n' * 20, flush=True)\nsys.stdin.close()\nprint('y', flush=True)"
    )
    told: list[bytes] = []

    talked(sandbox, source, saying([b"z" * (1 << 16)] * 21, told))

    assert [b"x"] * 20 == told[:20]


def test_an_error_of_the_partner_is_raised_and_the_sandbox_goes_on(sandbox: Sandbox) -> None:
    def breaking() -> Partner:
        yield b"one\n"
        raise KeyError("the partner's own")

    before = sandbox.process
    with pytest.raises(KeyError, match="the partner's own"):
        talked(sandbox, ECHO, breaking())

    told: list[bytes] = []
    talked(sandbox, ECHO, saying([b"ab\n"], told))
    assert ([b"ba"], before or sandbox.process) == (told, sandbox.process)


def test_no_descriptor_is_left_open(sandbox: Sandbox) -> None:
    talked(sandbox, ECHO, saying([b"ab\n"], []))
    before = len(list(Path("/proc/self/fd").iterdir()))

    for _ in range(3):
        talked(sandbox, ECHO, saying([b"ab\n"] * 2, []))

    assert before == len(list(Path("/proc/self/fd").iterdir()))


def test_a_sandbox_that_can_hold_no_conversation_says_so() -> None:
    remote = Sandbox(backend=Backend("remote", url="sandboxfusion+http://127.0.0.1:9"))

    assert "no conversation" in Sandbox(needs=("talk",), backend=remote.backend).problem()
    with pytest.raises(SandboxError, match="talk"):
        talked(remote, ECHO, saying([b"ab\n"], []))


def begun() -> Partner:
    partner = saying([b"a", b"b"], [])
    next(partner)
    next(partner, None)
    next(partner, None)
    return partner


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("program", "print(1)"), ("limits", 5.0), ("partner", None), ("partner", [b"a"]),
        ("partner", saying([], [])), ("partner", begun()), ("partner", saying(["a"], [])),  # type: ignore[list-item]
    ],
)  # fmt: skip
def test_wrong_arguments_are_named_before_anything_is_started(argument: str, value: Any) -> None:
    given: dict[str, Any] = {"program": PROGRAM, "partner": saying([b""], [])}
    with Sandbox() as sandbox:
        with pytest.raises(ConfigError, match=rf"Sandbox\.talk: {argument}=.*: give"):
            sandbox.talk(**{**given, argument: value})
        assert sandbox.process == 0


@pytest.mark.parametrize("inputs", [Input(), [3], b"a", None])
def test_a_run_names_what_is_no_list_of_inputs(inputs: Any) -> None:
    with Sandbox() as sandbox, pytest.raises(ConfigError, match=r"Sandbox\.run: inputs=.*: give"):
        sandbox.run(PROGRAM, inputs)
