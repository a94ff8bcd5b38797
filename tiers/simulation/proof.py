"""The verifier `coq-proof`: a script that proves the statement of its task, by Coq's own kernel.

A script is a program: Coq's commands write files, load libraries and compute without end, and
what a file defines changes what the next line means. So nothing that stands in it, or that Coq
says while it reads it, is believed. It goes four ways, each in a sandbox of its own:

1. **The statement** is compiled, from the task alone.
2. **The script** is compiled behind it. Of this the compiled module is kept, and nothing else.
3. **A file of ours** asks for the proof at the type of the compiled statement, by their full
   names, and has Coq list what the proof rests on. It imports nothing of the script, so that no
   notation, option or coercion of it is in force.
4. **The checker** `coqchk` types the modules once more. It refuses what the list of step 3 is
   known to miss, such as recursion without end that a functor put in.

An axiom that the task does not allow by name, a proof that was admitted, and a check of Coq's that
was turned off are all seen in steps 3 and 4, in whatever words they were written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, SandboxError
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.programs import CAPS, Bounds, allowed, limits_of, program_in
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Result, Sandbox, Warmth
from verifier_ladder.tiers.sandbox.compiler import check_version
from verifier_ladder.tiers.sandbox.language import Language
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Verdict

COQ: Final = Language(
    "coq", "Answer.v", runner=("coqc",), version=("coqc", "--version"),
    fences=("coq", "rocq", "gallina", "v"), install="on Debian and Ubuntu: apt-get install coq",
)  # fmt: skip
_CONFIGURED: Final = "/etc/ocamlfind.conf"
"""Where Debian's Coq looks for its own plug-ins; others need no such file."""
_USUAL: Final = Limits(
    cpu=30.0, wall=120.0, memory=2 << 30, files=64, file_bytes=32 << 20, processes=8
)
_OURS, _SCRIPT, _CHECK = "Task", "Answer", "Check"
"""The modules, all below `Ladder`."""
_STATEMENT = f"Ladder.{_OURS}.statement"
_COMPILE: Final = ("coqc", "-q", "-noglob", "-w", "none", "-Q", ".", "Ladder")
_CHECKER: Final = (
    "coqchk", "-silent", "-o", "-Q", ".", "Ladder",
    *(part for name in (_OURS, _SCRIPT, _CHECK) for part in ("-norec", f"Ladder.{name}")),
)  # fmt: skip
_NOT_FOUND, _KEPT = 127, 64
_CLOSED, _AXIOMS = "Closed under the global context", "Axioms:"
_ASSUMED = re.compile(r"(\S+)(?: :.*)?")
_OWN = (f"{_SCRIPT}.", f"Ladder.{_SCRIPT}.")
"""How the names of what a script defines begin. Nothing else of those modules has a name so."""
_UNSAFE = re.compile(
    r"\* (?P<what>[^\n]*(?:type-in-type|unsafe|positivity)[^\n:]*):\n(?P<names>(?:    \S+\n)+)"
)
"""What the checker lists under its headings that are about checks which were turned off."""
_SWITCH = re.compile(r"\b(?:Checking|bypass_check)\b")
"""What stands in a script that turns a check off, as there are no other words for it."""
_ANOMALY = "Anomaly"
"""How Coq's words begin where it is at fault itself."""
_GIVES_UP = ("Stack overflow", "Out of memory", _ANOMALY)
"""What the checker says where it can't go on, which says nothing of the proof."""
_ERROR = re.compile(
    r'(?:File "\./\w+\.v", line (?P<line>\d+), characters [-\d]+:\s+)?Error:\s+'
    r"(?P<said>[^\n]+(?:\n[^\n]+){0,7})"
)
_LONGEST, _SAID = 1 << 16, 500
_ENDINGS: Final[Mapping[Ending, str]] = {
    Ending.CPU: "it takes more than {cpu:g} s of processor time",
    Ending.WALL: "it takes longer than {wall:g} s",
    Ending.MEMORY: "it takes more than {memory} bytes of memory",
    Ending.OUTPUT: "it writes more than {output} bytes",
    Ending.FILES: "it writes more than {file_bytes} bytes of files",
    Ending.PROCESSES: "it starts more than {processes} processes",
    Ending.THREADS: "it starts too many threads",
    Ending.CRASHED: "it makes Coq crash",
}
Word = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_']{0,99}$")]
Dotted = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_']*(\.[A-Za-z_][A-Za-z0-9_']*)*$")]
Text = Annotated[str, Field(max_length=1 << 18)]


class _Task(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    statement: Annotated[str, Field(min_length=1, max_length=1 << 18)]
    imports: Text = ""
    preamble: Text = ""
    name: Word = "answer"
    axioms: list[Dotted] = []
    limits: Bounds = Bounds()

    @property
    def stated(self) -> str:
        """The file of the statement; the last line refuses what is no type."""
        stated = f"Definition statement := ({self.statement}\n)."
        return (
            f"{self.imports}\n{self.preamble}\n{stated}\nCheck (fun proof : statement => proof).\n"
        )

    def answered(self, script: str) -> str:
        """The file of a script, which begins on its second line."""
        head = f"{' '.join(self.imports.split())} Require Import Ladder.{_OURS}."
        if script.lstrip().startswith("Proof"):
            head += (
                f" Theorem {self.name} : ltac:(let it := eval unfold {_STATEMENT} in {_STATEMENT} "
                "in exact it)."
            )
        return f"{head}\n{script}\n"

    @property
    def asked(self) -> str:
        """The file that asks for the proof; what is asked for is read before the script is."""
        return (
            f"Require Ladder.{_OURS}.\nDefinition wanted := {_STATEMENT}.\n"
            f"Require Ladder.{_SCRIPT}.\n"
            f"Definition proved : wanted := @Ladder.{_SCRIPT}.{self.name}.\n"
            "Print Assumptions proved.\n"
        )


class _Made(NamedTuple):
    """What a run of Coq came to."""

    result: Result
    module: bytes
    """The compiled module; nothing if there is none."""

    @property
    def said(self) -> str:
        """All that it wrote."""
        written = self.result.stdout[:_LONGEST] + b"\n" + self.result.stderr[:_LONGEST]
        return written.decode(errors="replace")


class CoqProof(SingleVerifier):
    """Accepts a script that proves the task's statement, and rests on nothing that is not allowed.

    | Field of a task | Meaning |
    |---|---|
    | `statement` | what is to be proved: a term of Coq that is a type |
    | `imports` | `Require Import …`, in force for the statement and for the script |
    | `preamble` | definitions that the statement is made of; the script finds them imported |
    | `name` | what the script must define; `answer` if left out |
    | `axioms` | those that the proof may rest on, by names such as `Classical_Prop.classic` |
    | `limits` | what each run of Coq may take, by the names of `Limits` |

    **The script** is the last fenced block that names Coq or no language, or the whole output. It
    defines `name` by any means, with lemmas before; if it begins with `Proof`, the theorem's head
    is put before it.

    Example:
        >>> task = {"statement": "forall n : nat, n + 0 = n"}
        >>> script = "Proof. induction n; simpl; auto. Qed."
        >>> CoqProof().judge([Candidate("text", script, task=task)])[0].outcome.value
        ... # doctest: +SKIP
        'accept'
    """

    name = "coq-proof"
    version = "1"
    tier = Tier.SIMULATION
    kind = "text"
    domain = "mathematics"
    capabilities = ("reasoning",)
    cost = Cost(seconds=1.5)
    timeout = 900.0
    batch_size = 4
    task_fields = ("statement", "imports", "preamble", "name", "axioms", "limits")
    observed = "outside"
    sandbox: Sandbox = Sandbox(Warmth(read=(_CONFIGURED,)), needs=("files",))
    control = Candidate("text", "Definition answer := I.", task={"statement": "True"})

    @checked()
    def __init__(
        self,
        *,
        limits: Mapping[str, float] | None = None,
        most: Mapping[str, float] | None = None,
    ) -> None:
        """Say what Coq may take.

        Args:
            limits: What each run may take where its task does not say, by the names of `Limits`.
            most: What a task may allow at most. From a task that asks for more it abstains.

        Raises:
            ConfigError: If one makes no sense.
        """
        self._limits = limits_of(_USUAL, limits, "limits")
        self._most = limits_of(CAPS, most, "most")
        self._statements: dict[tuple[str, Limits], bytes] = {}
        self.tools = {COQ.name: COQ.installed()}
        super().__init__(limits=asdict(self._limits), most=asdict(self._most))

    def examine(self, candidate: Candidate) -> Verdict:
        """Compile the statement and the script, ask for the proof, and have it checked."""
        task = read_task(_Task, candidate.task)
        limits = allowed(self._limits, task.limits, self._most)
        script = program_in(candidate.content, COQ).decode()
        files = {f"{_OURS}.vo": self._statement(task, limits)}
        files[f"{_SCRIPT}.vo"] = self._proof(task, script, files, limits)
        assumed, files[f"{_CHECK}.vo"] = self._assumed(task, files, limits)
        if refused := [each for each in assumed if not _is_allowed(each, task.axioms)]:
            return _refused(refused)
        return self._rechecked(files, limits, assumed) or _unchecked(script)

    def _statement(self, task: _Task, limits: Limits) -> bytes:
        """The compiled statement; that of one task is made once.

        Raises:
            TaskError: If it does not compile.
        """
        key = (task.stated, limits)
        if key not in self._statements:
            check_version(self.sandbox, COQ, self.tools[COQ.name])
            made = self._compiled(_OURS, {f"{_OURS}.v": task.stated}, limits)
            if not made.module:
                told = _complaint(made, limits, 0)
                if _ANOMALY in told:
                    raise SandboxError(f"Coq itself fails in the sandbox: {told}")
                raise TaskError(f"the task's statement makes no sense to Coq: {told}")
            while len(self._statements) >= _KEPT:
                del self._statements[next(iter(self._statements))]
            self._statements[key] = made.module
        return self._statements[key]

    def _proof(
        self, task: _Task, script: str, files: Mapping[str, bytes], limits: Limits
    ) -> bytes:
        """The compiled script.

        Raises:
            CandidateError: If it does not compile.
        """
        text = {f"{_SCRIPT}.v": task.answered(script)}
        made = self._compiled(_SCRIPT, {**files, **text}, limits)
        if not made.module:
            told = _complaint(made, limits, 1)
            raise CandidateError(
                f"Coq refuses the script: {told}", feedback=f"Coq refuses the script: {told}."
            )
        return made.module

    def _assumed(
        self, task: _Task, files: Mapping[str, bytes], limits: Limits
    ) -> tuple[list[str], bytes]:
        """What the proof rests on, and the module that asked for it.

        Raises:
            CandidateError: If it proves something else, or nothing by its name.
        """
        made = self._compiled(_CHECK, {**files, f"{_CHECK}.v": task.asked}, limits)
        if made.module:
            return assumptions(made.result.stdout.decode(errors="replace")), made.module
        told = _complaint(made, limits, None)
        if "was not found" in told:
            raise CandidateError(
                f"the script defines no {task.name}",
                feedback=f"Prove the statement under the name {task.name}, outside of any module.",
            )
        raise CandidateError(
            f"the script does not prove the statement: {told}",
            feedback=f"What {task.name} proves is not the statement as it was given: {told}.",
        )

    def _rechecked(
        self, files: Mapping[str, bytes], limits: Limits, axioms: Sequence[str]
    ) -> Verdict | None:
        """What the checker says of the modules; None where it comes to no end."""
        made = self._run(_CHECKER, files, "", limits)
        result, said = made.result, made.said
        if result.ended is Ending.EXITED and result.status == _NOT_FOUND:
            raise SandboxError(f"coqchk is not installed: {COQ.install}")
        if result.ended is Ending.EXITED and not any(word in said for word in _GIVES_UP):
            told = " ".join(said.split())[-_SAID:]
            return Verdict.reject(
                f"Coq's checker refuses the proof: {printable(told, _SAID)}", score=0.0,
                feedback="Coq's checker coqchk refuses the compiled proof: turn no check off.",
            )  # fmt: skip
        if result.ended is not Ending.FINISHED:
            return None
        found = [
            f"{heading['what']}: {name}"
            for heading in _UNSAFE.finditer(said)
            for name in heading["names"].split()
            if name.startswith(_OWN)
        ]
        if found:
            return _refused(found)
        return Verdict.accept(1.0, evidence={"axioms": [*axioms]})

    def _compiled(self, module: str, files: Mapping[str, str | bytes], limits: Limits) -> _Made:
        return self._run((*_COMPILE, f"{module}.v"), files, f"{module}.vo", limits)

    def _run(
        self, command: tuple[str, ...], files: Mapping[str, str | bytes], kept: str, limits: Limits
    ) -> _Made:
        program = Program(files, command=command, keep=(kept,) if kept else ())
        (result,) = self.sandbox.run(program, [Input()], limits)
        whole = result.ended is Ending.FINISHED
        return _Made(result, result.files.get(kept, b"") if whole else b"")


def assumptions(written: str) -> list[str]:
    r"""What a proof rests on, as `Print Assumptions` tells it.

    A line that is not understood is one of them: nobody allows it.

    Example:
        >>> assumptions("Axioms:\nClassical_Prop.classic\n  : forall P : Prop, P \\/ ~ P\n")
        ['Classical_Prop.classic']
        >>> assumptions("Closed under the global context\n")
        []
    """
    lines = [line for line in written.splitlines() if line.strip()]
    if lines == [_CLOSED]:
        return []
    if not lines or lines[0] != _AXIOMS:
        return [printable(" ".join(lines), 200) or "nothing that Coq tells"]
    told = [line for line in lines[1:] if not line.startswith(" ")]
    found = [(_ASSUMED.fullmatch(line), line) for line in told]
    return [match[1] if match else printable(line, 200) for match, line in found] or [_AXIOMS]


def _is_allowed(name: str, axioms: Sequence[str]) -> bool:
    """Whether an axiom is one of those that are allowed, by its own name or a part of it."""
    if name.startswith(_OWN):
        return False
    return any(
        f".{each}".endswith(f".{name}") or f".{name}".endswith(f".{each}") for each in axioms
    )


def _refused(found: Sequence[str]) -> Verdict:
    told = printable(", ".join(found), _SAID)
    return Verdict.reject(
        f"the proof rests on what is not allowed: {told}", score=0.0,
        feedback=f"Prove it without {told}.", evidence={"refused": [*found[:20]]},
    )  # fmt: skip


def _unchecked(script: str) -> Verdict:
    """What is said of a proof that Coq accepts and the checker can't finish.

    Where the script names a check of Coq's it is a reject: only the checker sees what came in
    while that was off, and a long computation beside it must not hide it.
    """
    told = "its checker coqchk comes to no end within the limits"
    if not _SWITCH.search(script):
        return Verdict.abstain(f"Coq accepts the proof, and {told}")
    return Verdict.reject(
        f"the script turns checks of Coq off, and {told}", score=0.0,
        feedback=f"Turn no check of Coq off: {told}.",
    )  # fmt: skip


def _complaint(made: _Made, limits: Limits, before: int | None) -> str:
    """Why there is no module.

    Args:
        made: What it came to.
        limits: Of the run.
        before: Lines that stand before those of the file's author; None to name no line.
    """
    if made.result.ended in _ENDINGS:
        return _ENDINGS[made.result.ended].format(**asdict(limits))
    found = _ERROR.search(made.said)
    if found is None:
        return "Coq made no module of it, and told no error"
    said = printable(" ".join(found["said"].split()), _SAID).rstrip(".")
    if found["line"] is None or before is None:
        return said
    return f"line {max(1, int(found['line']) - before)}: {said}"
