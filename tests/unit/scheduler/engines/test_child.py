"""Children begin with what they are given, and with nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from verifier_ladder.scheduler.engines.child import Child

TOLD = """
import os, sys

def tell(descriptor, word):
    said = [word, sorted(os.environ), sys.argv, sys.stdin.read(), "__main__" in sys.modules]
    os.write(descriptor, repr(said).encode())
    print("printed")
    print("wrong", file=sys.stderr)
    sys.exit(3)
"""


def test_a_child_has_the_path_the_arguments_and_the_environment_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "telling.py").write_text(TOLD)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train.py", "--fast"])
    monkeypatch.setenv("A_KEY", "sesame")
    told, writer = os.pipe()
    log, output = os.pipe()

    child = Child(
        ("telling", "tell"), [writer, "word"], name="w-0",
        environment={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, descriptors=[writer],
        output=output,
    )  # fmt: skip
    os.close(writer)
    os.close(output)
    with os.fdopen(told) as said, os.fdopen(log) as printed:
        word, names, argv, stdin, _ = eval(said.read())  # noqa: S307 - written above
        assert ("word", ["train.py", "--fast"], "") == (word, argv, stdin)
        assert {"PATH", "LC_ALL"} == set(names)
        assert {"printed", "wrong"} == set(printed.read().split())

    child.join(60.0)
    assert 3 == child.exitcode


def test_a_child_is_killed_with_what_it_has_started() -> None:
    reader, output = os.pipe()
    child = Child(
        ("subprocess", "call"), [["sleep", "600"]], name="w-0", environment=dict(os.environ),
        descriptors=[], output=output,
    )  # fmt: skip
    os.close(output)

    child.kill()
    child.kill()

    with os.fdopen(reader) as rest:
        assert "" == rest.read()  # Nobody is left who could write.
    assert -9 == child.exitcode
