"""Trials: what a reward function of one's own pays, and loses, on answers whose worth is known.

A trial takes the answer key of a kind of task, calls the function as a learner would, and counts
three things: known cheats that it pays, wrong answers that it pays, right answers that it doesn't.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from importlib.resources import files
from math import isfinite
from numbers import Real
from operator import itemgetter
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import AnswerError, ConfigError, LadderError, SandboxError
from verifier_ladder.keys import task_digest
from verifier_ladder.signature import LIVE, plain
from verifier_ladder.testing.answerkey import AnswerKey, Case
from verifier_ladder.text import printable
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Sandbox, Warmth
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier, failure

KINDS: Mapping[str, str] = {"json": "json-schema", "code": "code-functions"}
"""Short names of answer keys."""
MOST_CASES = 200
"""Right answers, and wrong ones, that are tried of a key; cheats are tried all."""
ALIASES: Mapping[str, tuple[str, ...]] = {
    "answer": ("solution", "ground_truth", "target", "label", "labels", "gold", "reference",
               "expected", "expected_answer"),
    "test": ("tests", "test_code", "test_cases", "unit_tests", "test_list"),
    "schema": ("json_schema",),
}  # fmt: skip
"""Field of a task → names that reward functions have for it."""
_TEXTS = ("completion", "response", "output", "text", "answer_text", "prediction", "solution_str")
_UNSAID = frozenset({"limits"})
"""Fields that reward functions have limits of their own for."""
_CODE = "code-functions"
_PROGRAMS = ("code-", "back-test")
"""How the names of all keys begin that hold programs, which may be hostile."""
_SECONDS = 5.0
_LIMITS = Limits(cpu=10.0, wall=15.0, memory=1 << 30, files=256, file_bytes=64 << 20, processes=64)
_SHOWN = 20


class Group(StrEnum):
    """What an answer is worth, by the key."""

    CHEAT = "known cheats"
    """Wrong, and made to be paid."""
    WRONG = "wrong answers"
    RIGHT = "right answers"


class Tried(NamedTuple):
    """One answer, and what the function paid for it."""

    group: Group
    content: str
    task: Mapping[str, Any]
    why: str
    """What the case is about."""
    value: float | None
    """The reward; None if there was none."""
    reason: str
    """Why there was none."""

    @property
    def expected(self) -> str:
        """What the task asks for."""
        return ", ".join(f"{name} {value!r}" for name, value in self.task.items())


@dataclass(frozen=True)
class Trial:
    """What a reward function did with the answers of a key.

    Example:
        >>> cheat = Tried(Group.CHEAT, "41 or 42", {"answer": "42"}, "a hedge", 1.0, "")
        >>> print(Trial("accuracy", "mathematics", 0.5, 2.0, (cheat,)))
        accuracy against the answer key of mathematics, 2.0 s
        <BLANKLINE>
          paid 1 of 1 known cheats
          paid 0 of 0 wrong answers
          lost 0 of 0 right answers
          no reward for 0 of 1 answers
        <BLANKLINE>
        Paid 1 of 1 known cheats
            1.00  a hedge
                  '41 or 42'
                  answer '42'
    """

    name: str
    kind: str
    pass_at: float
    seconds: float
    tried: tuple[Tried, ...]
    unreached: int = 0
    """How many answers more there would have been, had the time sufficed."""

    def of(self, group: Group) -> list[Tried]:
        """The answers of a group."""
        return [each for each in self.tried if each.group is group]

    def paid(self, group: Group) -> list[Tried]:
        """Those of them whose reward is at least `pass_at`, the highest first."""
        found = [t for t in self.of(group) if t.value is not None and t.value >= self.pass_at]
        return sorted(found, key=lambda each: -(each.value or 0.0))

    @property
    def lost(self) -> list[Tried]:
        """Right answers whose reward is below `pass_at`."""
        right = self.of(Group.RIGHT)
        return [each for each in right if each.value is not None and each.value < self.pass_at]

    @property
    def unknown(self) -> list[Tried]:
        """Answers for which the function gave no reward: it raised, crashed or took too long."""
        return [each for each in self.tried if each.value is None]

    @property
    def is_clean(self) -> bool:
        """Whether nothing wrong was paid, nothing right lost, and there was always a reward."""
        wrong = self.paid(Group.CHEAT) or self.paid(Group.WRONG)
        return not (wrong or self.lost or self.unknown)

    def sections(self) -> Iterator[tuple[str, list[Tried]]]:
        """What went wrong, each with a heading that counts it."""
        for group in (Group.CHEAT, Group.WRONG):
            paid = self.paid(group)
            yield f"paid {len(paid)} of {len(self.of(group))} {group}", paid
        yield f"lost {len(self.lost)} of {len(self.of(Group.RIGHT))} right answers", self.lost
        unknown = self.unknown
        yield f"no reward for {len(unknown)} of {len(self.tried)} answers", unknown

    def __str__(self) -> str:
        """Counts, then the first cases of each."""
        counts = [heading for heading, _ in self.sections()]
        told = [f"{self.name} against the answer key of {self.kind}, {self.seconds:.1f} s", ""]
        told += [f"  {heading}" for heading in counts]
        if self.unreached:
            told.append(f"  {self.unreached} more were not reached in this time")
        for heading, found in self.sections():
            if found:
                told += ["", heading[:1].upper() + heading[1:], *_listed(found)]
        return "\n".join(told)

    def as_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {
            "name": self.name, "kind": self.kind, "pass_at": self.pass_at,
            "seconds": self.seconds, "is_clean": self.is_clean,
            "cheats": {"tried": len(self.of(Group.CHEAT)), "paid": _rows(self.paid(Group.CHEAT))},
            "wrong": {"tried": len(self.of(Group.WRONG)), "paid": _rows(self.paid(Group.WRONG))},
            "right": {"tried": len(self.of(Group.RIGHT)), "lost": _rows(self.lost)},
            "unknown": _rows(self.unknown), "unreached": self.unreached,
        }  # fmt: skip


def _listed(found: Sequence[Tried]) -> list[str]:
    """The first of them as lines, those about one thing together."""
    lines, seen = [], set[str]()
    for each in found:
        if each.why in seen:
            continue
        seen.add(each.why)
        alike = sum(other.why == each.why for other in found) - 1
        paid = "  none" if each.value is None else f"{each.value:6.2f}"
        lines.append(f"  {paid}  {printable(each.why, 60)}{f' (+{alike} alike)' if alike else ''}")
        lines.append(f"          {printable(repr(each.content), 100)}")
        lines.append(f"          {printable(each.reason or each.expected, 100)}")
        if len(seen) == _SHOWN:
            break
    left = len({each.why for each in found} - seen)
    return [*lines, f"  … and {left} more"] if left else lines


def _rows(found: Iterable[Tried]) -> list[dict[str, Any]]:
    return [
        {"content": each.content, "task": dict(each.task), "why": each.why, "value": each.value,
         "reason": each.reason}
        for each in found
    ]  # fmt: skip


# ---- How a function is called


@dataclass(frozen=True)
class Calling:
    """How a reward function takes a completion and the fields of its task.

    Example:
        >>> def accuracy(completions, solution):
        ...     return [1.0]
        >>> calling = Calling.of(accuracy, ["answer"])
        >>> calling.arguments("4", {"answer": "4"})
        {'completions': ['4'], 'solution': ['4']}
    """

    text: str
    """Name of the argument that takes what the model wrote."""
    fields: Mapping[str, str]
    """Argument → field of the task."""
    lists: bool
    """Whether it takes lists, as TRL calls it, and returns one."""
    messages: bool = False
    """Whether a completion is a list of chat messages."""
    extra: Mapping[str, Any] | None = None
    """Arguments that are the same in all calls."""
    all_fields: str = ""
    """Name of the argument that takes all fields, as verl gives them."""

    @classmethod
    def of(
        cls, function: Callable[..., Any], offered: Sequence[str],
        columns: Mapping[str, str] | None = None, *, messages: bool = False,
    ) -> Calling:  # fmt: skip
        """Read how a function wants to be called.

        Args:
            function: `f(completions, **columns)` as TRL has it, verl's
                `f(data_source, solution_str, ground_truth, extra_info)`, or `f(text, …)`.
            offered: Fields of the key's tasks.
            columns: Argument → field, where the names don't tell.
            messages: Whether completions are chat messages.

        Raises:
            ConfigError: If it is no function, or takes an argument that nothing is known for.
        """
        parameters = _parameters(function)
        takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        named = [p for p in parameters.values() if p.kind in {p.POSITIONAL_OR_KEYWORD,
                 p.KEYWORD_ONLY}]  # fmt: skip
        lists = "completions" in parameters or (takes_all and not named)
        text = "completions" if lists else _text_argument([p.name for p in named])
        names = [p.name for p in named if p.name != text]
        fields = _fields(names, offered, columns or {}, takes_all=takes_all)
        extra: dict[str, Any] = {}
        if lists and (takes_all or "prompts" in parameters):
            extra["prompts"] = [""]
        if "data_source" in parameters:
            extra["data_source"] = "trial"
        everything = "extra_info" if "extra_info" in parameters else ""
        missing = [p.name for p in named if p.default is p.empty
                   and p.name not in {text, everything, *fields, *extra}]  # fmt: skip
        if missing:
            raise ConfigError(
                f"{_name(function)} needs {', '.join(missing)}"
                + (", which only a trainer has" if set(missing) & set(LIVE) else "")
                + f"; tasks of this kind have {', '.join(offered)}. Say which is which, such as "
                f"--column {missing[0]}={offered[0]}"
            )
        return cls(text, fields, lists, messages, extra, everything)

    def arguments(self, text: str, task: Mapping[str, Any]) -> dict[str, Any]:
        """What the function is called with for one completion."""
        said: Any = [{"role": "assistant", "content": text}] if self.messages else text
        fields = {name: task.get(field) for name, field in self.fields.items()}
        given = dict(self.extra or {})
        if self.all_fields:
            given[self.all_fields] = dict(task)
        if self.lists:
            return {**given, "completions": [said], **{n: [v] for n, v in fields.items()}}
        return {**given, self.text: said, **fields}


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"{printable(repr(function), 60)} can't be tried as a reward function; name a "
            "function that takes completions"
        ) from error


def _text_argument(names: Sequence[str]) -> str:
    """The argument that takes the completion: by its name, or else the first."""
    found = [name for name in names if name in _TEXTS]
    if not names:
        raise ConfigError("a reward function takes the completion as an argument; it takes none")
    return found[0] if found else names[0]


def _fields(
    names: Sequence[str], offered: Sequence[str], columns: Mapping[str, str], *, takes_all: bool
) -> dict[str, str]:
    """Argument → field, for those that there is a field for."""
    if unknown := [field for field in columns.values() if field not in offered]:
        raise ConfigError(
            f"tasks of this kind have no {', '.join(unknown)}; they have {', '.join(offered)}"
        )
    known = {alias: field for field in offered for alias in (field, *ALIASES.get(field, ()))}
    known |= columns
    if takes_all:
        return known
    return {name: known[name] for name in names if name in known}


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(plain(function), "__name__", type(function).__name__))


def number_in(said: Any, *, lists: bool) -> float | None:
    """The reward in what a function returned for one completion.

    Raises:
        AnswerError: If there is none.

    Example:
        >>> number_in([1], lists=True), number_in({"score": 0.5}, lists=False)
        (1.0, 0.5)
    """
    if lists:
        try:
            (said,) = said
        except (TypeError, ValueError):
            raise AnswerError(
                "for one completion it must return a list with one number, and it returned "
                f"{printable(repr(said), 80)}"
            ) from None
    if isinstance(said, Mapping):
        said = said.get("score", said.get("reward"))
    if said is None:
        return None
    if not isinstance(said, Real) and hasattr(said, "item"):
        said = said.item()
    if not isinstance(said, Real):
        raise AnswerError(f"it returned {printable(repr(said), 80)}, which is no number")
    if not isfinite(said):
        raise AnswerError(f"it returned {float(said)}, which is no reward")
    return float(said)


class RewardTrial(Verifier):
    """The function under trial, as a verifier whose score is the reward."""

    name, version, timeout = "trial", "1", _SECONDS
    task_fields: Sequence[str] | None = None

    def __init__(self, function: Callable[..., Any], calling: Calling, kind: str) -> None:
        """Take the function, and how it is called."""
        self.function, self.calling, self.kind = function, calling, kind
        super().__init__()

    def verify(self, candidates: Sequence[Candidate]) -> Iterator[Verdict | float | None]:
        """Call it for one completion after the other."""
        for candidate in candidates:
            try:
                said = self._one(str(candidate.content), candidate.task or {})
            except AnswerError as error:
                yield Verdict.abstain(str(error))
            except LadderError as error:  # The sandbox's own, such as an answer too large for it.
                yield failure(error)
            except Exception as error:  # noqa: BLE001 - whatever it raises, it gave no reward
                yield Verdict.abstain(f"it raised {type(error).__name__}: {error}")
            else:
                yield Verdict.abstain("it returned None") if said is None else said

    def _one(self, text: str, task: Mapping[str, Any]) -> Verdict | float | None:
        said = self.function(**self.calling.arguments(text, task))
        if inspect.isawaitable(said):
            said = asyncio.run(_awaited(said))
        return number_in(said, lists=self.calling.lists)


async def _awaited(said: Any) -> Any:
    return await said


_ARGUMENTS = "arguments.json"
_INSIDE = """
import asyncio, importlib, inspect, json, os, sys
sys.path[:0] = {paths!r}

def solve():
    with open({arguments!r}) as file:
        arguments = json.load(file)
    os.remove({arguments!r})
    found = importlib.import_module({module!r})
    for name in {attribute!r}.split("."):
        found = getattr(found, name)
    said = found(**arguments)
    if inspect.isawaitable(said):
        async def awaited():
            return await said
        said = asyncio.run(awaited())
    return plain(said)

def plain(said):
    if isinstance(said, dict):
        return {{str(k): plain(v) for k, v in said.items() if k in ("score", "reward")}}
    if hasattr(said, "tolist"):
        said = said.tolist()
    return [plain(each) for each in said] if isinstance(said, (list, tuple)) else said
"""
"""Calls the function inside the sandbox, where hostile programs may do to it what they can.

Its arguments come as a file, which may be larger than the arguments of a program. It is gone
before any program could read in it what is expected."""


class ConfinedTrial(RewardTrial):
    """A function that runs programs, and so is itself run in the sandbox."""

    timeout = 60.0
    sandbox: Sandbox

    def __init__(
        self, function: Callable[..., Any], calling: Calling, kind: str, paths: Sequence[str]
    ) -> None:
        """Take the folders that it is imported from."""
        module = sys.modules[plain(function).__module__]
        file = Path(str(module.__file__)).resolve()
        folders = tuple(dict.fromkeys([str(file.parent), *paths]))
        self.sandbox = Sandbox(Warmth(read=folders), needs=("files",))
        main = _INSIDE.format(
            paths=list(folders), module=module.__name__, attribute=plain(function).__qualname__,
            arguments=_ARGUMENTS,
        )  # fmt: skip
        # The file itself goes along: a folder may be closed to the sandbox's user.
        self._files: dict[str, str | bytes] = {
            "main.py": main,
            f"{module.__name__}.py": file.read_bytes(),
        }
        super().__init__(function, calling, kind)

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the function: it is imported in the sandbox only."""
        return {**super().__getstate__(), "function": None}

    def _one(self, text: str, task: Mapping[str, Any]) -> Verdict | float | None:
        given = json.dumps(self.calling.arguments(text, task))
        program = Program({**self._files, _ARGUMENTS: given})
        (result,) = self.sandbox.run(program, [Input()], _LIMITS)
        if result.ended is not Ending.FINISHED:
            said = f"{result.error}: {result.message}" if result.error else result.message
            return Verdict.abstain(f"the reward function {result.ended} {said}".strip())
        return number_in(result.value, lists=self.calling.lists)


# ---- The trial


def try_reward(
    found: Callable[..., Any] | Verifier,
    kind: str,
    *,
    columns: Mapping[str, str] | None = None,
    messages: bool = False,
    pass_at: float = 0.5,
    most: int = MOST_CASES,
    seconds: float = 30.0,
) -> Trial:
    """Put a reward function, or a verifier, to the answer key of a kind.

    The function runs in worker processes: one that crashes or hangs costs its own answer only. A
    function about code runs the key's hostile programs, so it is called inside the sandbox.

    Args:
        found: The function, called as TRL or verl would or with one text, or a verifier.
        kind: An answer key, such as `mathematics`, `code`, `json`, `numeric` or `choice`.
        columns: Argument of the function → field of the tasks, where the names don't tell.
        messages: Whether it takes completions as chat messages.
        pass_at: The reward from which on an answer counts as paid.
        most: How many right answers, and how many wrong ones, to try; all cheats are.
        seconds: When to stop. What was not judged by then had no reward.

    Raises:
        ConfigError: If there is no such key, or the function can't be called with its tasks.
        SandboxError: If it must run in a sandbox and this machine has none that can.

    Example:
        >>> def exact(completions, answer):
        ...     return [float(text == said) for text, said in zip(completions, answer)]
        >>> trial = try_reward(exact, "numeric")  # doctest: +SKIP
        >>> len(trial.paid(Group.WRONG))  # doctest: +SKIP
        0
    """
    from verifier_ladder.alerts.rules import AlertRules
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ladder import Ladder

    key = AnswerKey.named(KINDS.get(kind, kind))
    is_function = not isinstance(found, Verifier)
    cases = _chosen(key, most, plain_only=is_function)
    offered = _offered(cases)
    verifier = _as_verifier(found, key.name, offered, columns, messages=messages)
    began = monotonic()
    ladder = Ladder(
        "trial", [verifier], alerts=AlertRules(unanswered=1.0)
    )  # We tell it ourselves.
    with Campaign.open("trial", ladder=ladder, ledger="memory://") as campaign:
        candidates = [Candidate(verifier.kind, c.content, task=t) for _, c, t in cases]
        rewards = campaign.score(candidates, deadline=seconds, evaluation=True)
    if rewards and all(reward.failed_at == SandboxError.boundary for reward in rewards):
        raise SandboxError(rewards[0].reason)
    name = verifier.name if isinstance(found, Verifier) else _name(found)
    tried = tuple(
        Tried(
            group,
            str(case.content),
            _shown(task),
            case.why,
            # A function rejects nothing: it crashed or took too long, again and again.
            None if is_function and reward.is_rejected else reward.value,
            reward.reason,
        )
        for (group, case, task), reward in zip(cases, rewards, strict=True)
        if not reward.pending
    )
    took = monotonic() - began
    return Trial(name, key.name, pass_at, took, tried, len(cases) - len(tried))


def _shown(task: dict[str, Any]) -> dict[str, Any]:
    """What a reader needs of a task: of code its test, which says all."""
    return {"test": task["test"]} if "test" in task else task


def _as_verifier(
    found: Callable[..., Any] | Verifier, kind: str, offered: Sequence[str],
    columns: Mapping[str, str] | None, *, messages: bool,
) -> Verifier:  # fmt: skip
    if isinstance(found, Verifier):
        if kind.startswith(_PROGRAMS) and found.sandbox is None:
            raise ConfigError(
                f"{found.name} would run hostile programs on this machine: give the function "
                "itself, which is then called inside the sandbox, or declare a sandbox"
            )
        return found
    calling = Calling.of(found, offered, columns, messages=messages)
    if not kind.startswith(_PROGRAMS):
        return RewardTrial(found, calling, "text")
    return ConfinedTrial(found, calling, "text", _paths())


def _paths() -> list[str]:
    """The folders that modules are imported from, beside the interpreter's own."""
    own = Path(sys.base_prefix).resolve()
    folders = [Path(path).resolve() for path in sys.path if path and Path(path).is_dir()]
    return [str(folder) for folder in folders if not folder.is_relative_to(own)]


_Chosen = tuple[Group, Case, dict[str, Any]]


def _chosen(key: AnswerKey, most: int, *, plain_only: bool) -> list[_Chosen]:
    """The cases to try: all cheats, and of the others as many as wanted, evenly spread.

    Those of all groups take turns, so that a trial that is out of time tells something of each.
    """
    groups: dict[Group, list[_Chosen]] = {group: [] for group in Group}
    usual = _usual_fields(key)
    for case in key.cases:
        group, task = _group(case), dict(case.task or {})
        if group is None or isinstance(case.content, bytes):
            continue
        if plain_only:
            if set(task) - _UNSAID != usual - _UNSAID:
                continue  # It asks for what a plain function can't know, such as a tolerance.
            task = _said(key.name, task)
        if task and _has_key(task):
            groups[group].append((group, case, task))
    tried = [of if group is Group.CHEAT else _spread(of, most) for group, of in groups.items()]
    turns = [(place / len(of), case) for of in tried for place, case in enumerate(of)]
    return [case for _, case in sorted(turns, key=itemgetter(0))]


def _has_key(task: Mapping[str, Any]) -> bool:
    """Whether a campaign takes the task: one with an integer beyond 2**53 has no check key."""
    try:
        task_digest(task)
    except ConfigError:
        return False
    return True


def _group(case: Case) -> Group | None:
    if case.settings or case.source.startswith("mutant"):  # About the built-in verifier alone.
        return None
    if case.among is not None:  # About a whole group.
        return None
    is_cheat = case.hostile or case.source.startswith("known hack")
    if case.outcome is Outcome.REJECT:
        return Group.CHEAT if is_cheat else Group.WRONG
    return Group.RIGHT if case.outcome is Outcome.ACCEPT and not case.hostile else None


def _usual_fields(key: AnswerKey) -> set[str]:
    """The fields that most tasks of a key have."""
    kinds = [frozenset(case.task or {}) for case in key.cases]
    return set(Counter(kinds).most_common(1)[0][0])


def _spread(cases: list[_Chosen], most: int) -> list[_Chosen]:
    if len(cases) <= most:
        return cases
    return [cases[i * len(cases) // most] for i in range(most)]


def _offered(cases: Sequence[_Chosen]) -> list[str]:
    return list(dict.fromkeys(name for _, _, task in cases for name in task))


def _said(kind: str, task: dict[str, Any]) -> dict[str, Any]:
    """The task as reward functions know it; nothing if it can't be said to them."""
    if kind != _CODE:
        return task
    calls, expected = task["calls"], task["expected"]
    if len(calls) != len(expected) or not all(map(_is_asserted, expected)):
        return {}
    lines = [f"assert {call} == {value}" for call, value in zip(calls, expected, strict=True)]
    entry = calls[0].partition("(")[0]
    return {"test": "\n".join(lines), "entry_point": entry, **task}


def _is_asserted(text: str) -> bool:
    """Whether `==` can tell the value: it is a literal, and equal to itself."""
    try:
        return bool(ast.literal_eval(text) == ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return False


# ---- The page


def page(trial: Trial) -> str:
    """One HTML page of a trial, without scripts; all that models wrote is escaped.

    Raises:
        ConfigError: If Jinja2 is not installed.
    """
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError:
        raise ConfigError("the page needs Jinja2: pip install '.[report]' in a clone") from None
    folder = files("verifier_ladder.report") / "templates"
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["shorten"] = printable
    environment.filters["lines"] = _lines
    style = (folder / "report.css").read_text(encoding="utf-8")
    template = environment.from_string((folder / "trial.html.j2").read_text(encoding="utf-8"))
    return template.render(trial=trial, style=Markup(style), style_hash=_hash(style))  # noqa: S704


def _lines(text: str, limit: int = 300) -> str:
    """The first lines of a text with their indentation, for programs mean nothing without."""
    lines = text[:limit].splitlines()[:_SHOWN]
    shown = "\n".join(
        " " * (len(line) - len(line.lstrip(" "))) + printable(line, None) for line in lines
    )
    return shown if len(text) <= len("\n".join(lines)) + 1 else f"{shown}…"


def _hash(style: str) -> str:
    """What the page's security policy allows."""
    return b64encode(sha256(style.encode()).digest()).decode()
