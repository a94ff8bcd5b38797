"""The verifier `equivalent-formula`: a formula that says the same as the task's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.extraction import DOCUMENT, answers
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.fast.points import differing
from verifier_ladder.tiers.fast.prover import (
    Declared,
    Prover,
    Text,
    UndecidedError,
    checked_steps,
    digits,
    library,
    scope_of,
    term_of,
    undecided,
)
from verifier_ladder.tiers.fast.terms import (
    BOOL,
    OPERATORS,
    Scope,
    Sort,
    Term,
    TermError,
    Value,
    inside,
    operators_of,
    symbols,
)
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

HOW: Final = "Write one term of SMT-LIB 2, such as (or p (not q)), alone or in a fenced block."
_LABELS: Final = ("smt2", "smt-lib", "smtlib", "lisp", "scheme")
_LONGEST: Final = 100_000
"""Characters of an answer."""
_MOST: Final = 5000
"""Symbols and brackets of an answer."""
_MULTIPLIED: Final = frozenset({"bvmul", "bvudiv", "bvurem"})
_MOST_CELLS: Final = 1 << 19
"""Bits that are multiplied with bits, at most: each is a cell of the circuit that z3 makes."""


class _Task(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    variables: Declared
    formula: Text
    assuming: list[Text] = []
    operators: Annotated[list[str], Field(min_length=1)] | None = None
    most_symbols: Annotated[int, Field(ge=1)] | None = None
    show_counterexample: bool = False


class EquivalentFormula(MarkedVerifier):
    """Accepts a term that has the same value as the task's, whatever the variables are.

    | Field of a task | Meaning |
    |---|---|
    | `variables` | as of `constraint-solution` |
    | `formula` | a term of SMT-LIB 2 (`terms`) of any sort; hidden |
    | `assuming` | terms that hold: elsewhere the two may differ; hidden |
    | `operators` | those that may be used; all if left out |
    | `most_symbols` | symbols of the answer, brackets apart: for tasks that ask to simplify |
    | `show_counterexample` | whether feedback may tell values for which the two differ |

    The two are compared at some values first. Then z3 proves it, or finds values for which they
    differ; what it does not find out within `steps` is an abstention that is kept.

    Example:
        >>> task = {"variables": {"p": "Bool", "q": "Bool"}, "formula": "(=> p q)"}
        >>> said = ["(or (not p) q)", "(or p (not q))"]
        >>> [v.outcome.value for v in EquivalentFormula().judge([
        ...     Candidate("text", text, task=task) for text in said])]
        ['accept', 'reject']
    """

    name = "equivalent-formula"
    version = "1"
    domain = "mathematics"
    cost = Cost(seconds=5e-3)
    timeout = 900.0
    memory = 4 << 30
    batch_size = 32
    task_fields = (
        "variables", "formula", "assuming", "operators", "most_symbols", "show_counterexample",
    )  # fmt: skip
    hidden = ("formula", "assuming")
    control = Candidate("text", "p", task={"variables": {"p": "Bool"}, "formula": "(and p p)"})

    @checked()
    def __init__(self, *, find: Sequence[str] = DOCUMENT, steps: int = 5_000_000) -> None:
        """Say where an answer stands, and what a proof may take.

        Args:
            find: Where it stands: marks of `verifier_ladder.tiers.fast.extraction`.
            steps: That z3 may take for each proof, as it counts them; five million take seconds.

        Raises:
            ConfigError: If a mark does not exist, or there are no steps.
        """
        self._steps = checked_steps(steps)
        super().__init__({"steps": steps}, find=find)
        self.tools = versions("z3-solver")

    def setup(self) -> None:
        """Load the library."""
        library()

    def examine(self, candidate: Candidate) -> Verdict:
        """Read both, and ask z3 where they differ."""
        task = read_task(_Task, candidate.task)
        scope = scope_of(task.variables)
        formula = term_of(scope, task.formula, "formula")
        assumed = [term_of(scope, each, "assumption", BOOL) for each in task.assuming]
        if (cells := sum(map(_cells, [formula, *assumed]))) > _MOST_CELLS:
            raise TaskError(f"the task's {_too_large(cells)}")
        if unknown := set(task.operators or ()) - {*OPERATORS}:
            told = printable(min(unknown), 40)
            raise TaskError(f"the task's operators make no sense: there is no {told}")
        found = answers(candidate.content, self._find, HOW, languages=_LABELS, longest=_LONGEST)
        if len(found) > 1:
            raise CandidateError(f"the output holds {len(found)} formulas", feedback=HOW)
        said = _term(scope, found[0], formula.sort)
        _check_form(said, found[0], task)
        try:
            return self._compared(scope, assumed, formula, said, task)
        except UndecidedError:
            return Verdict.abstain(undecided(self._steps))

    def _compared(
        self, scope: Scope, assumed: Sequence[Term], formula: Term, said: Term, task: _Task
    ) -> Verdict:
        if found := differing(scope, assumed, formula, said):
            return _rejected(scope, found, task)
        prover = Prover(scope, self._steps)
        if assumed and prover.solution(assumed) is None:
            raise TaskError("the task's assumptions contradict each other: all is equivalent")
        values = prover.solution([*assumed, formula.differs_from(said)])
        if values is None:
            return Verdict.accept(1.0)
        return _rejected(scope, values, task)


def _rejected(scope: Scope, values: Mapping[str, Value], task: _Task) -> Verdict:
    """What is said where values are found for which the two differ."""
    shown = ""
    if task.show_counterexample and values:
        told = ", ".join(f"{name} = {_shown(scope, name, v)}" for name, v in values.items())
        shown = f" {printable(f'They differ for {told}.', 800)}"
    return Verdict.reject(
        "it is not equivalent to the task's formula", score=0.0,
        feedback=f"There are values for which it differs from the task's formula.{shown}",
    )  # fmt: skip


def _term(scope: Scope, text: str, sort: Sort) -> Term:
    """What an answer says.

    Raises:
        CandidateError: If it is no term, or of another sort.
    """
    try:
        return scope.term(text, sort, _MOST)
    except TermError as error:
        told = printable(str(error), 400)
        raise CandidateError(
            f"the answer is no such term: {told}", feedback=f"{HOW} {told}."
        ) from None


def _check_form(said: Term, text: str, task: _Task) -> None:
    """See that an answer is made of what it may be made of.

    Raises:
        CandidateError: If not.
    """
    if task.operators is not None and (used := operators_of(said) - {*task.operators}):
        allowed = ", ".join(task.operators)
        raise CandidateError(
            f"it uses {min(used)}, which is not allowed", feedback=f"Use only {allowed}."
        )
    if task.most_symbols is not None and (count := symbols(text)) > task.most_symbols:
        raise CandidateError(
            f"it has {count} symbols; at most {task.most_symbols} are allowed",
            feedback=f"Write at most {task.most_symbols} symbols; brackets don't count.",
        )
    if (cells := _cells(said)) > _MOST_CELLS:
        raise CandidateError(
            f"its {_too_large(cells)}", feedback="Multiply and divide less often, or fewer bits."
        )


def _cells(term: Term) -> int:
    """Bits that a term multiplies with bits, and divides by them."""
    return sum(
        (len(each.parts) - 1) * each.sort.width**2
        for each in inside(term)
        if each.op in _MULTIPLIED
    )


def _too_large(cells: int) -> str:
    return f"products and quotients of bits have {cells} cells; at most {_MOST_CELLS} are allowed"


def _shown(scope: Scope, name: str, value: Value) -> str:
    """A value as an answer to `constraint-solution` has it."""
    width = scope.variables[name].sort.width
    if width:
        return f"#b{value:0{width}b}"
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else digits(value)
