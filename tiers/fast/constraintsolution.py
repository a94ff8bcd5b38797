"""The verifier `constraint-solution`: values that satisfy constraints, or `unsat`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.extraction import DOCUMENT, agreed, answers
from verifier_ladder.tiers.fast.jsonschema import parse
from verifier_ladder.tiers.fast.marked import MarkedVerifier
from verifier_ladder.tiers.fast.prover import (
    Declared,
    Prover,
    Text,
    UndecidedError,
    checked_steps,
    library,
    scope_of,
    term_of,
    undecided,
)
from verifier_ladder.tiers.fast.terms import (
    BOOL,
    LONGEST_NUMERAL,
    Scope,
    Sort,
    Term,
    Value,
    bits,
    evaluated,
)
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

HOW: Final = (
    'Write one JSON object with a value for each variable, such as {"x": 3}, or the one word '
    "unsat, alone or in a fenced block."
)
UNSAT: Final = "unsat"
_LONGEST: Final = 100_000
"""Characters of an answer."""
_SHOWN: Final = 5
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FRACTION = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:/[1-9][0-9]*|(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)"
)
_DIGITS = re.compile(f"[0-9]{{{LONGEST_NUMERAL + 1}}}")
_BARE = re.compile(r"(?<=:)[ \t\r\n]*(-?[0-9]{300,})(?=[ \t\r\n]*[,}])")
"""A whole number that is too long for the reader of JSON, which reads it in quotes."""


class _Task(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    variables: Declared
    constraints: (
        Annotated[list[Text], Field(min_length=1)]
        | Annotated[dict[str, Text], Field(min_length=1)]
    )
    minimize: Text | None = None
    maximize: Text | None = None


class Problem(NamedTuple):
    """A task, read."""

    scope: Scope
    constraints: Mapping[str, Term]
    """By name, or by number where they have none."""
    objective: Term | None
    is_least: bool


class ConstraintSolution(MarkedVerifier):
    """Accepts values that satisfy all constraints of a task, or a right `unsat`.

    | Field of a task | Meaning |
    |---|---|
    | `variables` | name → `Bool`, `Int`, `Real`, `BitVec n`, or a list: names, or whole numbers |
    | `constraints` | terms of SMT-LIB 2 (`terms`), as a list or by name; hidden |
    | `minimize`, `maximize` | one of them, if any: a term whose best value is asked for; hidden |

    **Values** are evaluated exactly, in whole numbers and fractions: `"1/3"` is a third, and `0.1`
    a tenth. With an objective they must be the best as well, which z3 proves.

    **`unsat`** says that no values satisfy the constraints; z3 proves it, or finds some.

    z3 takes `steps`, and no time, so that it says the same on every machine. What it does not find
    out is an abstention that is kept, and rejects nobody.

    Example:
        >>> task = {"variables": {"x": "Int"}, "constraints": ["(< 3 x 5)"]}
        >>> said = ['{"x": 4}', '{"x": 5}', "unsat"]
        >>> [v.outcome.value for v in ConstraintSolution().judge([
        ...     Candidate("text", text, task=task) for text in said])]
        ['accept', 'reject', 'reject']
    """

    name = "constraint-solution"
    version = "1"
    domain = "mathematics"
    cost = Cost(seconds=5e-3)
    timeout = 900.0
    memory = 4 << 30
    batch_size = 32
    task_fields = ("variables", "constraints", "minimize", "maximize")
    hidden = ("constraints", "minimize", "maximize")
    control = Candidate(
        "text", '{"x": 1}', task={"variables": {"x": "Int"}, "constraints": ["(> x 0)"]}
    )

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
        """Evaluate the constraints, and ask z3 for what evaluating does not tell."""
        problem = _problem(candidate.task)
        found = answers(candidate.content, self._find, HOW, languages=("json",), longest=_LONGEST)
        said = agreed((_claimed(problem.scope, text) for text in found), HOW)
        try:
            if said is None:
                return self._of_none(problem)
            return self._of_values(problem, dict(said))
        except UndecidedError:
            return Verdict.abstain(undecided(self._steps))

    def _of_none(self, problem: Problem) -> Verdict:
        prover = Prover(problem.scope, self._steps)
        values = prover.solution([*problem.constraints.values()])
        if values is None:
            return Verdict.accept(1.0, evidence={"proved": UNSAT})
        if not values:
            raise TaskError(
                "the solutions that z3 finds are no fractions: no answer can give them"
            )
        return Verdict.reject(
            "the constraints can be satisfied", score=0.0,
            feedback="There are values that satisfy all constraints: find some.",
        )  # fmt: skip

    def _of_values(self, problem: Problem, values: Mapping[str, Value]) -> Verdict:
        constraints = problem.constraints
        broken = [name for name, term in constraints.items() if not evaluated(term, values)]
        if broken:
            held = len(constraints) - len(broken)
            told = f"{len(broken)} of {len(constraints)} constraints are not satisfied: "
            told += printable(", ".join(broken[:_SHOWN]), 400)
            return Verdict.reject(
                told, score=held / len(constraints), feedback=f"Change values: {told}.",
                evidence={"satisfied": held, "constraints": len(constraints)},
            )  # fmt: skip
        if problem.objective is None or self._is_best(problem, problem.objective, values):
            return Verdict.accept(1.0, evidence={"satisfied": len(constraints)})
        word = "smaller" if problem.is_least else "larger"
        return Verdict.reject(
            f"all constraints are satisfied, and the objective can be {word}", score=0.0,
            feedback=f"All constraints are satisfied; make the objective {word}.",
        )  # fmt: skip

    def _is_best(self, problem: Problem, objective: Term, values: Mapping[str, Value]) -> bool:
        """Whether no other values are better.

        Raises:
            TaskError: If there are better ones without end, or the best is no fraction.
        """
        prover = Prover(problem.scope, self._steps)
        better = objective.compared("<" if problem.is_least else ">", evaluated(objective, values))
        terms = [*problem.constraints.values()]
        if prover.solution([*terms, better]) is None:
            return True
        if why := prover.why_no_best(terms, objective, is_least=problem.is_least):
            raise TaskError(why)
        return False


# ---- The task


def _problem(task: Mapping[str, Any] | None) -> Problem:
    """Read a task.

    Raises:
        TaskError: If it makes no sense.
    """
    read = read_task(_Task, task)
    scope = scope_of(read.variables)
    given = read.constraints
    named = given if isinstance(given, dict) else {str(n): text for n, text in enumerate(given, 1)}
    constraints = {
        name: term_of(scope, text, f"constraint {printable(name, 60)}", BOOL)
        for name, text in named.items()
    }
    if read.minimize is not None and read.maximize is not None:
        raise TaskError("the task's minimize and maximize make no sense together: give one")
    is_least = read.minimize is not None
    objective = read.minimize if is_least else read.maximize
    return Problem(
        scope, constraints, None if objective is None else _objective(scope, objective), is_least
    )


def _objective(scope: Scope, text: str) -> Term:
    term = term_of(scope, text, "objective")
    if not term.sort.is_number:
        raise TaskError(f"the task's objective makes no sense: it stands for {term.sort}")
    return term


# ---- The answer


def _claimed(scope: Scope, text: str) -> frozenset[tuple[str, Value]] | None:
    """The values that an answer gives; None if it says that there are none.

    Raises:
        CandidateError: If it is no answer.
    """
    if text.strip().lower() == UNSAT:
        return None
    if _DIGITS.search(text):
        raise CandidateError(
            f"a number has more than {LONGEST_NUMERAL} digits", feedback="Write shorter numbers."
        )
    given = parse(_BARE.sub(r'"\1"', text), 1)
    if not isinstance(given, dict):
        raise CandidateError("the answer is no JSON object", feedback=HOW)
    if missing := [name for name in scope.variables if name not in given]:
        told = f"the answer gives no value to {printable(missing[0], 60)}"
        raise CandidateError(told, feedback=f"Give each variable a value: {told}.")
    if others := [name for name in given if name not in scope.variables]:
        told = f"the answer has a value for {printable(others[0], 60)}, which is no variable"
        raise CandidateError(told, feedback=f"Leave it out: {told}.")
    return frozenset((name, _value(scope, name, each)) for name, each in given.items())


def _value(scope: Scope, name: str, given: Any) -> Value:
    """A value of a variable's sort.

    Raises:
        CandidateError: If it is none.
    """
    sort = scope.variables[name].sort
    found = _READ[sort.kind](sort, given)
    domain = scope.domains.get(name)
    if found is None or (domain is not None and found not in domain):
        wanted = "one of its domain" if domain is not None else str(sort)
        told = f"the value of {printable(name, 60)} is not {printable(wanted, 200)}"
        raise CandidateError(told, feedback=f"Give another value: {told}.")
    return found


def _truth(_: Sort, given: Any) -> bool | None:
    return given if isinstance(given, bool) else None


def _whole(_: Sort, given: Any) -> int | None:
    if isinstance(given, str):
        return int(given) if _INTEGER.fullmatch(given) else None
    return given if type(given) is int else None


def _fraction(_: Sort, given: Any) -> Fraction | None:
    if isinstance(given, str):
        return Fraction(given) if _FRACTION.fullmatch(given) else None
    return Fraction(given) if type(given) in {int, Decimal} else None


def _bits(sort: Sort, given: Any) -> int | None:
    if isinstance(given, str):
        value, width = bits(given) or (0, 0)
        return value if width == sort.width else None
    return given if type(given) is int and 0 <= given < 1 << sort.width else None


def _name(sort: Sort, given: Any) -> str | None:
    return given if isinstance(given, str) and given in sort.names else None


_READ = {"Bool": _truth, "Int": _whole, "Real": _fraction, "BitVec": _bits, "name": _name}
