"""Verifiers made from functions: the decorator, and existing reward functions unchanged."""

from __future__ import annotations

import reprlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from verifier_ladder.arguments import checked_value, options_checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import AnswerError, ConfigError, VerifierError
from verifier_ladder.group import seen_members, told_together
from verifier_ladder.media import restored
from verifier_ladder.registry import REGISTRY
from verifier_ladder.signature import LISTS, MESSAGES, RewardSignature, is_async, name_of
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier, failure

if TYPE_CHECKING:
    from verifier_ladder.asynchronous import Answer

_OPTIONS = {
    "role", "isolation", "timeout", "memory", "batch_size", "reads", "task_fields",
    "reads_turns", "replicates", "unit", "deviation", "same_quantity", "control", "tools",
    "definitive", "features", "capabilities", "domain", "network", "sandbox",
    "env", "secrets", "weight", "hidden", "observed", "rate", "max_processes", "scope",
    "services",
}  # fmt: skip
WRAPPED = frozenset({*_OPTIONS, "name", "cost", "tier", "kind", "concurrency"})
"""Options of `wrap` beside its own parameters."""


class FunctionVerifier(Verifier):
    """A verifier made from a function of one candidate, or of a list of them.

    A function that raises costs only its own candidate. An `async` function is awaited for the
    whole batch at once, `concurrency` at a time: the form for judges behind a network.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        version: str | None = None,
        batch: bool = False,
        concurrency: int = 32,
        settings: dict[str, Any] | None = None,
        **attributes: Any,
    ) -> None:
        """Wrap the function; see `verifier` for the arguments."""
        checked_value(f"verifier {name}", "concurrency", concurrency, "int", 1)
        checked_value(f"verifier {name}", "batch", batch, "bool")
        checked_value(f"verifier {name}", "settings", settings, "Mapping[str, Any] | None")
        self.name = name
        if version is not None:
            self.version = version
        # Who judges a group is called with all of it.
        batch = batch or attributes.get("scope") == "group"
        self.function, self.batch, self.concurrency = function, batch, concurrency
        self.is_async = self.network = is_async(function)
        for key, value in attributes.items():
            setattr(self, key, value)
        super().__init__(**(settings or {}))

    @property
    def answers_together(self) -> bool:
        """Whether the function is called for a whole list."""
        return self.batch

    def _depends_on(self) -> object:
        return self.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it had not been decorated."""
        return self.function(*args, **kwargs)

    def setup(self) -> None:
        """Load what awaits a function now, so that no candidate is charged for it."""
        if self.is_async:
            import verifier_ladder.asynchronous  # noqa: F401 - the others start without it

    def verify(self, candidates: Sequence[Candidate]) -> Iterable[Answer]:
        """Call the function for one candidate after the other, or once for all of them."""
        if self.is_async:
            return self._awaited(candidates)
        if self.batch:
            return self._ask_all(candidates)  # type: ignore[no-any-return]
        return map(self._one, candidates)

    def _awaited(self, candidates: Sequence[Candidate]) -> Iterable[Answer]:
        from verifier_ladder.asynchronous import answers, wait_for

        if self.batch:
            return wait_for(self._ask_all(candidates))
        return answers(self._ask, candidates, self.timeout, self.concurrency)

    def stream_groups(self, groups: Sequence[Candidate]) -> Iterator[object]:
        """Judge groups: where the function is async, `concurrency` of them at a time."""
        if not self.is_async:
            return super().stream_groups(groups)
        from verifier_ladder.asynchronous import answers

        return answers(self._ask_group, groups, self.timeout, self.concurrency)

    async def _ask_group(self, group: Candidate) -> Verdict:
        members = seen_members(self, group)
        count = len(members)  # The list is the verifier's to change.
        return told_together(self, await self._ask_all(members), count)

    def _ask(self, candidate: Candidate) -> Any:
        """The function's answer about one candidate, or a coroutine of it."""
        return self.function(candidate, **self._resources())

    def _ask_all(self, candidates: Sequence[Candidate]) -> Any:
        """The function's answers about a batch, or a coroutine of them."""
        return self.function(candidates, **self._resources())

    def _resources(self) -> dict[str, Any]:
        """What it is given beside candidates: its sandbox and services, if it declares some."""
        every = {"sandbox": self.sandbox, "services": self.services}
        return {name: every[name] for name in _given(every)}

    def _one(self, candidate: Candidate) -> Answer:
        try:
            return self._ask(candidate)  # type: ignore[no-any-return]
        except Exception as error:  # noqa: BLE001 - whatever it raises, it is this candidate's
            return failure(error)

    def patience(self, count: int) -> float:
        """Seconds that the engine waits without progress."""
        if not self.is_async:
            return self.timeout
        from verifier_ladder.asynchronous import patience

        calls = 1 if self.batch and self.scope != "group" else count
        return patience(calls, self.timeout, self.concurrency)


def _given(declared: Mapping[str, Any]) -> tuple[str, ...]:
    """Which of a function's arguments are what its verifier declares."""
    return tuple(name for name in ("sandbox", "services") if declared.get(name))


class RewardFunctionVerifier(FunctionVerifier):
    """An existing reward function of the form `f(completions, **columns) -> list[float]`.

    It is called for one completion at a time, so that one that raises, crashes or hangs costs
    nobody else a reward; with `batch` it is called once for many.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        version: str | None = None,
        columns: Sequence[str] | str = (),
        name: str | None = None,
        **attributes: Any,
    ) -> None:
        """Wrap the function; see `wrap` for the arguments."""
        checked_value("wrap", "columns", columns, "Sequence[str] | str")
        name = name or name_of(function)
        given = _given(attributes)
        self.signature = RewardSignature.read(function, columns, name, given)
        self.columns = self.signature.columns
        self.task_fields = self.signature.task_fields
        self.overlooked = self.signature.overlooked
        super().__init__(function, name=name, version=version, **attributes)

    def _ask(self, candidate: Candidate) -> Any:
        answers = self._ask_all([candidate])
        return _awaited_one(answers) if self.is_async else _only(answers)

    def _ask_all(self, candidates: Sequence[Candidate]) -> Any:
        return self.function(**self._arguments(candidates), **self._resources())

    def _arguments(self, candidates: Sequence[Candidate]) -> dict[str, list[Any]]:
        """The lists that a learner would call the function with."""
        tasks = [candidate.task or {} for candidate in candidates]
        arguments = {name: [self._field(task, name) for task in tasks] for name in self.columns}
        for argument in self.signature.lists:
            arguments[argument] = [
                self._field(task, LISTS[argument] or argument) for task in tasks
            ]
        if self.signature.takes_completions:
            arguments["completions"] = [
                restored(task.get(MESSAGES, candidate.content))
                for task, candidate in zip(tasks, candidates, strict=True)
            ]
        return arguments

    def _field(self, task: Mapping[str, Any], name: str) -> Any:
        try:
            return restored(task[name])
        except KeyError:
            raise VerifierError(
                f"the candidate's task has no {name!r}, which {self.name} reads"
            ) from None


def _only(answers: Any) -> Answer:
    """The one answer in what a reward function returned for one completion."""
    try:
        (answer,) = answers
    except (TypeError, ValueError):
        raise AnswerError(
            "a reward function must return a list with one number per completion, and for one "
            f"completion it returned {reprlib.repr(answers)}"
        ) from None
    return answer  # type: ignore[no-any-return]


async def _awaited_one(answers: Awaitable[Any]) -> Answer:
    return _only(await answers)


@overload
def verifier(function: Callable[..., Any], /) -> FunctionVerifier: ...
@overload
def verifier(
    *,
    name: str | None = None,
    version: str | None = None,
    tier: str = "fast",
    kind: str = "text",
    cost: Cost | None = None,
    batch: bool = False,
    **options: Any,
) -> Callable[[Callable[..., Any]], FunctionVerifier]: ...
@options_checked(*_OPTIONS, "concurrency", "settings")
def verifier(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    version: str | None = None,
    tier: str = "fast",
    kind: str = "text",
    cost: Cost | None = None,
    batch: bool = False,
    **options: Any,
) -> FunctionVerifier | Callable[[Callable[..., Any]], FunctionVerifier]:
    """Register a function as a verifier.

    Args:
        function: Set when the decorator is used without parentheses.
        name: Its name in the registry; the function's own by default.
        version: Verdicts are filed under it: raise it when results may change. Without one, a
            digest of the function's source is its version, with the helpers, constants and
            defaults that it reads; a function that reads what can't be digested, such as a loaded
            model, needs one.
        tier: fast, simulation, high_fidelity or world.
        kind: Kind of candidate it reads.
        cost: What one check is expected to take.
        batch: Whether the function takes a list of candidates and returns a list. One with
            `scope="group"` always does: the list is all members of one group.
        options: Any attribute of `Verifier`: role, isolation, timeout, memory, task_fields, …
            With `sandbox=Sandbox()` the function is given it as the argument `sandbox`, to run
            programs in that it does not trust.

    Returns:
        The verifier; calling it still calls the function.

    Raises:
        ConfigError: If an option is unknown.

    Example:
        >>> @verifier(tier="fast", kind="text", version="1")
        ... def polite(candidate):
        ...     return "please" in candidate.content
        >>> polite.judge([Candidate("text", "please")])[0].outcome.value
        'accept'
    """

    def register(inner: Callable[..., Any]) -> FunctionVerifier:
        if not callable(inner):
            raise ConfigError(f"{inner!r} is not a function; write @verifier or @verifier(name=…)")
        made = FunctionVerifier(
            inner, name=name or name_of(inner), version=version, batch=batch,
            tier=tier, kind=kind, cost=cost or Cost(), **options,
        )  # fmt: skip
        REGISTRY.add(made)
        return made

    return register if function is None else register(function)


@options_checked(*WRAPPED)
def wrap(
    function: Callable[..., Any],
    *,
    version: str | None = None,
    columns: Sequence[str] | str = (),
    batch: bool = False,
    **options: Any,
) -> RewardFunctionVerifier:
    """Make a verifier of an existing reward function, unchanged.

    The function is called as learners call it, with lists by name: `completions`, the columns,
    and `prompts` and `completion_ids` if it has parameters of these names. Completions are text
    or, if the learner gave chat messages, lists of messages. The function may be async. It runs
    in a worker process, so it may crash or hang.

    Args:
        function: Returns one number (or None) per completion.
        version: Raise it when results may change. Without one, a digest of the source is it, as
            for `vl.verifier`.
        columns: Dataset columns that it reads; they become part of the check key.
        batch: Call it once for many completions, for functions that gain from it. Its answer
            about one completion must not depend on the others: verdicts are kept and used again.
            If it does, say `scope="group"`: then it is called once for each group.
        options: Any attribute of `Verifier`, such as `timeout`, `tier` or `name`.

    Raises:
        ConfigError: If an option is unknown, or the function can't be called with these columns.

    Example:
        >>> def accuracy(completions, answer, **kwargs):
        ...     return [float(c == a) for c, a in zip(completions, answer)]
        >>> check = wrap(accuracy, version="1", columns=["answer"])
        >>> check.judge([Candidate("text", "4", {"answer": "4"})])[0].score
        1.0
    """
    if not callable(function):
        raise ConfigError(f"{function!r} is not a function; wrap takes a reward function")
    made = RewardFunctionVerifier(
        function, version=version, columns=columns, batch=batch, **options
    )
    REGISTRY.add(made)
    return made
