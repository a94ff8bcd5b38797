"""Programs as they can be run: what is compiled is compiled in the sandbox too."""

from __future__ import annotations

import re
from collections.abc import Mapping

from verifier_ladder.errors import CandidateError, SandboxError
from verifier_ladder.text import printable
from verifier_ladder.tiers.sandbox.language import CPP17, MISSING, PROGRAM, Language, version_in
from verifier_ladder.tiers.sandbox.program import Ending, Input, Limits, Program, Result
from verifier_ladder.tiers.sandbox.sandbox import Sandbox

COMPILING = Limits(
    cpu=30.0, wall=180.0, memory=2 << 30, files=64, file_bytes=32 << 20, processes=16
)
"""What a compiler may take. The sandbox's file system is as large as `file_bytes`, and all that it
writes lies there."""
_TELLING = Limits(cpu=10.0, wall=60.0)
_NOT_FOUND = 127
_SAID = 300
_LONGEST = 1 << 16
"""Characters of a compiler's words that are searched for its first error."""
_EXCESSES: Mapping[Ending, str] = {
    Ending.CRASHED: "the compiler crashed",
    Ending.CPU: "the compiler used more than {0.cpu:g} s of processor time",
    Ending.WALL: "the compiler ran longer than {0.wall:g} s",
    Ending.MEMORY: "the compiler asked for more than {0.memory} bytes of memory",
    Ending.OUTPUT: "the compiler wrote more than {0.output} bytes of messages",
    Ending.FILES: "the compiler wrote more than {0.file_bytes} bytes of files",
    Ending.PROCESSES: "the compiler started more than {0.processes} processes",
}


def compiled(
    sandbox: Sandbox,
    source: str | bytes | Mapping[str, str | bytes],
    *,
    language: Language = CPP17,
    limits: Limits = COMPILING,
    version: str = "",
) -> Program:
    """Make a program of a source, to be run on any number of inputs.

    A compiler runs in the sandbox, on a file system of its own that is as large as `limits` say.
    Whatever it does there is the candidate's doing: a time-out, a crash and a full disk too.

    Args:
        sandbox: One that has a folder to write into, where there is something to compile.
        source: The text of the language's file, or several files by their names.
        language: Says how.
        limits: For the compiler.
        version: What `Language.installed` told where the key of the check was made; "" for any.

    Raises:
        CandidateError: If it does not compile. Feedback has the compiler's first error in the
            candidate's own file, and nothing of other files.
        SandboxError: If the compiler or interpreter is missing or of another version, or the
            sandbox has no files.

    Example:
        >>> with Sandbox.open() as sandbox:  # doctest: +SKIP
        ...     program = compiled(sandbox, "int main() { return 0; }")
    """
    files = source if isinstance(source, Mapping) else {language.source: source}
    if not language.runner:
        return Program(files, entry=language.source)
    check_version(sandbox, language, version)
    if not language.compiler:
        return Program(files, command=language.runner)
    asked = Program(files, command=language.compiler, keep=(PROGRAM,))
    (made,) = sandbox.run(asked, [Input()], limits)
    if made.ended is not Ending.FINISHED or PROGRAM not in made.files:
        why = complaint(made, language, limits)
        raise CandidateError(
            f"it does not compile: {why}", feedback=f"The program does not compile: {why}."
        )
    return Program(made.files, command=language.runner, programs=(PROGRAM,))


def check_version(sandbox: Sandbox, language: Language, wanted: str) -> None:
    """See that the sandbox has the tools by whose version verdicts are filed.

    Raises:
        SandboxError: If not.
    """
    asked = Program({}, command=language.version)
    (told,) = sandbox.run(asked, [Input()], _TELLING)
    if told.ended is Ending.EXITED and told.status == _NOT_FOUND:
        raise SandboxError(f"{language.missing()}; `vladder doctor` names what is missing")
    if told.ended is not Ending.FINISHED:
        raise SandboxError(f"{language.name} tells no version ({told.ended})")
    found = version_in(told.stdout or told.stderr)
    if wanted and found != wanted:
        missed = f"it was {MISSING}" if wanted == MISSING else f"it was {wanted}"
        raise SandboxError(
            f"the sandbox has {found} for {language.name}, and {missed} where this check's key "
            "was made: open the campaign again, or install the same version everywhere"
        )


def complaint(made: Result, language: Language, limits: Limits) -> str:
    """Why there is no program, in words that hold nothing of the machine's files."""
    if made.ended in _EXCESSES:
        return _EXCESSES[made.ended].format(limits)
    if made.ended is Ending.FINISHED:
        return f"the compiler made no file {PROGRAM}"
    written = (made.stderr + made.stdout)[:_LONGEST].decode(errors="replace")
    found = re.search(language.complaint, written) if language.complaint else None
    if found is None:
        return f"the compiler ended with status {made.status}, and named no line of it"
    line = found.groupdict().get("line")
    said = printable(found["said"], _SAID)
    return f"line {line}: {said}" if line else said
