"""Verifiers that are programs: any language that reads and writes lines of JSON."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.environment import granted
from verifier_ladder.errors import AnswerError, ConfigError, LadderError, VerifierError
from verifier_ladder.exchange import candidate_message, failed, verdict_from
from verifier_ladder.jsonlines import JsonLines
from verifier_ladder.keys import digest
from verifier_ladder.metering import Counter
from verifier_ladder.sourcecode import Fingerprint
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_MARGIN = 5.0


class CommandVerifier(Verifier):
    """A verifier that is a program speaking JSON lines.

    It reads one line for each candidate, `{"id", "kind", "content", "task", "turns"}` (bytes come
    in base64, with `"encoding": "base64"`), and answers each with one line: a number, `true`,
    `false`, `null`, or an object with `outcome` (accept, reject, abstain) and, as it likes,
    `score`, `uncertainty`, `unit`, `reason`, `feedback`, `failed_at`, `turns`, `evidence`,
    `cost`. What it writes to standard error is kept as evidence when it fails.

    **Life.** It is asked about one candidate after the other, and must flush each answer. One that
    repeats the `id`, which no candidate can guess, is started once in each worker. One that
    doesn't is started anew for each candidate: once it has answered it sees the end of its input,
    and must end without another line, or else nobody could tell its own answer from a line that
    the candidate had it print. With `per_batch=True` it is started for each batch, sees the end of
    its input, and may answer all at the end.

    **Failures.** A program that ends with an exit code or stays silent for `timeout` seconds costs
    its own candidate only, which abstains with `failed_at="tool"`; one that crashes, or answers
    what can't be read, abstains with `"verifier"`. Where it is well on others, the engine rejects
    a candidate at which it crashes or answers nonsense again; one at which it exits only with a
    declared `control`. It is killed with all processes in its group.

    **Secrets.** What `secrets` names lies as one JSON object at the descriptor whose number is in
    the variable `VLADDER_SECRETS_FD`: no program begins with a secret in its environment.

    The command is part of the check key.

    Example:
        >>> import sys
        >>> program = "for line in __import__('sys').stdin: print(len(line) > 9, flush=True)"
        >>> count = CommandVerifier(
        ...     name="any", version="1", command=[sys.executable, "-c", program.replace(
        ...         "len(line) > 9", "str(len(line) > 9).lower()")])
        >>> count.judge([Candidate("text", "abc")])[0].outcome.value
        'accept'
        >>> count.close()
    """

    task_fields: Sequence[str] | None = None
    """All, for nobody sees what the program reads; name those that it needs to share verdicts."""

    @checked(name=1, version=1, folder=1)
    def __init__(
        self,
        *,
        name: str,
        version: str,
        command: Sequence[str | Path],
        per_batch: bool = False,
        folder: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        **attributes: Any,
    ) -> None:
        """Describe the program; it starts with the first batch.

        Args:
            name: Name of the verifier.
            version: Raise it when results may change.
            command: The program and its arguments; no shell reads them.
            per_batch: Whether it is started for each batch and reads to the end of its input.
            folder: Where it is started; by default where the worker is.
            environment: Variables that it gets beside the harmless ones and those of `env`.
            settings: More that affects results, as part of the check key.
            attributes: Any attribute of `Verifier`, such as `tier`, `kind` or `timeout`.

        Raises:
            ConfigError: If the command is not a list of texts, or an attribute is unknown.
        """
        if isinstance(command, (str, bytes)) or not command:
            raise ConfigError(
                f"command={command!r} of verifier {name}: give a list, the program first, "
                'such as ["python", "judge.py"]'
            )
        self.name, self.version = name, version
        set_attributes(self, attributes)
        self.command = [str(part) for part in command]
        self.per_batch, self.folder = per_batch, None if folder is None else str(folder)
        self.environment = dict(environment or {})
        self._program: JsonLines | None = None
        self._repeats = False  # Whether the program says which line it answers.
        super().__init__(command=self.command, **(settings or {}))

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the running program."""
        return {**super().__getstate__(), "_program": None, "_repeats": False}

    @property
    def source(self) -> Fingerprint:
        """Digest of the files that the command names: the program's own and its scripts."""
        folder = Path(self.folder or ".")
        parts = [folder / part for part in self.command]
        files = [part for part in parts if os.path.isfile(part)]  # noqa: PTH113 - never raises
        if not files:
            return Fingerprint("")
        return Fingerprint(digest([_content(file) for file in files]).hex(), "", str(files[-1]))

    def patience(self, count: int) -> float:
        """Seconds the engine waits without progress: more than it waits itself."""
        return self.timeout * (count + 1 if self.per_batch else 2) + _MARGIN

    @property
    def answers_together(self) -> bool:
        """Whether the program is asked about a whole list."""
        return self.per_batch

    def verify(self, candidates: Sequence[Candidate]) -> Iterable[Verdict]:
        """Ask the program about every candidate."""
        return self._ask_together(candidates) if self.per_batch else self._ask_each(candidates)

    def _ask_each(self, candidates: Sequence[Candidate]) -> Iterator[Verdict]:
        counter = Counter()
        for candidate in candidates:
            verdict = self._ask(candidate)
            if not self._repeats:
                self.close()
            cost = verdict.cost or replace(self.cost, seconds=0.0)
            spent = counter.taken()
            yield replace(verdict, cost=replace(cost, seconds=cost.seconds or spent))

    def _ask(self, candidate: Candidate) -> Verdict:
        if self._program is not None and self._program.stale:
            self.close()
        number = secrets.randbits(53)  # No candidate can have the program answer for the next.
        try:
            if self._program is None:
                self._program = self._started()
            (answer,) = self._program.ask([_line(number, candidate)], timeout=self.timeout)
            verdict = self._read(number, answer, repeats=self._repeats)
            if not self._repeats:
                self._program.finish(timeout=self.timeout)
        except LadderError as error:
            log = self._program.log if self._program else ""
            self.close()
            return failed(error, log=log)
        return verdict

    def _ask_together(self, candidates: Sequence[Candidate]) -> list[Verdict]:
        program, lines = None, [_line(n, each) for n, each in enumerate(candidates)]
        try:
            program = self._started()
            answers = program.ask(lines, timeout=self.timeout, last=True)
        except LadderError as error:
            if len(lines) > 1:
                raise  # the engine halves the batch until the culprit stands alone
            return [failed(error, log=program.log if program else "")]
        finally:
            if program is not None:
                program.kill()
        return [self._read_alone(number, answer) for number, answer in enumerate(answers)]

    def _read_alone(self, number: int, answer: bytes) -> Verdict:
        try:
            return self._read(number, answer)
        except VerifierError as error:
            return failed(error)

    def _read(self, number: int, answer: bytes, *, repeats: bool = False) -> Verdict:
        program = self.command[0]
        try:
            message = orjson.loads(answer)
        except orjson.JSONDecodeError:
            shown = answer[:100].decode("utf-8", "replace")
            raise AnswerError(f"{program} answered {shown!r}, not JSON") from None
        told = message.get("id") if isinstance(message, dict) else None
        if told not in (None, number):
            raise AnswerError(f"{program} answered with the id {told!r}, which nobody asked about")
        if told is None and repeats:
            raise AnswerError(f"{program} answered without the id, which it has repeated before")
        self._repeats = told is not None
        return verdict_from(message, unit=self.unit)

    def _started(self) -> JsonLines:
        grant = granted(self)
        return JsonLines(
            self.command, folder=self.folder, environment={**grant.env, **self.environment},
            secrets=grant.secrets,
        )  # fmt: skip

    def close(self) -> None:
        """End the program; the next batch starts another."""
        if self._program is not None:
            self._program.kill()
            self._program, self._repeats = None, False


def _content(file: Path) -> str:
    with contextlib.suppress(OSError), file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
    return ""


def set_attributes(verifier: Verifier, attributes: Mapping[str, Any]) -> None:
    """Set attributes of `Verifier` on one verifier.

    Raises:
        ConfigError: If `Verifier` has no such attribute.
    """
    known = set(Verifier.__annotations__) - {
        "name", "version", "waits", "data_settings",
    }  # fmt: skip
    if unknown := sorted(set(attributes) - known):
        raise ConfigError(
            f"unknown option {', '.join(unknown)} of verifier {verifier.name}; "
            f"it takes {', '.join(sorted(known))}"
        )
    for key, value in attributes.items():
        setattr(verifier, key, value)


def _line(number: int, candidate: Candidate) -> bytes:
    """Plain ASCII: lone surrogates, which a tokenizer can emit, are escaped."""
    try:
        return json.dumps({"id": number, **candidate_message(candidate)}).encode("ascii")
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the candidate's task or turns are not JSON: {error}") from None
