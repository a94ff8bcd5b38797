"""Verifiers: named, versioned code that looks at candidates and returns verdicts."""

from __future__ import annotations

import errno
import numbers
import reprlib
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from functools import cached_property
from inspect import isgeneratorfunction
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast, get_args

from verifier_ladder.arguments import check_values, checked_value
from verifier_ladder.candidate import Candidate
from verifier_ladder.containment import words_of
from verifier_ladder.cost import Cost
from verifier_ladder.environment import declared
from verifier_ladder.errors import (
    AnswerError,
    CandidateError,
    ConfigError,
    LadderError,
    PluginError,
    SandboxError,
    ServiceError,
    VerifierError,
)
from verifier_ladder.group import is_group, refuse_contradictions, seen_members, together
from verifier_ladder.hidden import check_hidden
from verifier_ladder.keys import canonical_json, digest, in_namespace
from verifier_ladder.measurement import BOUND, Bound
from verifier_ladder.rate import Rate, as_rate
from verifier_ladder.resource import Resource
from verifier_ladder.services.service import Service, checked_services, digests_of
from verifier_ladder.sourcecode import PREFIX, Fingerprint, SourceVersion, fingerprint
from verifier_ladder.tags import checked_capabilities
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import LARGEST_WEIGHT, NO_EVIDENCE, Outcome, Verdict, plain_verdict

if TYPE_CHECKING:
    from pydantic import BaseModel

    from verifier_ladder.tiers.sandbox import Backend, Sandbox

Isolation = Literal["process", "inline"]
Role = Literal["gate", "primary"]
Observed = Literal["outside", "inside", ""]
_WORDS = {
    "role": get_args(Role), "isolation": get_args(Isolation), "reads": ("canonical", "raw"),
    "observed": get_args(Observed), "scope": ("candidate", "group"),
}  # fmt: skip
_LEAST = {
    "batch_size": 1, "replicates": 1, "memory": 1, "max_processes": 1, "deviation": 0.0, "kind": 1,
}  # fmt: skip
_POSITIVE = ("timeout", "batch_size", "replicates", "memory", "max_processes", "weight")


A_CASE = Cost(person_minutes=5.0)
"""What a case is taken to cost where nothing is declared: whoever answers it has other things to
do, and what is not known is not nothing."""


_OF_CONTENT = (
    ArithmeticError, ValueError, TypeError, LookupError, AttributeError, AssertionError,
    RecursionError, SyntaxError,
)  # fmt: skip
"""What Python raises about values that a program did not expect."""
_CAUSES: dict[type[LadderError], str] = {
    AnswerError: "answer",
    ConfigError: "data",
    PluginError: "data",
    SandboxError: "host",
    ServiceError: "host",
}
"""What content may have to do with an error of ours. A set-up that can't work fails on any
content, so that comparing tells; others may be an outage."""
_BOUNDARIES = {
    None, LadderError.boundary, *(kind.boundary for kind in LadderError.__subclasses__()),
}  # fmt: skip
"""What a failure may name as `failed_at`."""
_TOO_LONG = (errno.E2BIG, errno.ENAMETOOLONG)
"""What the operating system says of content that was made an argument, or a file's name."""
_OF_HOST = frozenset({
    errno.EAGAIN, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOBUFS,
    errno.ENOMEM, errno.ENOSPC, errno.EROFS, errno.ESTALE, errno.ECONNREFUSED, errno.EHOSTDOWN,
    errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH, errno.ETIMEDOUT, socket.EAI_AGAIN,
})  # fmt: skip
"""What the operating system says when the machine is in trouble, or a service can't be reached. A
connection that breaks is not among them: content may have brought the service down."""


class MiscountError(AnswerError):
    """A verifier gave more or fewer answers than there were candidates."""


class Verifier:
    """Base class of every verifier; subclass it when there is a model to load or state to keep.

    A subclass sets the class attributes below, takes its settings in `__init__` and passes
    those that affect results to `super().__init__(**settings)`. `setup` runs once in every
    worker; `verify` gets a batch and returns one verdict per candidate, in order.

    **Guarantees to the author.** `verify` is called from one thread of one process at a time.
    A candidate that crashes or hangs the worker is found by bisection and costs nobody else
    a verdict. Raise `CandidateError` for a bad candidate, `ToolError` when a tool failed.

    Example:
        >>> class Length(Verifier):
        ...     name, version, tier, kind = "length", "1", "fast", "text"
        ...     def verify(self, candidates):
        ...         return [float(len(c.content)) for c in candidates]
        >>> Length().judge([Candidate("text", "abc")])[0].score
        3.0
    """

    name: str = ""
    version: str = cast("str", SourceVersion())
    """What a verdict is filed under beside the name; a digest of the source code if none is
    given, so that edited code never answers with what the code before it said."""
    tier: Tier | str = Tier.FAST
    kind: str = "text"
    cost: Cost = Cost()
    """What one check is expected to take; money and people's attention that `expected_cost` may
    name have to be declared here too. A verifier that waits and declares nothing takes five
    minutes of a person."""
    scope: Literal["candidate", "group"] = "candidate"
    """`group` for one that compares: `verify` gets all members of one group, the completions of a
    prompt, and what it answers holds inside that group only."""
    role: Role = "primary"
    """A gate only accepts or rejects; a primary verifier gives its tier's score. The score of
    several is their mean, by `weight`."""
    definitive: bool = False
    """Whether its reject is what bad means, such as text that is no molecule: such rejects are
    never audited by the top tier."""
    features: Sequence[str] = ()
    """Names of numbers in its verdicts' evidence that help to predict the target and costs."""
    isolation: Isolation = "process"
    """`inline` is for trusted pure Python that can neither hang nor crash."""
    sandbox: Sandbox | None = None
    """Where it runs programs that it does not trust, if it runs any; see
    `verifier_ladder.tiers.sandbox`. Declared here, it is warm before the first `verify`."""
    services: Mapping[str, Service] = {}
    """Processes of the machine that hold a model for all its workers, by name: `vl.Service`."""
    observed: Observed = ""
    """Where what it judges by is seen: `outside` the reach of what the candidate runs, so that no
    candidate can make itself right; or `inside`, by code that shares a process with it, which is
    evidence and no proof. "" where it is not declared. A ladder may demand `outside`."""
    timeout: float = 60.0
    """Seconds one candidate may take once work on it has started; of a verifier that answers
    about many together (`answers_together`), seconds that a call may take."""
    memory: int | None = None
    """Bytes a worker may use; None for the engine's limit."""
    batch_size: int = 256
    """How many candidates a worker is given at once."""
    reads: Literal["canonical", "raw"] = "canonical"
    task_fields: Sequence[str] | None = ()
    """Names of the task fields it reads; None for all of them. They are part of the check key."""
    reads_turns: bool = False
    replicates: int = 1
    """How many checks a stochastic verifier wants per candidate. Each is kept, paid for and
    recorded by itself, and has a random seed of its own; the tier says what they say together."""
    unit: str = ""
    weight: float = 1.0
    """How much its score counts where several verifiers score in one tier."""
    hidden: Sequence[str] = ()
    """Names of task fields that no learner may see, such as the expected answer. What they hold
    is masked wherever a verdict has words; see `verifier_ladder.hidden`."""
    deviation: float | None = None
    """Declared standard deviation of its score around the target, in target units."""
    same_quantity: bool = False
    """Whether its score estimates the target itself, in the target's unit."""
    control: Candidate | None = None
    """A candidate that is certainly harmless. When it passes and another candidate fails again
    and again, the fault is that candidate's, and it is rejected. Without one, a candidate that
    passed before stands in for it."""
    rate: Rate | str | None = None
    """How many of its checks may begin in a time, on all hosts together, such as `"10/s"`;
    `Rate("10/s", name="openai")` where several verifiers share it. Checks wait in the queue, and
    samples of the first tier where they are scored. It is no part of the check key."""
    max_processes: int | None = None
    """How many workers of a machine may be at work for it at once; None for any number."""
    network: bool = False
    """Whether it asks services over a network. Then neither silence nor errors that may be
    theirs are ever held against a candidate."""
    env: Sequence[str] | str = ()
    """Names of variables that it reads, beside the harmless ones that every worker has. They are
    no part of the check key: raise the version where another value changes results."""
    secrets: Sequence[str] | str = ()
    """Names of variables that it reads and nobody else may see. Their values travel with each
    request, are in `os.environ` while it works, and are masked in all that it says."""
    tools: Mapping[str, str] = {}
    """Versions of the tools that affect results."""
    capabilities: Sequence[str] | str = ()
    """What it looks at, for report cards: planning, memory, tool use, reasoning,
    self-improvement, perception."""
    domain: str = ""
    """Field of application, for report cards, such as chemistry."""
    namespace: str = ""
    """The cache namespace of the campaign that uses it; campaigns set it on copies."""
    data_settings: ClassVar[type[BaseModel] | None] = None
    """Settings that a campaign's row in a ledger may choose for a worker that holds this class: a
    pydantic model of all of them. Declare only what can do no harm whatever it is, such as
    numbers within bounds, never a path, a command, an address or free text that a library reads.
    None, the default, has a row choose only among the verifiers that exist already."""
    waits: ClassVar[bool] = False
    """Whether it opens a case and answers later (world tier) instead of computing."""

    def __init__(self, **settings: Any) -> None:
        """Keep the settings that affect results.

        Args:
            settings: JSON values; they are part of every check key.

        Raises:
            ConfigError: If the class lacks a name, an attribute makes no sense, or a setting
                can't be a key.
        """
        identity: tuple[object, ...] = (self.name, self._given_version)
        if not all(isinstance(part, str) and part for part in identity):
            raise ConfigError(
                f"verifier {type(self).__name__} needs a name and a version, as text; both are "
                "part of what a verdict is filed under. Without a version, a digest of the source "
                "code is it"
            )
        self.tier = Tier.parse(self.tier)
        if self.waits and self.cost == Cost():
            self.cost = A_CASE
        if isinstance(self.task_fields, str):
            self.task_fields = (self.task_fields,)
        self.env = declared(self.name, "env", self.env)
        self.secrets = declared(self.name, "secrets", self.secrets)
        if isinstance(self.hidden, str):
            self.hidden = (self.hidden,)
        self.capabilities = checked_capabilities(self.capabilities, f"verifier {self.name}")
        _check_words(self)
        _take_sandbox(self)
        self.services = checked_services(self)
        as_rate(self.rate, self.name)  # refuses what is none
        values = {name: getattr(self, name) for name in _ATTRIBUTES}
        check_values(f"verifier {self.name}", _ATTRIBUTES, values, **_LEAST)
        _check_numbers(self)
        if self.max_processes is not None and self.isolation == "inline":
            raise ConfigError(
                f"verifier {self.name} has max_processes, which counts workers, and needs none: "
                'leave out isolation="inline"'
            )
        check_hidden(self)
        if self.scope == "group":
            refuse_contradictions(self)
        if self.waits:
            checked_patience(self)
        if self.control is not None and self.control.kind != self.kind:
            raise ConfigError(
                f"verifier {self.name} is about {self.kind}, and its control is a "
                f"{self.control.kind}; give a harmless candidate of its own kind"
            )
        self.settings: dict[str, Any] = settings
        canonical_json({"settings": settings, "tools": dict(self.tools)})

    @cached_property
    def digest(self) -> bytes:
        """Digest of all that affects its results: name, version, settings, tools."""
        identity: dict[str, Any] = {
            "name": self.name, "version": self.version, "settings": self.settings,
            "tools": dict(self.tools), "reads": self.reads,
        }  # fmt: skip
        if self.sandbox is not None:
            identity["sandbox"] = self.sandbox.identity
        if self.hidden:
            identity["hidden"] = sorted(self.hidden)
        identity |= {"scope": self.scope} if self.scope == "group" else {}
        return digest(identity | digests_of(self.services))

    @cached_property
    def key_digest(self) -> bytes:
        """What stands for it in check keys: its digest, apart in every cache namespace."""
        return in_namespace(self.digest, self.namespace)

    @property
    def earlier(self) -> Sequence[bytes]:
        """Its `key_digest` as its campaign has had it before, the newest first.

        What it said then holds for samples that were decided by it and still climb.
        """
        return ()

    @property
    def _given_version(self) -> object:
        """The version that the author gave; how those from source begin if there is none."""
        for space in (vars(self), *map(vars, type(self).__mro__)):
            if "version" in space:
                given = space["version"]
                return PREFIX if isinstance(given, SourceVersion) else given
        return PREFIX

    @property
    def source(self) -> Fingerprint:
        """What is known of its source code, to notice a change without a new version.

        It is read once: data that the code reads may change while it runs.
        """
        if "_source" not in vars(self):
            self._source = fingerprint(self)
        return self._source

    @property
    def source_digest(self) -> str:
        """Digest of its source code; "" if unknown."""
        return self.source.digest

    def _depends_on(self) -> object:
        """What its results depend on beside its settings; None if that is no code."""
        if self._given_version != PREFIX:  # Then its state is its author's to tell.
            return type(self)
        return [type(self), {k: v for k, v in vars(self).items() if k not in _NOT_CODE}]

    def __getstate__(self) -> dict[str, Any]:
        """Travel with the version that it has here, for the source may be elsewhere another.

        So does the sandbox's back end, which is part of what its verdicts are filed under.
        """
        if self.sandbox is not None:
            self.sandbox.backend  # noqa: B018 - it is chosen now
        return {**vars(self), "version": self.version}

    def in_sandbox(self, backend: Backend) -> Self:
        """The same verifier on a certain back end, for a host whose campaigns chose that one."""
        made = copy(self)
        made.sandbox = None if self.sandbox is None else self.sandbox.on(backend)
        for name in ("digest", "key_digest"):
            made.__dict__.pop(name, None)
        return made

    @property
    def spends(self) -> tuple[Resource, ...]:
        """What it takes that only somebody can allow: money and people's attention.

        It is what `cost` declares. A campaign asks such a verifier only under a cap for it, or
        where `"unlimited"` was said.
        """
        allowed = (Resource.MONEY, Resource.PERSON_MINUTES)
        return tuple(r for r in allowed if self.cost.amounts[r] > 0.0)

    @property
    def shared_rate(self) -> Rate | None:
        """Its rate, with the name under which the ledger keeps it."""
        return as_rate(self.rate, self.name)

    @property
    def answers_together(self) -> bool:
        """Whether `verify` answers about a list at once; a generator gives each by itself."""
        return not isgeneratorfunction(self.verify)

    def setup(self) -> None:
        """Load models and tools; runs once in each worker, before the first `verify`."""

    def verify(self, candidates: Sequence[Candidate]) -> Iterable[Verdict | float | bool | None]:
        """Judge a batch; return one answer per candidate, in the same order, or yield them.

        What is yielded is delivered within a tenth of a second, so that a candidate that takes
        long, hangs or crashes does not hold back those before it.
        """
        del candidates
        raise TypeError(f"{type(self).__name__} has no verify method")

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What this candidate is expected to cost; the declared cost unless overridden.

        Above the first tier, a check whose own expected cost has `gpu_seconds` goes to hosts that
        have a GPU, and one that has none to any. Where its verdict names no cost, it is charged
        what was expected of it, beside the cpu time that was measured.
        """
        del candidate
        return self.cost

    def answered(self, candidate: Candidate, value: object) -> Verdict:
        """Make a verdict of a result that came from outside, for a verifier that waits.

        Args:
            candidate: What the case was about.
            value: A verdict, a number, a `Bound`, a truth value, or None to decline.

        Raises:
            VerifierError: If the value can't be a verdict of this verifier.
        """
        del candidate
        if isinstance(value, Bound):
            return undecided(value, self)
        return as_verdict(value, unit=self.unit)

    def stream(self, candidates: Sequence[Candidate]) -> Iterator[object]:
        """Run `verify` and give its answers, each as it comes where `verify` yields them.

        Raises:
            VerifierError: If the number of answers is wrong. What was given before means nothing.
        """
        if self.scope == "group" and len(candidates) and is_group(candidates[0]):
            return self.stream_groups(candidates)
        wanted = len(candidates)  # The list is the verifier's to change.
        answers: Any = self.verify(candidates)
        if isinstance(answers, Iterator):
            answers = self._counting(answers, wanted)
        else:
            answers = iter(self.counted(answers, wanted))
        return answers if self.sandbox is None else map(self._in_its_sandbox, answers)

    def stream_groups(self, groups: Sequence[Candidate]) -> Iterator[object]:
        """Judge groups one after the other; each gives one verdict that holds its members'."""
        return (together(self.judge(seen_members(self, group))) for group in groups)

    def _in_its_sandbox(self, answer: object) -> Verdict:
        """An answer as a verdict whose evidence names the sandbox that stood behind it."""
        verdict, name = self.verdict_of(answer), self.sandbox.name if self.sandbox else ""
        return replace(verdict, evidence={**verdict.evidence, "sandbox": name})

    def counted(self, answers: Any, wanted: int) -> Sequence[object]:
        """Answers about so many candidates; a `VerifierError` if there are others."""
        count = _count(answers)
        if count is None:
            raise AnswerError(
                f"verifier {self.name} returned a {type(answers).__name__}; return a list with "
                "one verdict per candidate, or yield them one by one"
            )
        if count != wanted:
            raise self._miscount(count, wanted)
        return answers.tolist() if hasattr(answers, "tolist") else answers  # type: ignore[no-any-return]

    def _counting(self, answers: Iterator[object], wanted: int) -> Iterator[object]:
        count = 0
        for count, answer in enumerate(answers, 1):
            if count > wanted:
                raise self._miscount(f"more than {wanted}", wanted)
            yield answer
        if count < wanted:
            raise self._miscount(count, wanted)

    def _miscount(self, count: int | str, wanted: int) -> MiscountError:
        return MiscountError(
            f"verifier {self.name} returned {count} verdicts for {wanted} candidates"
        )

    def judge(self, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Run `verify` and make every answer a proper verdict.

        Raises:
            VerifierError: If the number of answers is wrong.
        """
        # Rewards are often 0 and 1: equal numbers share a verdict. Zero and minus zero don't.
        shared: dict[tuple[type, object], Verdict] = {}
        verdicts = []
        for answer in self.stream(candidates):
            kind = type(answer)
            if kind is not float and kind is not bool:
                verdicts.append(self.verdict_of(answer))
                continue
            key = (kind, answer or str(answer))
            verdict = shared.get(key)
            if verdict is None:
                verdict = shared[key] = self.verdict_of(answer)
            verdicts.append(verdict)
        return verdicts

    def verdict_of(self, answer: object) -> Verdict:
        """Make one answer a verdict; one that can't be is an abstention, not an error."""
        try:
            return as_verdict(answer, unit=self.unit)
        except VerifierError as error:
            return failure(error)

    def as_json(self) -> dict[str, Any]:
        """What the ledger records of it."""
        tags: dict[str, Any] = {"capabilities": list(self.capabilities), "domain": self.domain}
        tags["scope"] = self.scope if self.scope == "group" else ""
        if self.replicates > 1:
            tags["replicates"] = self.replicates
        if self.sandbox is not None:
            tags["sandbox"] = self.sandbox.name
        tags["services"] = {name: each.as_json() for name, each in self.services.items()}
        if self.weight != 1.0:
            tags["weight"] = float(self.weight)
        tags["observed"], tags["hidden"] = self.observed, list(self.hidden)
        tags["cost"] = {name: amount for name, amount in asdict(self.cost).items() if amount}
        return {
            "name": self.name, "version": self.version, "tier": Tier.parse(self.tier).label,
            "kind": self.kind, "role": self.role, "settings": self.settings,
            "tools": dict(self.tools), "unit": self.unit, "deviation": self.deviation,
            "same_quantity": self.same_quantity, "definitive": self.definitive,
            "features": list(self.features), "digest": self.digest.hex(),
            **{name: value for name, value in tags.items() if value},
        }  # fmt: skip

    def __repr__(self) -> str:
        """Show what identifies it."""
        try:
            version = self.version
        except ConfigError:
            version = "without a version"
        return f"<verifier {self.name} {version} ({Tier.parse(self.tier).label})>"


def undecided(bound: Bound, verifier: Verifier) -> Verdict:
    """A bound that is an answer, and decides nothing."""
    unit = f" {verifier.unit}" if verifier.unit else ""
    why = f"{verifier.name}: {bound}{unit}, a bound and no number"
    return Verdict.abstain(why, evidence={BOUND: bound.as_json()})


def as_verdict(answer: object, *, unit: str = "") -> Verdict:
    """Read what a verifier answered: a verdict, a number, a truth value, or None.

    A number is an accept with that score; True and False are accept and reject with score 1
    and 0; None is a considered abstention.

    Raises:
        AnswerError: If it is anything else, or a number that is not finite.
    """
    if type(answer) is float and isfinite(answer):
        return plain_verdict(Outcome.ACCEPT, answer, None, unit, None)
    if isinstance(answer, Verdict):
        return answer if answer.failed_at in _BOUNDARIES else _misnamed(answer)
    if type(answer).__name__ in _MISSING:
        raise AnswerError(f"{answer!r} is no number; answer None where nothing is known")
    if not isinstance(answer, (float, int, str)) and hasattr(answer, "item"):
        answer = _scalar(answer)
    if isinstance(answer, bool):
        if answer:
            return plain_verdict(Outcome.ACCEPT, 1.0, None, unit, None)
        why = "the verifier said no"
        return Verdict(Outcome.REJECT, 0.0, unit=unit, reason=why, evidence=NO_EVIDENCE)
    if isinstance(answer, numbers.Real):
        return Verdict(Outcome.ACCEPT, answer, unit=unit)  # type: ignore[arg-type]
    if answer is None:
        return Verdict.abstain("the verifier has no opinion")
    raise AnswerError(
        f"a verifier must answer with a Verdict, a number, True, False or None, "
        f"not {type(answer).__name__}: {reprlib.repr(answer)}"
    )


def _misnamed(verdict: Verdict) -> Verdict:
    """The failure that one at an unknown boundary amounts to: its author's slip."""
    names = ", ".join(sorted(name for name in _BOUNDARIES if name))
    why = f"{verdict.reason} (failed_at={verdict.failed_at!r} is none of {names})"
    return replace(verdict, failed_at=VerifierError.boundary, reason=why)


def checked_patience(verifier: Verifier) -> float | None:
    """Seconds until a case of a verifier that waits expires; None for never.

    Raises:
        ConfigError: If that is not what it says.
    """
    patience = getattr(verifier, "patience", None)
    checked_value(f"verifier {verifier.name}", "patience", patience, "float | None")
    if patience is not None and patience <= 0:
        raise ConfigError(
            f"verifier {verifier.name}: patience={patience!r}: give seconds above 0, or None if "
            "its cases never expire"
        )
    return None if patience is None else float(patience)


def _count(answers: Any) -> int | None:
    """How many answers there are; None for what holds none in an order of its own."""
    if isinstance(answers, (str, bytes, Mapping)) or not hasattr(answers, "__getitem__"):
        return None
    try:
        return len(answers)
    except TypeError:  # an array without dimensions
        return None


def _check_words(verifier: Verifier) -> None:
    isolation: Any = verifier.isolation
    if isolation == "sandbox":
        raise ConfigError(
            f'isolation="sandbox" of verifier {verifier.name}: the sandbox is for the programs '
            "that a verifier runs, not for the verifier, which knows the answers; declare "
            "sandbox=Sandbox() of verifier_ladder.tiers.sandbox, and call its run(program, "
            "inputs, limits)"
        )
    for name, words in _WORDS.items():
        if (value := getattr(verifier, name)) not in words:
            known = " or ".join(filter(None, words))
            raise ConfigError(f"{name}={value!r} of verifier {verifier.name}: write {known}")


def _take_sandbox(verifier: Verifier) -> None:
    """Give it the sandbox that its class declares as its own: the back end is chosen for each."""
    declared: Any = verifier.sandbox
    if declared is None:
        return
    from verifier_ladder.tiers.sandbox import Sandbox

    if not isinstance(declared, Sandbox):
        raise ConfigError(
            f"sandbox={declared!r} of verifier {verifier.name}: give Sandbox() of "
            "verifier_ladder.tiers.sandbox, with what its programs start with"
        )
    if verifier.isolation == "inline":
        raise ConfigError(
            f"verifier {verifier.name} has a sandbox, which a worker process has to hold and to "
            'meter; leave out isolation="inline"'
        )
    verifier.sandbox = declared.fresh()


def _check_numbers(verifier: Verifier) -> None:
    for name in (*_POSITIVE, "deviation"):
        value = getattr(verifier, name)
        if value is None and getattr(Verifier, name) is None:
            continue
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not is_number or not (value > 0 or (value == 0 and name not in _POSITIVE)):
            raise ConfigError(
                f"{name}={value!r} of verifier {verifier.name}: give a positive number"
            )
    if verifier.weight > LARGEST_WEIGHT:
        raise ConfigError(
            f"weight={verifier.weight!r} of verifier {verifier.name}: give at most "
            f"{LARGEST_WEIGHT:g}"
        )


def weighed(verifier: Verifier, weight: Any) -> Verifier:
    """A copy of a verifier with another weight in its tier.

    Raises:
        ConfigError: If that is no weight.
    """
    made = copy(verifier)
    made.weight = weight
    _check_numbers(made)
    return made


def _scalar(answer: Any) -> object:
    """The Python number inside a numpy or torch scalar."""
    try:
        return answer.item()
    except (TypeError, ValueError, RuntimeError) as error:
        raise AnswerError(f"expected one number per candidate: {error}") from error


def failure(error: BaseException) -> Verdict:
    """The verdict that an error amounts to.

    A reject if the candidate is certainly at fault, else an abstention. Whether that becomes a
    reject is up to the engine, which tries the candidate again beside others; so the evidence
    tells what kind of error it was, as its cause: `answer` is no verdict, `data` is what content
    can bring about in a program that did not expect it, `host` is the machine's own trouble, which
    is never held against a candidate, `error` is any other. What the operating system refuses is
    a tool's failure, also where a library has raised an error of its own from it. An error of
    ours names its boundary, and is no better evidence than others: whoever runs what a candidate
    says may raise it by the candidate's choice.
    """
    text = words_of(error) or type(error).__name__
    if isinstance(error, CandidateError):
        return Verdict.reject(text, feedback=error.feedback)
    system = _system_errors(error)
    if any(one.errno in _OF_HOST for one in system) and not isinstance(error, MemoryError):
        text = f"{type(error).__name__}: {text}"
        return Verdict.abstain(text, failed_at="tool", evidence={"cause": "host"})
    if isinstance(error, LadderError):
        causes = (cause for kind, cause in _CAUSES.items() if isinstance(error, kind))
        known = next(causes, "error")
        return Verdict.abstain(text, failed_at=error.boundary, evidence={"cause": known})
    if isinstance(error, MemoryError):
        return Verdict.abstain(f"out of memory {text}".strip(), failed_at="engine")
    text = f"{type(error).__name__}: {text}"
    cause = "data" if _is_of_content(error) else "error"
    if cause == "error" and system:
        return Verdict.abstain(text, failed_at="tool", evidence={"cause": cause})
    return Verdict.abstain(text, failed_at="verifier", evidence={"cause": cause})


def _is_of_content(error: BaseException) -> bool:
    is_too_long = isinstance(error, OSError) and error.errno in _TOO_LONG
    return is_too_long or isinstance(error, _OF_CONTENT)


def _system_errors(error: BaseException) -> list[OSError]:
    """What the operating system said: the error, and those that it was raised from or beside."""
    found: dict[int, BaseException] = {}
    unseen: list[BaseException | None] = [error]
    while unseen:
        one = unseen.pop()
        if one is not None and id(one) not in found:  # A chain of causes may be a circle.
            found[id(one)] = one
            group = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
            unseen += [one.__cause__, one.__context__, *group]
    return [one for one in found.values() if isinstance(one, OSError)]


_MISSING = frozenset({"MaskedConstant", "NAType", "NaTType"})
"""What stands for a missing number in numpy and pandas; numpy's would be read as 0."""
_CHECKED_APART = {*_WORDS, "name", "version", "tier", "sandbox", "rate", "services"}
_ATTRIBUTES = {
    name: annotation
    for name, annotation in Verifier.__annotations__.items()
    if name not in _CHECKED_APART and not str(annotation).startswith("ClassVar")
}
"""What is checked of every verifier by its annotation; the others have checks of their own."""
_NOT_CODE = {
    *Verifier.__annotations__,
    "settings",
    "digest",
    "key_digest",
    "_source",
    "_is_set_up",
}
"""Attributes that change no result, or are part of the key already."""
