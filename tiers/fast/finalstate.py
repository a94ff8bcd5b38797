"""The verifier `final-state`: whether a trajectory left the state that its task asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate, Terminate, ToolCall, Turn
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.keys import alike
from verifier_ladder.taskenvironment import replay
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.desk import SqliteDesk, Tool
from verifier_ladder.tiers.fast.exactmatch import ExactMatch
from verifier_ladder.tiers.fast.extraction import DOCUMENT, LONGEST, answers, text_of
from verifier_ladder.tiers.filedesk import FileDesk
from verifier_ladder.tiers.pages import Page
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.trajectory import from_text
from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict

ANYTHING = "*"
_SHOWN = 5
_PAGE_HOW = "Write the whole page, alone or in a fenced block."
_ANSWER = ExactMatch(normalise=("case", "space", "punctuation"))
Pattern = Annotated[str, Field(min_length=1, max_length=500)]
Parts = Mapping[str, Any]
"""What can change, by name: tables, files, or the one page."""


class _Check(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Rows(_Check):
    """What a statement reads."""

    sql: str
    rows: list[list[str | bool | int | float | None]]
    ordered: bool = False


class _File(_Check):
    """What a file holds; everything that is given must be so."""

    file: str
    equals: str | None = None
    contains: str | None = None
    json_: Annotated[JsonValue, Field(alias="json")] = None
    absent: bool = False


class _Element(_Check):
    """What the elements of a page hold that a selector finds."""

    select: Pattern
    file: str | None = None
    count: Annotated[int, Field(ge=0)] | None = None
    text: str | None = None
    attribute: str | None = None
    value: str | None = None


_CHECKS: Mapping[str, tuple[type[_Check], ...]] = {
    "setup": (_Rows,), "files": (_File, _Element), "page": (_Element,),
}  # fmt: skip
"""Which checks each kind of state has."""


class _Action(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    arguments: dict[str, JsonValue] = {}


class _Task(BaseModel):
    setup: str | None = None
    tools: list[Tool] = []
    sql: bool = False
    seed: Annotated[int, Field(ge=0)] = 0
    files: dict[str, str] | None = None
    page: str | None = None
    solution: list[_Action] = []
    checks: list[_Element | _Rows | _File] = []
    may_change: list[Pattern] = []
    expects_no_change: bool = False
    answer: str | Annotated[list[str], Field(min_length=1)] | None = None

    @property
    def kind(self) -> Literal["setup", "files", "page"]:
        """Which state it is about.

        Raises:
            TaskError: If it is about none, or several.
        """
        kinds: tuple[Literal["setup", "files", "page"], ...] = ("setup", "files", "page")
        given = [kind for kind in kinds if getattr(self, kind) is not None]
        if not given:
            raise TaskError("the task has no state: give setup, files or page")
        if len(given) > 1:
            raise TaskError(f"the task's state makes no sense: {' and '.join(given)} are given")
        return given[0]


class FinalState(SingleVerifier):
    """Accepts a trajectory that leaves the state that its task asks for, and changes nothing else.

    The trajectory's actions are taken again in an environment of the verifier's own. What its
    turns say of observations, rewards and success is not believed.

    **The state**, one of them: `setup` (SQL that makes a database; actions are the `tools`, and
    statements if `sql`), `files` (text by path; the tools of `FileDesk`), or `page` (HTML before;
    the candidate's content is the page after).

    **The criteria.** `solution`: actions; the state that they leave is the wanted one, whatever
    the way there. `checks`: statements and their `rows`; files (`equals`, `contains`, `json`,
    `absent`); elements of a page (`select`, `count`, `text`, `attribute` and `value`).
    `may_change`: what else may differ, tables, patterns of paths or selectors; checks need it,
    and `["*"]` is anything. `answer`: what must be answered as well; beside a page, which is all
    of the content, it is the answer of the turn that ends the trajectory.

    An unchanged state never passes, unless the task says `expects_no_change` and demands an
    `answer`. A task without criteria is abstained from: nothing would be wrong.

    Example:
        >>> task = {"files": {"notes.txt": "milk"},
        ...         "checks": [{"file": "notes.txt", "contains": "bread"}],
        ...         "may_change": ["notes.txt"]}
        >>> write = {"path": "notes.txt", "content": "milk, bread"}
        >>> turns = [(), (Turn(ToolCall("write_file", write)),)]
        >>> [v.outcome.value for v in FinalState().judge([
        ...     Candidate("text", "Done.", task, did) for did in turns])]
        ['reject', 'accept']
    """

    name = "final-state"
    version = "2"
    tier = Tier.FAST
    kind = "text"
    domain = "tool use"
    capabilities = ("tool use", "planning")
    cost = Cost(seconds=3e-3)
    timeout = 30.0
    task_fields = tuple(_Task.model_fields)
    hidden = ("solution", "checks", "answer")
    reads_turns = True
    observed = "outside"
    control = Candidate(
        "text", "",
        task={"files": {}, "solution": [
            {"name": "write_file", "arguments": {"path": "a", "content": "b"}}
        ]},
        turns=(Turn(ToolCall("write_file", {"path": "a", "content": "b"})),),
    )  # fmt: skip

    @checked()
    def __init__(self, *, most_turns: int = 1000) -> None:
        """Set what is read.

        Args:
            most_turns: Turns of the longest trajectory.

        Raises:
            ConfigError: If the bound makes no sense.
        """
        if not 1 <= most_turns <= 10_000:  # noqa: PLR2004  # A server takes as many.
            raise ConfigError("most_turns must be 1 to 10,000")
        self._most = most_turns
        super().__init__(most_turns=most_turns)
        self.tools = versions("selectolax")

    def examine(self, candidate: Candidate) -> Verdict:
        """Read the task, take the actions again, then compare the states."""
        given = {n: value for n, value in (candidate.task or {}).items() if value is not None}
        task = read_task(_Task, given)
        kind = task.kind
        _refuse_empty(task, kind)
        if kind == "page":
            return _page_verdict(task, candidate)
        turns = candidate.turns or from_text(_bounded(candidate.content))
        if len(turns) > self._most:
            raise CandidateError(
                f"the trajectory has more than {self._most} turns", feedback="Act less often."
            )
        with _environment(task) as environment:
            return _replayed_verdict(task, candidate, turns, environment)


def _bounded(content: str | bytes) -> str:
    text = text_of(content)
    if len(text) > LONGEST:
        raise CandidateError(
            f"the output is {len(text)} characters long; at most {LONGEST} are read",
            feedback=f"Write at most {LONGEST} characters.",
        )
    return text


# ---- The task


def _refuse_empty(task: _Task, kind: str) -> None:
    """Refuse criteria that nothing, or anything, would meet.

    Raises:
        TaskError: If it has such.
    """
    is_compared = task.solution and ANYTHING not in task.may_change
    if task.expects_no_change:
        if not task.answer:
            raise TaskError(
                "the task's expects_no_change makes no sense without an answer: doing nothing "
                "would pass"
            )
        if task.solution:
            raise TaskError("the task's expects_no_change makes no sense beside a solution")
    elif not is_compared and not task.checks:
        raise TaskError("the task's criteria are empty: give solution or checks")
    if task.checks and not task.solution and not task.may_change and not task.expects_no_change:
        raise TaskError("the task's may_change is missing: say what checks allow to change")
    if not all(isinstance(check, _CHECKS[kind]) for check in task.checks):
        raise TaskError("the task's checks make no sense: some are about another state")
    if kind == "page" and task.solution:
        raise TaskError("the task's solution makes no sense: a page has no actions")


def _environment(task: _Task) -> SqliteDesk | FileDesk:
    try:
        if task.setup is not None:
            return SqliteDesk(task.setup, tools=task.tools, sql=task.sql)
        return FileDesk(task.files)
    except ConfigError as error:
        place = "tools" if task.setup is not None else "files"
        raise TaskError(f"the task's {place} make no sense: {error}") from None


def desk_of(task: Mapping[str, Any]) -> SqliteDesk | FileDesk:
    """The environment of a task with `setup` or `files`, as for the verifier.

    Raises:
        TaskError: If the task has none.
    """
    given = {
        n: value for n, value in task.items() if n in _Task.model_fields and value is not None
    }
    read = read_task(_Task, given)
    if read.kind == "page":
        raise TaskError("the task's page is no environment: give setup or files")
    return _environment(read)


def _wanted(task: _Task, environment: SqliteDesk | FileDesk, before: Parts) -> Parts | None:
    """The state that the task's solution leaves; None if it has none.

    Raises:
        TaskError: If an action of it fails, or it changes nothing.
    """
    if not task.solution:
        return None
    calls = [Turn(ToolCall(each.name, each.arguments)) for each in task.solution]
    if any(turn.failed for turn in replay(environment, calls, seed=task.seed)):
        raise TaskError("the task's solution makes no sense: one of its actions fails")
    wanted = _parts(environment)
    if wanted == before:
        raise TaskError("the task's solution makes no sense: it changes nothing")
    return wanted


def _parts(environment: SqliteDesk | FileDesk) -> Parts:
    if isinstance(environment, FileDesk):
        return dict(environment.files)
    return environment.tables()


# ---- Databases and files


def _replayed_verdict(
    task: _Task, candidate: Candidate, turns: Sequence[Turn],
    environment: SqliteDesk | FileDesk,
) -> Verdict:  # fmt: skip
    try:
        environment.reset(task.seed)
        before = _parts(environment)
    except ConfigError as error:
        raise TaskError(f"the task's setup makes no sense: {error}") from None
    _refuse_unknown(task, before)
    _tried(task, environment)
    wanted = _wanted(task, environment, before)
    taken = replay(environment, turns, seed=task.seed)
    after = _after(environment)
    faults = [
        *_unasked(task, before, after, wanted), *_unmet(task, environment),
        *_misanswered(task, _said(candidate, taken)),
    ]  # fmt: skip
    return _verdict(faults, _told(taken))


def _refuse_unknown(task: _Task, before: Parts) -> None:
    for pattern in task.may_change if task.setup is not None else ():
        if not any(fnmatchcase(table, pattern) for table in before):
            raise TaskError(f"the task's may_change makes no sense: no table is {pattern!r}")


def _tried(task: _Task, environment: SqliteDesk | FileDesk) -> None:
    """Ask the checks once of the first state, where nobody but the task can be at fault.

    Raises:
        TaskError: If one can't be asked.
    """
    try:
        for check in task.checks:
            if isinstance(check, _Rows) and isinstance(environment, SqliteDesk):
                environment.rows(check.sql)
            elif isinstance(check, _Element):
                Page("").texts(check.select)
    except ConfigError as error:
        raise TaskError(f"the task's checks make no sense: {error}") from None


def _after(environment: SqliteDesk | FileDesk) -> Parts:
    try:
        return _parts(environment)
    except ConfigError:
        raise CandidateError(
            "the state that the actions leave is beyond bounds", feedback="Change less."
        ) from None


def _unasked(task: _Task, before: Parts, after: Parts, wanted: Parts | None) -> Iterator[str]:
    """What was changed and should not be, or not changed and should."""
    if after == before:
        if not task.expects_no_change:
            yield "nothing was changed"
        return
    if task.expects_no_change:
        yield f"nothing should be changed, and {_names(before, after)} was"
        return
    right = before if wanted is None else wanted
    others = {
        name for name in right.keys() | after.keys()
        if not any(fnmatchcase(name, pattern) for pattern in task.may_change)
    }  # fmt: skip
    kept = {n: part for n, part in right.items() if n in others}
    left = {n: part for n, part in after.items() if n in others}
    if kept != left:
        why = "must not be changed" if wanted is None else "is not as it should be"
        yield f"{_names(kept, left)} {why}"


def _names(one: Parts, other: Parts) -> str:
    found = [n for n in sorted(one.keys() | other.keys()) if one.get(n, ...) != other.get(n, ...)]
    return ", ".join(printable(name, 60) for name in found[:_SHOWN])


def _said(candidate: Candidate, turns: Sequence[Turn]) -> str | bytes:
    """What is answered: by the end that the model declares, or else by the candidate."""
    declared = _declared(turns)
    if declared is not None:
        return declared
    is_answer = candidate.turns or not turns
    return candidate.content if is_answer else ""


def _declared(turns: Sequence[Turn]) -> str | None:
    """The answer of the end that the model declares; None if it declares none."""
    ends = (turn.action.answer for turn in turns if isinstance(turn.action, Terminate))
    return next(ends, None)


def _told(turns: Sequence[Turn]) -> tuple[TurnVerdict, ...]:
    return tuple(
        TurnVerdict(place, None, f"This action fails: {printable(turn.observation, 200)}")
        for place, turn in enumerate(turns)
        if turn.failed
    )


# ---- Pages


def _page_verdict(task: _Task, candidate: Candidate) -> Verdict:
    try:
        before = Page(task.page or "")
        first = before.without(()), before.without(task.may_change if _is_bound(task) else ())
        for check in task.checks:
            before.texts(check.select)  # type: ignore[union-attr]
    except (CandidateError, ConfigError) as error:
        place = "checks" if task.may_change == [ANYTHING] else "page, checks or may_change"
        raise TaskError(f"the task's {place} make no sense: {error}") from None
    found = answers(candidate.content, DOCUMENT, _PAGE_HOW, languages=("html",))
    if len(found) > 1:
        raise CandidateError(f"the output holds {len(found)} pages", feedback=_PAGE_HOW)
    page = Page(found[0])
    faults = [told for check in task.checks if (told := _wrong_element(check, page))]
    is_changed = page.without(()) != first[0]
    if is_changed and task.expects_no_change:
        faults.insert(0, "nothing should be changed, and the page was")
    elif not is_changed and not task.expects_no_change:
        faults.insert(0, "nothing was changed")
    elif is_changed and _is_bound(task) and page.without(task.may_change) != first[1]:
        faults.insert(0, "something else on the page must not be changed")
    said = _declared(candidate.turns) or ""
    return _verdict([*faults, *_misanswered(task, said)], ())


def _is_bound(task: _Task) -> bool:
    return ANYTHING not in task.may_change


# ---- Checks


def _unmet(task: _Task, environment: SqliteDesk | FileDesk) -> Iterator[str]:
    for number, check in enumerate(task.checks, 1):
        if isinstance(environment, FileDesk):
            told = _wrong_file(check, environment.files)
        else:
            told = _wrong_rows(check, environment)
        if told:
            yield f"check {number}: {told}"


def _wrong_rows(check: Any, desk: SqliteDesk) -> str:
    """What is wrong with what a statement reads; "" if nothing is."""
    try:
        found = [list(map(_plain, row)) for row in desk.rows(check.sql)]
    except ConfigError:  # It could be asked before the actions were taken.
        return "it can't be asked any more"
    wanted = [list(map(_plain, row)) for row in check.rows]
    if not check.ordered:
        found, wanted = sorted(found, key=repr), sorted(wanted, key=repr)
    return "" if found == wanted else "the rows are not the wanted ones"


def _plain(value: Any) -> Any:
    """A value of SQLite or JSON: 1 is 1.0 and true, and "1" is neither."""
    return float(value) if isinstance(value, (bool, int, float)) else value


def _wrong_file(check: Any, files: Mapping[str, str]) -> str:
    """What is wrong with a file; "" if nothing is."""
    text = files.get(check.file)
    if isinstance(check, _File) and check.absent:
        return "" if text is None else f"{printable(check.file, 60)} must not be there"
    if text is None:
        return f"{printable(check.file, 60)} is missing"
    if isinstance(check, _Element):
        return _wrong_element(check, Page(text))
    is_so = (
        (check.equals is None or text == check.equals)
        and (check.contains is None or check.contains in text)
        and ("json_" not in check.model_fields_set or _is_json(text, check.json_))
    )
    return "" if is_so else f"{printable(check.file, 60)} does not hold what it should"


def _is_json(text: str, wanted: Any) -> bool:
    with suppress(ValueError, RecursionError):
        return alike(json.loads(text, object_pairs_hook=_once), wanted)
    return False


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of two values of one name each program reads another."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError
    return made


def _wrong_element(check: Any, page: Page) -> str:
    """What is wrong with the elements that a selector finds; "" if nothing is."""
    texts = page.texts(check.select)
    if check.count is not None and len(texts) != check.count:
        return f"{len(texts)} elements are {check.select}, and another number should be"
    if check.count is None and not texts:
        return f"no element is {check.select}"
    if check.text is not None and any(text != " ".join(check.text.split()) for text in texts):
        return f"{check.select} does not say what it should"
    if check.attribute is not None:
        values = page.values(check.select, check.attribute)
        if any(v is None or check.value not in {None, v} for v in values):
            return f"the attribute {check.attribute} of {check.select} is not as it should be"
    return ""


# ---- Answer and verdict


def _misanswered(task: _Task, said: str | bytes) -> Iterator[str]:
    if task.answer is None:
        return
    of = Candidate("text", said, task={"answer": task.answer})
    verdict = _ANSWER.judge([of])[0]
    if verdict.outcome is Outcome.ABSTAIN:
        raise TaskError(verdict.reason)
    if verdict.outcome is Outcome.REJECT:
        yield f"the answer is not the demanded one: {verdict.reason}"


def _verdict(faults: Sequence[str], turns: tuple[TurnVerdict, ...]) -> Verdict:
    if not faults:
        return Verdict.accept(1.0, turns=turns)
    told = "; ".join(faults[:_SHOWN])
    return Verdict.reject(
        f"the final state is not the one asked for: {told}", turns=turns,
        feedback=f"Mend this: {told}.",
    )  # fmt: skip
