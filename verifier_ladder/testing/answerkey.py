"""Answer keys: cases whose right verdict is known, and how well a verifier agrees with them.

A key is a file of JSON lines, one case each:

- `candidate`: the output: text, or `[[text, times], …]` (repeated parts), or `{"base64": …}`
- `among`: of a verifier of groups: the other members, each as `candidate`, with the same task
- `task`: what it is checked against; none if left out
- `turns`: the trajectory, as `Turn.as_json` writes it: `[[action, observation], …]` for texts
- `settings`: settings of the verifier for this case alone, beside those that it has
- `outcome`: `accept`, `reject` or `abstain`
- `score`: `[least, most]` of the verdict's score; any if left out
- `reason`: of an abstention: what its reason must contain
- `hostile`: true for input that is made to break a verifier
- `why`: what the case is about
- `source`: where its truth comes from

A member of a group is right if it is as good as half of the others or better (a score of 0.5, of 0
to 1), and wrong if it is not. So a key of groups says in which order they are.

This module needs neither pytest nor hypothesis.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Protocol

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    field_validator,
    model_validator,
)

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.group import apart, group_of, is_told_together
from verifier_ladder.text import printable
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier, failure

PACKAGE = "verifier_ladder.tiers.answer_keys"
LEAST_RIGHT = 0.99
"""Share of right answers to accept where there are 100 or more; of fewer, all."""
LEAST_REJECTED = 0.99
"""Share of wrong answers to reject; none may be accepted."""
MOST_UNJUDGED = 0.01
"""Share of hostile input from which a verifier may abstain without being asked to."""
WEAK_TWIN = 0.95
"""Balanced accuracy that no naive twin may reach."""
FEWEST_RIGHT, FEWEST_WRONG, FEWEST_ABSTENTIONS, FEWEST_TWINS = 20, 20, 5, 5
_ENOUGH = 100
_BROKEN = frozenset({"verifier", "engine"})
_LACKING = "sandbox"
"""What an abstention failed at where this machine's sandbox can't do what a case needs."""
_HIDDEN = ("answer", "expected", "reference", "solution", "truth")
"""Task fields that hold what a candidate must not be told."""
_TELLING = 4
"""Characters of the shortest hidden value that can't stand in a sentence by chance."""
_SHOWN = 5
_MIDDLE = 0.5
"""The score of a member that is as good as half of the others."""


class _Bytes(BaseModel):
    """A candidate that is no text."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    base64: str

    @field_validator("base64")
    @classmethod
    def _is_sound(cls, text: str) -> str:
        b64decode(text, validate=True)
        return text


_Content = str | list[tuple[str, Annotated[int, Field(ge=0, le=20_000_000)]]] | _Bytes


class Case(BaseModel):
    """One line of a key."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    candidate: _Content
    among: list[_Content] | None = None
    task: dict[str, Any] | None = None
    turns: list[Annotated[list[Any], Field(min_length=2, max_length=4)]] = []
    settings: dict[str, Any] = {}
    outcome: Outcome
    score: tuple[FiniteFloat, FiniteFloat] | None = None
    reason: str = ""
    hostile: bool = False
    why: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]

    @field_validator("turns")
    @classmethod
    def _are_turns(cls, turns: list[list[Any]]) -> list[list[Any]]:
        try:
            list(map(Turn.from_json, turns))
        except (TypeError, KeyError, ConfigError) as error:
            raise ValueError(f"these are no turns: {error}") from None
        return turns

    @model_validator(mode="after")
    def _makes_sense(self) -> Case:
        is_abstention = self.outcome is Outcome.ABSTAIN
        if self.score is not None and (is_abstention or self.score[0] > self.score[1]):
            raise ValueError("a score is [least, most], and an abstention has none")
        if is_abstention != bool(self.reason):
            raise ValueError("an abstention has a reason, and nothing else has one")
        if self.settings and self.hostile:
            raise ValueError("a case with settings is judged in this process, so not hostile")
        if self.among is not None and self.turns:
            raise ValueError("members of a group have no turns here")
        return self

    @property
    def content(self) -> str | bytes:
        """What the model wrote."""
        return _written(self.candidate)

    def members(self, kind: str) -> list[Candidate]:
        """The members of its group, its own first."""
        contents = [self.content, *map(_written, self.among or ())]
        return [Candidate(kind, content, task=self.task) for content in contents]

    def as_candidate(self, kind: str) -> Candidate:
        """The candidate of this case; of a case of a group the whole group, as one."""
        if self.among is not None:
            return group_of([(member, 1) for member in self.members(kind)])
        turns = tuple(map(Turn.from_json, self.turns))
        return Candidate(kind, self.content, task=self.task, turns=turns)

    def own(self, verdict: Verdict) -> Verdict:
        """What a verdict on its candidate says of the case: a worse member counts as rejected."""
        if self.among is None:
            return verdict
        if is_told_together(verdict):
            verdict = apart(verdict, 1 + len(self.among))[0]
        score = verdict.score
        if verdict.outcome is not Outcome.ACCEPT or score is None or score >= _MIDDLE:
            return verdict
        return Verdict.reject("most others are better", score=score, feedback=verdict.feedback)

    def disagreement(self, verdict: Verdict) -> str:
        """How a verdict differs from what the key says; "" if it does not."""
        if verdict.failed_at in _BROKEN or verdict.outcome is not self.outcome:
            failed = f" (failed at {verdict.failed_at})" if verdict.failed_at else ""
            told = f"{verdict.outcome} instead of {self.outcome}{failed}: {verdict.reason}"
            return told.removesuffix(": ")
        if self.reason not in verdict.reason:
            return f"the reason lacks {self.reason!r}: {verdict.reason!r}"
        if self.score is None:
            return ""
        if verdict.score is None or not self.score[0] <= verdict.score <= self.score[1]:
            return f"score {verdict.score} is not within {list(self.score)}"
        return ""

    def flaw(self, verdict: Verdict) -> str:
        """What a student model should have been told, or should not; "" if all is well."""
        if verdict.outcome is Outcome.REJECT and not verdict.feedback:
            return f"no feedback: {verdict.reason}"
        told = f"{verdict.reason} {verdict.feedback} {dict(verdict.evidence)}"
        said = str(self.content)
        leaked = [text for text in _hidden(self.task or {}) if text in told and text not in said]
        return f"it tells the hidden value: {told}" if leaked else ""


def _written(content: _Content) -> str | bytes:
    if isinstance(content, str):
        return content
    if isinstance(content, _Bytes):
        return b64decode(content.base64)
    return "".join(text * times for text, times in content)


def _hidden(task: Mapping[str, Any]) -> list[str]:
    texts = [str(task[name]) for name in _HIDDEN if isinstance(task.get(name), (str, int, float))]
    return [text for text in texts if len(text) >= _TELLING]


class Judge(Protocol):
    """What a key can be put to: every verifier, and twins and mutants of one."""

    def judge(self, candidates: Sequence[Candidate], /) -> Sequence[Verdict]:
        """One verdict for each candidate."""
        ...


@dataclass(frozen=True)
class Graded:
    """A case, where it stands in its key, and what a verifier said of it."""

    line: int
    case: Case
    verdict: Verdict
    how: str
    """How they disagree; "" if they don't."""

    def told(self, how: str = "") -> str:
        """One line for a person."""
        content = printable(repr(self.case.content[:60]), 80)
        return printable(f"line {self.line} ({self.case.why}), {content}: {how or self.how}", 300)


@dataclass(frozen=True)
class Report:
    """How well a verifier agrees with a key.

    Example:
        >>> key = AnswerKey("pets", tuple(
        ...     Case(candidate=said, outcome=outcome, why="a pet or not", source="a zoo")
        ...     for said, outcome in (("cat", "accept"), ("rock", "reject"))))
        >>> report = key.check(CONSTANT_TWINS["accepts all"])
        >>> print(report)
        pets: 1 of 1 right accepted, 0 of 1 wrong rejected (1 accepted)
        >>> report.complaints[0][:54]
        'wrong answers are accepted (1): line 2 (a pet or not),'
        >>> report.balanced_accuracy
        0.5
    """

    key: str
    graded: tuple[Graded, ...]

    def of(self, outcome: Outcome) -> list[Graded]:
        """The cases with this outcome that are not hostile."""
        return [g for g in self.graded if g.case.outcome is outcome and not g.case.hostile]

    def missed(self, outcome: Outcome) -> list[Graded]:
        """Those of them on which the verifier disagrees."""
        return [g for g in self.of(outcome) if g.how]

    @property
    def hostile(self) -> list[Graded]:
        """The hostile cases, whatever is expected of them."""
        return [g for g in self.graded if g.case.hostile]

    @property
    def accepted_wrong(self) -> list[Graded]:
        """What should have been rejected, hostile or not, and was accepted."""
        pair = (Outcome.REJECT, Outcome.ACCEPT)
        return [g for g in self.graded if (g.case.outcome, g.verdict.outcome) == pair]

    @property
    def balanced_accuracy(self) -> float:
        """Mean share of right answers accepted and of wrong ones rejected, hostile ones apart.

        A key without cases of both outcomes is taken to be missed there.
        """
        shares = [
            1 - len(self.missed(outcome)) / len(of) if (of := self.of(outcome)) else 0.0
            for outcome in (Outcome.ACCEPT, Outcome.REJECT)
        ]
        return sum(shares) / 2

    @property
    def complaints(self) -> list[str]:
        """Which rules the verifier breaks, with the first cases; empty if none."""
        return [
            f"{name} ({len(found)}): " + "; ".join(g.told() for g in found[:_SHOWN])
            for name, found, allowed in self._rules()
            if len(found) > allowed
        ]

    @property
    def flaws(self) -> list[str]:
        """Rejects without feedback, and words that tell a hidden value; one line each."""
        told = ((graded, graded.case.flaw(graded.verdict)) for graded in self.graded)
        return [graded.told(flaw) for graded, flaw in told if flaw]

    def _rules(self) -> Iterator[tuple[str, list[Graded], float]]:
        """What must not happen, where it did, and how often it may."""
        right, wrong = self.of(Outcome.ACCEPT), self.of(Outcome.REJECT)
        lost = (1 - LEAST_RIGHT) * len(right) if len(right) >= _ENOUGH else 0
        yield "right answers are not accepted", self.missed(Outcome.ACCEPT), lost + _ROUNDING
        yield "wrong answers are accepted", self.accepted_wrong, 0
        passed = (1 - LEAST_REJECTED) * len(wrong) + _ROUNDING
        yield "wrong answers are not rejected", self.missed(Outcome.REJECT), passed
        yield "abstentions are not made, or lack their reason", self.missed(Outcome.ABSTAIN), 0
        hostile = [g for g in self.hostile if g.how]
        broken = [g for g in hostile if g.verdict.failed_at in _BROKEN]
        yield "hostile input makes it fail", broken, 0
        unjudged = [
            g
            for g in hostile
            if g.verdict.outcome is Outcome.ABSTAIN
            and g.verdict.failed_at not in {*_BROKEN, _LACKING}
        ]
        yield "hostile input is left unjudged", unjudged, MOST_UNJUDGED * len(self.hostile)
        misjudged = [g for g in hostile if g.verdict.outcome is not Outcome.ABSTAIN]
        yield "hostile input is misjudged", misjudged, 0

    def __str__(self) -> str:
        """One line of counts."""
        right, wrong = self.of(Outcome.ACCEPT), self.of(Outcome.REJECT)
        kept, stopped = (
            len(right) - len(self.missed(Outcome.ACCEPT)),
            len(wrong) - len(self.missed(Outcome.REJECT)),
        )
        accepted = len(self.accepted_wrong)
        told = [
            f"{kept} of {len(right)} right accepted",
            f"{stopped} of {len(wrong)} wrong rejected ({accepted} accepted)",
        ]
        if abstained := self.of(Outcome.ABSTAIN):
            named = len(abstained) - len(self.missed(Outcome.ABSTAIN))
            told.append(f"{named} of {len(abstained)} abstentions made with their reason")
        if hostile := self.hostile:
            agreed = sum(not g.how for g in hostile)
            lacking = sum(g.verdict.failed_at == _LACKING for g in hostile)
            told.append(f"{agreed} of {len(hostile)} hostile ones judged rightly")
            told += [f"{lacking} left for a stronger sandbox"] if lacking else []
        return f"{self.key}: " + ", ".join(told)


_ROUNDING = 1e-9


@dataclass(frozen=True)
class AnswerKey:
    """Cases with their known verdicts.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> line = '{"candidate": "4", "outcome": "accept", "why": "2 + 2", "source": "by hand"}'
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "sums.jsonl")
        ...     _ = path.write_text(line)
        ...     key = AnswerKey.load(path)
        >>> key.name, key.cases[0].outcome.value, len(key.sha256)
        ('sums', 'accept', 64)
    """

    name: str
    cases: tuple[Case, ...]
    lines: tuple[int, ...] = ()
    """Where each case stands in the file; counted from 1 if left out."""
    data: bytes = b""
    """The file."""

    def __post_init__(self) -> None:
        """Number the cases if they come from no file."""
        if not self.lines:
            object.__setattr__(self, "lines", tuple(range(1, len(self.cases) + 1)))

    @classmethod
    def named(cls, name: str) -> AnswerKey:
        """Load a key that comes along, by its verifier's name.

        Raises:
            ConfigError: If there is none of this name, or a line of it makes no sense.
        """
        if name not in cls.known():
            known = ", ".join(cls.known()) or "none at all"
            raise ConfigError(f"there is no answer key {name!r}; there are: {known}")
        return cls._parsed(name, files(PACKAGE).joinpath(f"{name}.jsonl").read_bytes())

    @staticmethod
    def known() -> list[str]:
        """Names of the keys that come along."""
        places = (place.name for place in files(PACKAGE).iterdir())
        return sorted(name.removesuffix(".jsonl") for name in places if name.endswith(".jsonl"))

    @classmethod
    def load(cls, path: str | Path) -> AnswerKey:
        """Load a key from a file.

        Raises:
            ConfigError: If the file can't be read or a line of it makes no sense, with the
                numbers of the first such lines.
        """
        try:
            return cls._parsed(Path(path).stem, Path(path).read_bytes())
        except OSError as error:
            raise ConfigError(f"the answer key {path} can't be read: {error.strerror}") from None

    @classmethod
    def _parsed(cls, name: str, data: bytes) -> AnswerKey:
        cases: dict[int, Case] = {}
        wrong: list[str] = []
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                cases[number] = Case.model_validate_json(line)
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                place = ".".join(map(str, first["loc"])) or "the line"
                wrong.append(f"line {number}: {place}: {first['msg']}")
        if wrong or not cases:
            told = "; ".join(wrong[:_SHOWN]) or "it holds no case"
            raise ConfigError(f"answer key {name}: {told}")
        return cls(name, tuple(cases.values()), tuple(cases), data)

    @property
    def sha256(self) -> str:
        """Digest of the file."""
        return hashlib.sha256(self.data).hexdigest()

    def frozen(self, lines: int) -> str:
        """Digest of its first lines, which stays when cases are added below them."""
        kept = self.data.split(b"\n")[:lines]
        return hashlib.sha256(b"".join(line + b"\n" for line in kept)).hexdigest()

    def without_hostile(self) -> AnswerKey:
        """The cases that any program may be run on in this process."""
        kept = [n for n, case in enumerate(self.cases) if not case.hostile]
        return replace(
            self,
            cases=tuple(self.cases[n] for n in kept),
            lines=tuple(self.lines[n] for n in kept),
        )

    def check(
        self,
        verifier: Judge,
        *,
        kind: str | None = None,
        judge: Callable[[Sequence[Candidate]], Sequence[Verdict]] | None = None,
    ) -> Report:
        """Put all cases to a verifier.

        A case with settings is put to another one of its class, which is made with them, in this
        process. Settings that are refused amount to an abstention that failed at *config*.

        Args:
            verifier: What is checked.
            kind: Kind of the candidates; the verifier's own unless given.
            judge: What asks it, such as a worker pool; this process unless given.

        Raises:
            ConfigError: If there are more or fewer verdicts than cases.
        """
        kind = kind or str(getattr(verifier, "kind", "text"))
        of = verifier if isinstance(verifier, Verifier) else None  # A twin has no settings.
        plain = [
            case for case in self.cases
            if (not case.settings if of is not None else case.among is None)
        ]  # fmt: skip
        asked = [case.as_candidate(kind) for case in plain]
        told = (judge or verifier.judge)(asked) if asked else []
        if len(told) != len(plain):
            raise ConfigError(f"{len(told)} verdicts for {len(plain)} cases")
        given = iter(told)
        verdicts = []
        for case in self.cases:
            if of is not None and case.settings:
                verdict = _said(of, case, kind)
            elif of is None and case.among is not None:
                verdict = verifier.judge(case.members(kind))[0]
            else:
                verdict = next(given)
            verdicts.append(case.own(verdict))
        return Report(
            self.name,
            tuple(
                Graded(line, case, verdict, case.disagreement(verdict))
                for line, case, verdict in zip(self.lines, self.cases, verdicts, strict=True)
            ),
        )

    def weaknesses(self, twins: Mapping[str, Judge]) -> list[str]:
        """What makes a key too easy: too few cases, or naive twins that it can't tell apart.

        Args:
            twins: Naive checkers by name: at least two beside `CONSTANT_TWINS`, which are tried
                anyhow.

        Returns:
            What to mend, in words; empty if the key is good enough.
        """
        everybody = {**CONSTANT_TWINS, **twins}
        tame = self.without_hostile()
        outcomes = [case.outcome for case in tame.cases]
        needed = [
            (outcomes.count(Outcome.ACCEPT), FEWEST_RIGHT, "right answers"),
            (outcomes.count(Outcome.REJECT), FEWEST_WRONG, "wrong answers"),
            (outcomes.count(Outcome.ABSTAIN), FEWEST_ABSTENTIONS, "abstentions"),
            (len(everybody), FEWEST_TWINS, "naive twins"),
        ]
        few = [
            f"{n} {what}; at least {least} are needed" for n, least, what in needed if n < least
        ]
        scores = {name: tame.check(twin).balanced_accuracy for name, twin in everybody.items()}
        return few + [
            f"the naive twin {name!r} reaches a balanced accuracy of {score:.3f}; add wrong "
            "answers that it accepts, or right ones that it rejects"
            for name, score in scores.items()
            if score >= WEAK_TWIN
        ]


def _said(verifier: Verifier, case: Case, kind: str) -> Verdict:
    """What a verifier says of a case that has settings of its own."""
    try:
        made = type(verifier)(**{**verifier.settings, **case.settings})
    except ConfigError as error:
        return failure(error)
    (verdict,) = made.judge([case.as_candidate(kind)])
    return verdict


@dataclass(frozen=True)
class Constant:
    """The most naive twin: it says one thing of everything."""

    verdict: Verdict

    def judge(self, candidates: Sequence[Candidate], /) -> list[Verdict]:
        """The same verdict for each."""
        return [self.verdict] * len(candidates)


@dataclass(frozen=True)
class Twin:
    """A naive checker, from a function of content and task that says whether an answer is right.

    An error is a no, as in most reward functions.

    Example:
        >>> same = Twin(lambda content, task: content == task["answer"])
        >>> [v.outcome.value for v in same.judge([Candidate("text", "4", task={"answer": "4"})])]
        ['accept']
    """

    function: Callable[[str, Mapping[str, Any]], bool]

    def judge(self, candidates: Sequence[Candidate], /) -> list[Verdict]:
        """Accept where the function says so."""
        return [
            Verdict.accept(1.0) if self._says_yes(each) else Verdict.reject("the twin says no")
            for each in candidates
        ]

    def _says_yes(self, candidate: Candidate) -> bool:
        try:
            return bool(self.function(str(candidate.content), candidate.task or {}))
        except Exception:  # noqa: BLE001  # What it stands for does the same.
            return False


CONSTANT_TWINS: dict[str, Judge] = {
    "accepts all": Constant(Verdict.accept(1.0)),
    "rejects all": Constant(Verdict.reject("no")),
    "abstains from all": Constant(Verdict.abstain("no opinion")),
}
"""The twins that every key is tried on, beside two or more of its own."""
