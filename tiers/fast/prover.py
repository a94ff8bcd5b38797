"""z3 asked about terms: within a number of steps, which is the same on every machine.

What is asked is built from terms that were read and typed here (`terms`): no text reaches z3's
parser. Each question has a context of its own, so that no other question changes its answer.

z3's word is taken for "there is none". A solution that it gives is evaluated here, exactly,
before anybody is told that there is one; of one that is no fraction its word is taken, too, and
it is asked for another.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Annotated, Any, Final

from pydantic import Field

from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.text import printable
from verifier_ladder.tiers.fast.terms import Scope, Sort, Term, TermError, Value, evaluated
from verifier_ladder.tiers.tasks import TaskError

_SECONDS: float = 300
"""After which a machine is too slow, or a step too large."""
_MEGABYTES: Final = 2048
"""Of memory that z3 takes in this process, before it gives up; it can't go on after that."""
_FOR_ONE: Final = 1536
"""Of memory in megabytes, at which it gives up one question, and can go on."""
_FULL: Final = ("max. memory exceeded", "out of memory")
"""What it says where memory, and not steps, ran out."""
_TRIES: Final = 5
"""How often it is asked for another solution, where one holds numbers that are no fractions."""
_SLOW: Final = "timeout"
"""What z3 says where time, and not steps, ran out."""


Text = Annotated[str, Field(max_length=1_000_000)]
"""Of a term, in a task."""
Declared = dict[str, str | list[str] | list[int]]
"""Variables, each with its sort or its domain, in a task."""


class UndecidedError(Exception):
    """z3 knows no answer within its steps."""


class Prover:
    """One question's context, with the variables of a scope.

    Example:
        >>> scope = Scope({"x": "Int"})
        >>> Prover(scope, 10_000).solution([scope.term("(< 3 x 5)")])
        {'x': 4}
    """

    def __init__(self, scope: Scope, steps: int) -> None:
        """Make the variables.

        Args:
            scope: Of the terms.
            steps: That z3 may take for each question, as it counts them (`rlimit`).

        Raises:
            ToolError: If z3 can't be imported.
        """
        self._z3, self._scope, self._steps = library(), scope, steps
        self._context = self._z3.Context()
        self._variables = {
            name: self._variable(name, term.sort) for name, term in scope.variables.items()
        }

    def solution(self, terms: Sequence[Term]) -> Mapping[str, Value] | None:
        """Values with which all terms hold; None if there are none.

        Returns:
            Of each variable its value; no values at all where they are no fractions.

        Raises:
            UndecidedError: If z3 does not find out.
            ToolError: If it fails.
        """
        solver = self._z3.Solver(ctx=self._context)
        solver.set(rlimit=self._steps, timeout=int(_SECONDS * 1000), max_memory=_FOR_ONE)
        solver.add(*self._asked(terms))
        found: Mapping[str, Value] | None = None
        for _ in range(_TRIES):
            if self._told(solver) == "unsat":
                return found
            said = {
                name: solver.model().eval(built, model_completion=True)
                for name, built in self._variables.items()
            }
            roots = [name for name, each in said.items() if self._z3.is_algebraic_value(each)]
            if not roots:
                return self._believed(terms, said)
            found = {}
            solver.add(*(self._variables[name] != said[name] for name in roots))
        return found

    def _believed(self, terms: Sequence[Term], said: Mapping[str, Any]) -> Mapping[str, Value]:
        """Values that z3 gave, once they are seen to be a solution.

        Raises:
            ToolError: If they are none.
        """
        values = {name: self._value(name, each) for name, each in said.items()}
        if not all(evaluated(term, values) is True for term in terms):
            raise ToolError("z3 gave a solution that is none; update z3-solver, and report it")
        return values

    def why_no_best(self, terms: Sequence[Term], objective: Term, *, is_least: bool) -> str:
        """Why no answer can give the best value of an objective; "" where one may.

        Where z3 does not find out, one may.

        Raises:
            ToolError: If z3 fails.
        """
        search = self._z3.Optimize(ctx=self._context)
        search.set(rlimit=self._steps, timeout=int(_SECONDS * 1000))
        search.add(*self._asked(terms))
        built = self._built(objective)
        found = search.minimize(built) if is_least else search.maximize(built)
        try:
            self._told(search)
        except UndecidedError:
            return ""
        infinite, best, beside = found.upper_values()
        if not str(infinite) == str(beside) == "0":
            return "the objective has no best value: there is always a better one"
        if self._z3.is_algebraic_value(best):
            return "the objective's best value is no fraction: no answer can give it"
        return ""

    def _told(self, solver: Any) -> str:
        try:
            said = str(solver.check())
        except self._z3.Z3Exception as error:
            raise ToolError(f"z3 failed: {printable(str(error), 200)}") from None
        if said == "unknown" and solver.reason_unknown() == _SLOW:
            raise ToolError(f"z3 took longer than {_SECONDS:g} s: this machine is too slow")
        if said == "unknown" and solver.reason_unknown() in _FULL:
            raise ToolError("z3 took too much memory for one question")
        if said == "unknown":
            raise UndecidedError
        return said

    def _variable(self, name: str, sort: Sort) -> Any:
        if sort.kind == "Bool":
            return self._z3.Bool(name, self._context)
        if sort.kind == "Real":
            return self._z3.Real(name, self._context)
        if sort.width:
            return self._z3.BitVec(name, sort.width, self._context)
        return self._z3.Int(name, self._context)

    def _asked(self, terms: Sequence[Term]) -> Iterable[Any]:
        """The terms, and that variables stay in their domains."""
        z3 = self._z3
        for name, numbers in self._scope.domains.items():
            yield z3.Or([self._variables[name] == number for number in sorted(numbers)])
        for name, term in self._scope.variables.items():
            if term.sort.names:
                built = self._variables[name]
                yield z3.And(built >= 0, built < len(term.sort.names))
        yield from map(self._built, terms)

    def _built(self, term: Term) -> Any:
        """A term of z3's."""
        made: dict[int, Any] = {}

        def build(each: Term) -> Any:
            if id(each) not in made:
                made[id(each)] = self._made(each, [build(part) for part in each.parts])
            return made[id(each)]

        return build(term)

    def _made(self, term: Term, parts: Sequence[Any]) -> Any:
        if term.op == "variable":
            return self._variables[term.value]
        if term.op == "value":
            return self._constant(term.sort, term.value)
        return _BUILT[term.op](self._z3, term, *parts)

    def _constant(self, sort: Sort, value: Any) -> Any:
        z3, context = self._z3, self._context
        if sort.kind == "Bool":
            return z3.BoolVal(value, context)
        if sort.kind == "Real":
            return z3.RealVal(digits(value), context)
        if sort.width:
            return z3.BitVecVal(value, sort.width, context)
        return z3.IntVal(digits(sort.names.index(value) if sort.names else value), context)

    def _value(self, name: str, said: Any) -> Value:
        """What a variable is in a solution."""
        sort = self._scope.variables[name].sort
        if sort.kind == "Bool":
            return bool(self._z3.is_true(said))
        if sort.kind == "Real":
            top, bottom = said.numerator().as_string(), said.denominator().as_string()
            return Fraction(_number(top), _number(bottom))
        whole = _number(said.as_string())
        return sort.names[whole] if sort.names else whole


def digits(value: int | Fraction) -> str:
    """A number of any size as `7` or `7/3`; `str` writes only some thousands of digits.

    Example:
        >>> digits(Fraction(7, 3)), len(digits(10**9000))
        ('7/3', 9001)
    """
    top = f"{Decimal(value.numerator):f}"
    return top if value.denominator == 1 else f"{top}/{Decimal(value.denominator):f}"


def _number(text: str) -> int:
    """The whole number that a text of digits is, however many."""
    return int(Decimal(text))


# ---- What a task says


def scope_of(variables: Declared) -> Scope:
    """The variables of a task.

    Raises:
        TaskError: If they make no sense.
    """
    try:
        return Scope(variables)
    except TermError as error:
        raise TaskError(f"the task's variables make no sense: {error}") from None


def term_of(scope: Scope, text: str, place: str, sort: Sort | None = None) -> Term:
    """A term of a task.

    Raises:
        TaskError: If it is none.
    """
    try:
        return scope.term(text, sort)
    except TermError as error:
        raise TaskError(f"the task's {place} makes no sense: {error}") from None


def checked_steps(steps: int) -> int:
    """Steps as a setting says them.

    Raises:
        ConfigError: If there are none, or more than z3 counts.
    """
    if not 0 < steps < 1 << 32:
        raise ConfigError(f"steps={steps}: give a number from 1 to {(1 << 32) - 1}")
    return steps


def undecided(steps: int) -> str:
    """What is said where z3 does not find out."""
    return f"z3 finds out neither way within {steps} steps; `steps` of the verifier allows more"


# ---- z3's own


def library() -> Any:
    """z3, within its memory.

    Raises:
        ToolError: If it can't be imported.
    """
    try:
        import z3
    except ImportError as error:
        raise ToolError(
            f"z3 can't be imported ({error}); pip install '.[proofs]' in a clone"
        ) from error
    z3.set_param("memory_max_size", _MEGABYTES)
    return z3


def _chain(compare: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda z3, _, *parts: z3.And([compare(a, b) for a, b in pairwise(parts)])


def _folded(compute: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda _z3, _, *parts: reduce(compute, parts)


def _by(name: str) -> Callable[..., Any]:
    """What a function of z3's of this name makes of all parts."""
    return lambda z3, _, *parts: getattr(z3, name)(*parts)


def _many(name: str) -> Callable[..., Any]:
    return lambda z3, _, *parts: getattr(z3, name)([*parts])


def _implied(z3: Any, _: Term, *parts: Any) -> Any:
    *premises, last = parts
    return reduce(lambda then, premise: z3.Implies(premise, then), reversed(premises), last)


def _minus(_z3: Any, _: Term, *parts: Any) -> Any:
    return -parts[0] if len(parts) == 1 else reduce(operator.sub, parts)


_BUILT: Final[dict[str, Callable[..., Any]]] = {
    "not": _by("Not"), "and": _many("And"), "or": _many("Or"), "=>": _implied,
    "xor": lambda z3, _, *parts: reduce(z3.Xor, parts), "=": _chain(operator.eq),
    "distinct": _by("Distinct"), "ite": _by("If"), "+": _folded(operator.add), "-": _minus,
    "*": _folded(operator.mul), "/": _folded(operator.truediv), "div": _folded(operator.truediv),
    "mod": _folded(operator.mod), "abs": lambda z3, _, part: z3.If(part < 0, -part, part),
    "<": _chain(operator.lt), "<=": _chain(operator.le), ">": _chain(operator.gt),
    ">=": _chain(operator.ge), "to_real": _by("ToReal"), "to_int": _by("ToInt"),
    "is_int": _by("IsInt"), "bvnot": lambda _z3, _, part: ~part,
    "bvneg": lambda _z3, _, part: -part,
    "bvand": _folded(operator.and_), "bvor": _folded(operator.or_),
    "bvxor": _folded(operator.xor), "bvadd": _folded(operator.add),
    "bvsub": _folded(operator.sub), "bvmul": _folded(operator.mul), "bvudiv": _by("UDiv"),
    "bvurem": _by("URem"), "bvshl": _folded(operator.lshift), "bvlshr": _by("LShR"),
    "bvashr": _folded(operator.rshift), "bvult": _by("ULT"), "bvule": _by("ULE"),
    "bvugt": _by("UGT"), "bvuge": _by("UGE"), "bvslt": _folded(operator.lt),
    "bvsle": _folded(operator.le), "bvsgt": _folded(operator.gt), "bvsge": _folded(operator.ge),
    "concat": _by("Concat"),
    "extract": lambda z3, term, part: z3.Extract(*term.value, part),
    "zero_extend": lambda z3, term, part: z3.ZeroExt(*term.value, part),
    "sign_extend": lambda z3, term, part: z3.SignExt(*term.value, part),
}  # fmt: skip
"""What z3 calls each operator of `terms.OPERATORS`."""
