"""Programs in languages that are compiled: the compiler runs in the sandbox too."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from verifier_ladder.errors import CandidateError, SandboxError
from verifier_ladder.tiers.sandbox.program import Ending, Input, Limits, Program
from verifier_ladder.tiers.sandbox.sandbox import Sandbox

CPP = ("g++", "-O2", "-std=c++17", "-pipe", "-o", "program", "main.cpp")
"""Compiles `main.cpp` to `program`, as `compiled` expects it of any compiler."""
COMPILING = Limits(
    cpu=60.0, wall=300.0, memory=2 << 30, files=256, file_bytes=64 << 20, processes=16
)
_NAME = "program"
_SHOWN = 600


def compiled(
    sandbox: Sandbox,
    source: str | Mapping[str, str | bytes],
    *,
    compiler: tuple[str, ...] = CPP,
    limits: Limits = COMPILING,
) -> Program:
    """Compile a program, to be run on any number of inputs.

    Args:
        sandbox: One that has a folder to write into.
        source: The text of `main.cpp`, or several files by their names.
        compiler: Makes the file `program` in the folder it is started in.
        limits: For the compiler.

    Raises:
        CandidateError: If it does not compile; with the first words of the compiler.
        SandboxError: If the compiler is not installed, or the sandbox has no files.

    Example:
        >>> with Sandbox.open() as sandbox:  # doctest: +SKIP
        ...     program = compiled(sandbox, "int main() { return 0; }")
    """
    if shutil.which(compiler[0], path="/usr/bin:/bin") is None:
        raise SandboxError(f"{compiler[0]} is not installed; on Debian: apt-get install g++")
    files = {"main.cpp": source} if isinstance(source, str) else source
    (made,) = sandbox.run(Program(files, command=compiler, keep=(_NAME,)), [Input()], limits)
    if made.ended is not Ending.FINISHED or _NAME not in made.files:
        words = made.stderr.decode(errors="replace")[:_SHOWN]
        raise CandidateError(f"it does not compile ({made.ended}): {words}")
    return Program(made.files, command=(f"./{_NAME}",), programs=(_NAME,))
