"""Canaries: copies of a test in which what a program answers is compared with another value.

That one value is equal to two that differ is a contradiction, whatever becomes of it. So each
comparison is a **site**: it is asked about another value, too (`asking`), in the test and in its
canaries, which look alike. Beside a program that is right no site is contradicted, whichever
way it takes through the test.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from random import Random
from typing import Any, NamedTuple, TypeGuard

from verifier_ladder.tiers.fast.asking import AMONG, NEAR, SAME, Names, distant, tools
from verifier_ladder.tiers.fast.literals import NONE, another, is_plain, read, written
from verifier_ladder.tiers.fast.programs import FILE

MODULE = FILE.removesuffix(".py")
"""What a program is imported as."""

_Functions = (ast.FunctionDef, ast.AsyncFunctionDef)
_Definitions = (*_Functions, ast.ClassDef)
_Is = (ast.Is, ast.IsNot)
_HOW: Mapping[type[ast.cmpop], int] = {
    **dict.fromkeys((ast.Eq, ast.NotEq, *_Is), SAME), **dict.fromkeys((ast.In, ast.NotIn), AMONG)
}  # fmt: skip
_DISTANCES = frozenset({"abs", "fabs"})
_CLOSENESS = frozenset({"isclose"})
_KINDS = ("", "List", "Tuple", "Set", "Dict", "Sequence", "MultiLine", "Count")
_MEMBERS = frozenset({"assertIn"})
_ALMOST = frozenset({"assertAlmostEqual"})
_EQUALITIES = frozenset(f"assert{kind}Equal" for kind in _KINDS) | _MEMBERS | _ALMOST
"""Methods that raise unless their first two arguments are equal, or one is among the other."""
_ARRAYS = frozenset({"assert_equal", "assert_array_equal"})
"""The same of arrays, where a number is equal to all elements of an empty one."""
_WORDS = frozenset({"msg", "err_msg"})
_TOLERANCES = frozenset({"places", "delta"})
_LENIENT = frozenset({"ANY", "approx"})
"""What tests name where values may be equal to several: those of `mock` and pytest."""
_OWN = frozenset({"__eq__", "__ne__"})
"""What classes of the tests define whose objects may be equal to several."""
_TRUTHS = {"assertTrue": True, "assertFalse": False}
_SWALLOWED = frozenset({"AssertionError", "Exception", "BaseException"})
_COARSEST = 0.1
"""Largest tolerance of `isclose` beside which a value far away is another one."""
_BOTH = 3
"""Both operands are asked: a bit for each."""
_MOST_WORDS = 3
"""Arguments behind the first two of which one is a tolerance in absolute terms."""
_TRIES = 50


class Kind(Enum):
    """A test, and what is false in a canary of it."""

    TEST = auto()
    """Nothing."""
    SURE = auto()
    """One site that is surely reached."""
    ALL = auto()
    """All that are not surely reached, or those in asserts: it is not known which are reached."""
    NEGATED = auto()
    """An assert that is no site."""
    RAISED = auto()
    """Which exception a test waits for."""

    @property
    def must_fail(self) -> bool:
        """Whether it fails beside every program beside which the test passes."""
        return self in {Kind.SURE, Kind.NEGATED, Kind.RAISED}


class _Place(Enum):
    SURE = auto()
    """In an assert that a test surely reaches: the test fails if the site is false."""
    NESTED = auto()
    """In another assert: the test fails if it is reached."""
    OTHER = auto()
    """Elsewhere: it may steer what is done, or be kept in a variable."""
    ASKED = auto()
    """Where it is never made false: a loop might never end, or nothing be false then."""


class _Site(NamedTuple):
    node: ast.expr
    place: _Place


class _Pair(NamedTuple):
    """What a site compares."""

    how: int
    one: ast.expr
    two: ast.expr
    own: int | None = None
    """Which of the two is the test's own; None if that is not known."""
    asked: int = _BOTH
    """Which of the two may be asked about another value: those that are equal to one alone."""
    bound: ast.expr | None = None
    """How far from each other the two may be."""

    @property
    def is_clear(self) -> bool:
        """Whether the comparison is false if the test's own is another value."""
        needed = {None: _BOTH, 0: 2, 1: 1}[self.own]
        return self.asked & needed == needed

    @property
    def value(self) -> Any:
        """The test's own, if it is written down; else `NONE`."""
        return NONE if self.own is None else read(self.two if self.own else self.one)

    def with_own(self, value: ast.expr) -> _Pair:
        """The same with another value of the test's own."""
        return self._replace(two=value) if self.own else self._replace(one=value)


class Written(NamedTuple):
    """A test, or a canary of it."""

    above: list[ast.stmt]
    body: list[ast.stmt]
    false: frozenset[int]
    """Sites that are false."""
    tools: str
    """What it has beside it, as source."""


class Falsifiable:
    """A test's statements, and the sites in them."""

    def __init__(self, above: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> None:
        """Find the sites.

        Args:
            above: What stands before the test; of it counts what the test uses.
            body: The test itself.
        """
        self._above, self._body = list(above), list(body)
        self._used = _used(self._above, self._body)
        self._calls = _equalities([*self._used, *self._body])
        self._taken = list(_taken([*self._used, *self._body]))
        nodes = list(_nodes([*self._used, *self._body]))
        self._answers, self._lenient = _answers(nodes), _lenient(nodes)
        self._sites = list(self._found())

    @property
    def count(self) -> int:
        """How many sites there are."""
        return len(self._sites)

    @property
    def kinds(self) -> list[Kind]:
        """The test and the canaries that it needs."""
        sure, nested, other = map(self._of, (_Place.SURE, _Place.NESTED, _Place.OTHER))
        certain = [Kind.SURE] if sure else [] if nested else [Kind.NEGATED]
        return [Kind.TEST, *certain, *([Kind.ALL] if nested or other else [])]

    @property
    def is_empty(self) -> bool:
        """Whether it asserts nothing, and hands what was answered to code that is not here."""
        nodes = list(_nodes([*self._used, *self._body]))
        compares = any(site.place is not _Place.ASKED for site in self._sites)
        return not compares and not any(map(_asserts, nodes)) and _hands_on(nodes)

    def written(self, kind: Kind, names: Names, rng: Random, *, late: bool = False) -> Written:
        """A copy of the statements, with sites that are asked and, in a canary, false."""
        false, hidden, others = self._chosen(kind, rng), list[int](), _Others(self._taken, rng)
        used, body, sites = copy.deepcopy((self._used, self._body, self._sites))
        if kind is Kind.NEGATED:
            _negate(body, rng)

        def asked(site: int, node: ast.expr) -> ast.expr:
            pair = self._pair(node)
            assert pair is not None  # noqa: S101 - it was one before
            told = pair
            if site in false:
                own = others.than(node, pair)
                told = pair.with_own(own) if own else pair
                hidden.extend([] if own else [site])
            return _ask(node, pair, told, site, names, wanted=self._says(node))

        writer = _Writer({id(site.node): n for n, site in enumerate(sites)}, asked)
        for each in (*used, *body):
            writer.visit(each)
        copies = dict(zip(map(id, self._used), used, strict=True))
        above = [copies.get(id(each), each) for each in self._above]
        return Written(above, body, false, tools(names, self.count, hidden, rng, late=late))

    def _of(self, place: _Place) -> list[int]:
        return [n for n, site in enumerate(self._sites) if site.place is place]

    def _chosen(self, kind: Kind, rng: Random) -> frozenset[int]:
        sure, nested, other = map(self._of, (_Place.SURE, _Place.NESTED, _Place.OTHER))
        if kind is Kind.ALL:
            return frozenset(nested or other)
        if kind is not Kind.SURE:
            return frozenset()
        one = rng.choice(sure)
        return frozenset(n for n in sure if n == one or self._is_the_same(n, one))

    def _is_the_same(self, *sites: int) -> bool:
        """Whether two sites compare with one value: a test says one thing of what it asks."""
        pairs = (self._pair(self._sites[n].node) for n in sites)
        one, two = (repr(pair.value) if pair else "" for pair in pairs)
        return one == two != repr(NONE)

    def _found(self) -> Iterator[_Site]:
        everything = [*self._used, *self._body]
        sure = dict(_required(self._body, self._calls, certain=True))
        required = dict(_required(_statements(everything), self._calls))
        found = [
            (node, pair.is_clear and not is_fixed)
            for each in everything for node, is_fixed in _comparisons(each)
            if (pair := self._pair(node))
        ]  # fmt: skip
        told = any(is_clear and self._is_told(node) for node, is_clear in found)
        for node, is_clear in found:
            place = self._place(node, sure, required, told=told) if is_clear else _Place.ASKED
            yield _Site(node, place)

    def _place(
        self, node: ast.expr, sure: Mapping[int, bool], required: Mapping[int, bool], *, told: bool
    ) -> _Place:
        """Where a comparison stands; `told` is whether some comparison names an answer."""
        holds, is_sure = required.get(id(node)), id(node) in sure
        if (told and not self._is_told(node)) or not (told or is_sure):
            return _Place.ASKED
        if holds is (self._says(node) is False):
            return _Place.ASKED
        if is_sure and self._is_written_down(node):
            return _Place.SURE
        if holds is not None and not self._is_helper(node):
            return _Place.NESTED
        is_other = holds is not None or isinstance(node, ast.Compare)
        return _Place.OTHER if is_other else _Place.ASKED

    def _is_told(self, node: ast.expr) -> bool:
        """Whether it names what a program answers."""
        return bool(_named(node) & self._answers)

    def _is_helper(self, node: ast.expr) -> bool:
        """Whether it calls a function in which there is a site: both false might be true."""
        return _raises(node, self._calls) and _name(node) not in _EQUALITIES | _ARRAYS

    def _is_written_down(self, node: ast.expr) -> bool:
        """Whether its falsehood rests on no object that such a call might treat in its own way."""
        return not _raises(node, self._calls) or any(map(is_plain, node.args[:2]))

    def _says(self, node: ast.expr) -> bool | None:
        """What it says if the two are equal; None if it raises unless they are."""
        return None if _raises(node, self._calls) else _wanted(node)

    # ---- What is compared

    def _pair(self, node: ast.expr) -> _Pair | None:
        """What is compared there, with something that could be another value."""
        found = self._operands(node)
        if found is None or (is_plain(found.one) and is_plain(found.two)):
            return None
        own = self._own(found.one, found.two)
        lenient = [bool(_named(side) & self._lenient) for side in (found.one, found.two)]
        return found._replace(own=own, asked=_BOTH - lenient[0] - 2 * lenient[1])

    def _operands(self, node: ast.expr) -> _Pair | None:
        match node:
            case ast.Compare(left, [op], [right]) if type(op) in _HOW:
                return _Pair(_HOW[type(op)], left, right)
            case ast.Compare(
                ast.Call(args=[ast.BinOp(left, ast.Sub(), right)]) as far,
                [ast.Lt() | ast.LtE()],
                [bound],
            ) if _name(far) in _DISTANCES:
                return _Pair(NEAR, left, right, bound=bound)
            case ast.Compare(
                bound,
                [ast.Gt() | ast.GtE()],
                [ast.Call(args=[ast.BinOp(left, ast.Sub(), right)]) as far],
            ) if _name(far) in _DISTANCES:
                return _Pair(NEAR, left, right, bound=bound)
            case ast.Call(args=[left, right]) if _is_closeness(node):
                return _Pair(NEAR, left, right, bound=ast.Constant(0))
            case ast.Call() if _raises(node, self._calls):
                return self._arguments(node)
        return None

    def _arguments(self, node: ast.Call) -> _Pair | None:
        """What a call compares that raises unless its arguments are equal."""
        name, (left, right, *more) = _name(node), node.args
        tolerance = [each.value for each in node.keywords if each.arg in _TOLERANCES]
        others = {each.arg for each in node.keywords} - _WORDS - _TOLERANCES
        if name in _ALMOST:
            bound = [*tolerance, ast.Constant(1)][0]
            return _Pair(NEAR, left, right, bound=bound) if len(more) < _MOST_WORDS else None
        is_listed = any(isinstance(read(each), (list, tuple)) for each in (left, right))
        if name in _ARRAYS and (more or others or not is_listed):
            return None
        return _Pair(AMONG if name in _MEMBERS else SAME, left, right)

    def _own(self, *sides: ast.expr) -> int | None:
        """Which of two is the test's own; None if that is not known."""
        for told in (
            [not is_plain(side) for side in sides],
            [bool(_named(side) & self._answers) for side in sides],
        ):
            if len(set(told)) > 1:
                return told.index(False)
        return None


class _Others:
    """Other values for a canary: for one value it is the same one wherever it stands.

    So a program that answers with what it reads there is right in the canary, too.
    """

    def __init__(self, taken: Sequence[Any], rng: Random) -> None:
        self._taken, self._rng, self._drawn = list(taken), rng, dict[str, Any]()

    def than(self, node: ast.expr, pair: _Pair) -> ast.expr | None:
        """Another value for the one that a test writes down; None if it writes none down."""
        value = pair.value
        if value is NONE:
            return None
        if pair.how == SAME and isinstance(node, ast.Compare) and isinstance(node.ops[0], _Is):
            return ast.Constant(not value)
        if pair.how == SAME:
            return written(self._another(value))
        if pair.how == AMONG:
            return self._others(value) if pair.own else None
        bound = read(pair.bound) if pair.bound else 0
        is_number = all(isinstance(each, (int, float)) for each in (value, bound))
        if not is_number:
            return None
        return written(self._kept((value, bound), lambda: distant(value, bound, self._rng)))

    def _others(self, values: Any) -> ast.expr | None:
        """A container of other values; None if it is no container, or there are no such."""
        if not isinstance(values, (list, tuple, set)):
            return None
        others = [self._another(each) for each in values]
        if not others or any(each in values for each in others):
            return None
        return written(type(values)(others))

    def _another(self, value: Any) -> Any:
        return self._kept(value, lambda: self._new(value))

    def _kept(self, value: Any, make: Callable[[], Any]) -> Any:
        if repr(value) not in self._drawn:
            self._drawn[repr(value)] = make()
        return self._drawn[repr(value)]

    def _new(self, value: Any) -> Any:
        """Another value, one that nothing here is compared with if there is one."""
        taken, found = [*self._taken, value], [another(value, self._rng)]
        while found[-1] in taken and len(found) < _TRIES:
            found.append(another(found[-1], self._rng))
        return found[-1] if found[-1] not in taken else found[0]


class _Writer(ast.NodeTransformer):
    """Writes at each site that it is asked."""

    def __init__(
        self, sites: Mapping[int, int], asked: Callable[[int, ast.expr], ast.expr]
    ) -> None:
        self._sites, self._asked = sites, asked

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Assert):
            # Nobody is told it, and it may ask of a value what only a wrong one has.
            node.msg = None
        site = self._sites.get(id(node))
        changed: ast.AST = super().generic_visit(node)
        if site is None or not isinstance(changed, ast.expr):
            return changed
        return self._asked(site, changed)


class _Operands(ast.NodeTransformer):
    """Puts names in the place of operands."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> Any:
        name = self._names.get(id(node))
        return ast.Name(name, ast.Load()) if name else super().generic_visit(node)


# ---- Reading statements


def asserts(statement: ast.stmt, body: Sequence[ast.stmt]) -> bool:
    """Whether a statement asserts something, by itself or by the functions of a body it calls."""
    functions = [each for each in body if isinstance(each, _Definitions)]
    return any(map(_asserts, _nodes([*_used(functions, [statement]), statement])))


def _asserts(node: ast.AST) -> bool:
    match node:
        case ast.Assert():
            return True
        case ast.Raise():
            return _fails([node])
        case ast.Call():
            return _name(node).lower().startswith("assert")
    return False


def _lenient(nodes: Sequence[ast.AST]) -> set[str]:
    """Names of what may be equal to several values, or hold such; parameters if there is any."""
    found = set[str]()
    for node in nodes:
        match node:
            case ast.alias(name, other) if name in _LENIENT:
                found.add(other or name)
            case ast.Name(name) if name in _LENIENT:
                found.add(name)
            case ast.Attribute(_, name) if name in _LENIENT:
                found |= _names(node)
            case ast.ClassDef(name, body=body):
                own = {each.name for each in body if isinstance(each, _Functions)}
                found |= {name} if own & _OWN else set()
    if found:
        found |= {each.arg for each in nodes if isinstance(each, ast.arg)}
    return _reached(found, nodes)


def _hands_on(nodes: Sequence[ast.AST]) -> bool:
    """Whether what a call returns is used."""
    dropped = set[int]()
    for node in nodes:
        match node:
            case ast.Expr(value) | ast.withitem(value) | ast.Raise(ast.expr() as value):
                dropped.add(id(value))
            case ast.Call(ast.Attribute(value)):
                dropped.add(id(value))
    return any(isinstance(node, ast.Call) and id(node) not in dropped for node in nodes)


def _used(above: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Those statements that bind a name which the body, or another one of them, asks for."""
    bound = [_binds(each) for each in above]
    names, used = _named(*body), set[int]()
    while found := {n for n, each in enumerate(bound) if each & names} - used:
        used |= found
        names |= _named(*(above[n] for n in found))
    return [above[n] for n in sorted(used)]


def _binds(statement: ast.stmt) -> set[str]:
    """Names that are bound where it stands."""
    if isinstance(statement, ast.Assign):
        return {name for each in statement.targets for name in _names(each)}
    return bound_names([statement] if isinstance(statement, _Definitions) else ast.walk(statement))


def _nodes(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for each in statements:
        yield from ast.walk(each)


def _named(*nodes: ast.AST) -> set[str]:
    """Names that are asked for."""
    return {
        node.id for node in _nodes(nodes)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }  # fmt: skip


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that are given a value."""
    found = set[str]()
    for node in nodes:
        match node:
            case ast.Name(name, ast.Store()) | ast.arg(name):
                found.add(name)
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                found.add(name)
            case ast.alias(name, other):
                found.add(other or name.partition(".")[0])
    return found


def _answers(nodes: Sequence[ast.AST]) -> set[str]:
    """Names that may stand for something of the program: its functions, or what they returned."""
    found = _named(*nodes) - bound_names(nodes) - set(dir(builtins))
    for node in nodes:
        match node:
            case ast.Import(names) if any(each.name == MODULE for each in names):
                found |= bound_names(names)
            case ast.ImportFrom(module, names) if module == MODULE:
                found |= bound_names(names)
            case ast.arg(name):
                found.add(name)
    return _reached(found, nodes)


def _reached(names: set[str], nodes: Sequence[ast.AST]) -> set[str]:
    """Names that hold something of these, and these."""
    found = set(names)
    flows = [(_names(to), _named(by)) for node in nodes for to, by in _flows(node)]
    while more := {name for to, by in flows if by & found for name in to} - found:
        found |= more
    return found


def _flows(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What is given something, and what is given to it."""
    match node:
        case ast.Assign(targets, source):
            yield from ((target, source) for target in targets)
        case ast.AugAssign(target, _, source) | ast.AnnAssign(target, _, ast.expr() as source):
            yield target, source
        case ast.NamedExpr(target, source) | ast.withitem(source, ast.expr() as target):
            yield target, source
        case ast.For(target, source) | ast.comprehension(target, source):
            yield target, source
        case ast.Expr(ast.Call(ast.Attribute(target), args)):
            yield from ((target, source) for source in args)
        case ast.FunctionDef(name):
            yield ast.Name(name), node


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """All statements, without those whose failed asserts come to nothing."""
    for each in body:
        if isinstance(each, ast.stmt):
            yield each
        swallowed = each.body if _swallows(each) else []  # type: ignore[attr-defined]
        inside = (ast.stmt, ast.ExceptHandler, ast.match_case)
        parts = [part for part in ast.iter_child_nodes(each) if isinstance(part, inside)]
        yield from _statements(part for part in parts if part not in swallowed)


def _swallows(node: ast.AST) -> bool:
    match node:
        case ast.Try(handlers=handlers):
            return any(
                (each.type is None or _named(each.type) & _SWALLOWED) and not _passes_on(each.body)
                for each in handlers
            )
        case ast.With(items):
            return bool(_named(*items) & _SWALLOWED)
    return False


def _passes_on(body: Sequence[ast.stmt]) -> bool:
    return _fails(body) or ast.unparse(body[-1]) == "raise"


def _fails(body: Sequence[ast.stmt]) -> bool:
    """Whether it ends by an assertion that fails."""
    match body:
        case [*_, ast.Assert(ast.Constant(value))]:
            return not value
        case [
            *_,
            ast.Raise(ast.Name("AssertionError") | ast.Call(ast.Name("AssertionError"))),
        ]:
            return True
    return False


def _equalities(statements: Sequence[ast.stmt]) -> frozenset[str]:
    """Functions that raise unless the first two arguments are equal."""
    own = [node for node in _nodes(statements) if isinstance(node, _Functions)]
    named = {each.name for each in own}
    return (_EQUALITIES | _ARRAYS) - named | {each.name for each in own if _is_equality(each)}


def _is_equality(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    match [each for each in node.body if not _is_words(each)], node.args.args:
        case (
            [ast.Assert(ast.Compare(ast.Name(left), [ast.Eq()], [ast.Name(right)]))],
            [first, second, *_],
        ):
            return {left, right} == {first.arg, second.arg}
    return False


def _is_words(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _required(
    statements: Iterable[ast.stmt], calls: frozenset[str], *, certain: bool = False
) -> Iterator[tuple[int, bool]]:
    """Of nodes, by identity, whether they are true or false when the statements have passed.

    Args:
        statements: Where to look: in these, and not in what they hold.
        calls: Functions that raise unless arguments are equal.
        certain: Only what is surely asked.
    """
    for each in statements:
        match each:
            case ast.Assert(test):
                yield from _parts(test, holds=True, certain=certain)
            case ast.If(test, body, orelse) if _fails(body) or _fails(orelse):
                yield from _parts(test, holds=not _fails(body), certain=certain)
            case ast.Expr(ast.Call(args=[test, *_]) as call) if _name(call) in _TRUTHS:
                yield from _parts(test, holds=_TRUTHS[_name(call)], certain=certain)
            case ast.Expr(call) if _raises(call, calls):
                yield id(call), True


def _parts(test: ast.expr, *, holds: bool, certain: bool) -> Iterator[tuple[int, bool]]:
    """What must be true or false so that a condition holds, or does not."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            yield from _parts(operand, holds=not holds, certain=certain)
        case ast.BoolOp(op, values) if isinstance(op, ast.And) is holds:
            for each in values:
                yield from _parts(each, holds=holds, certain=certain)
        case ast.Call(
            ast.Name("all" | "any" as name), [ast.GeneratorExp(part) | ast.ListComp(part)]
        ):
            if (name == "all") is holds and not certain:
                yield from _parts(part, holds=holds, certain=False)
        case ast.Compare() | ast.Call():
            yield id(test), holds


def _comparisons(node: ast.AST, *, is_fixed: bool = False) -> Iterator[tuple[Any, bool]]:
    """Comparisons and calls in it, in order, and whether a canary leaves them as they are.

    So it does with what a loop waits for, and with words, which are told where something is wrong.
    """
    if isinstance(node, (ast.Compare, ast.Call)):
        yield node, is_fixed
    skipped = "msg" if isinstance(node, ast.Assert) else ""
    fixed = {ast.While: "test", ast.JoinedStr: "values"}.get(type(node))
    for name, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if name != skipped and isinstance(each, ast.AST):
                yield from _comparisons(each, is_fixed=is_fixed or name == fixed)


def _wanted(node: ast.expr) -> bool:
    """What a comparison says if the two are equal."""
    return not (
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], (ast.NotEq, ast.IsNot, ast.NotIn))
    )


def _raises(node: ast.AST, calls: frozenset[str]) -> TypeGuard[ast.Call]:
    """Whether it is a call that raises unless two values are equal."""
    if not isinstance(node, ast.Call) or _name(node) not in calls or len(node.args) < 2:  # noqa: PLR2004
        return False
    return not any(isinstance(each, ast.Starred) for each in node.args)


def _name(node: ast.Call) -> str:
    match node.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return ""


def _taken(statements: Sequence[ast.stmt]) -> Iterator[Any]:
    """Values that something is compared with."""
    for node in _nodes(statements):
        if isinstance(node, ast.Compare):
            for each in (node.left, *node.comparators):
                value = read(each)
                yield from value if isinstance(value, (list, tuple, set)) else ()
                yield value


# ---- Writing


def _negate(body: list[ast.stmt], rng: Random) -> None:
    """Negate an assert that is surely reached, or put a false one at the end."""
    sure = [each for each in body if isinstance(each, ast.Assert)]
    if sure:
        chosen = rng.choice(sure)
        chosen.test = ast.UnaryOp(ast.Not(), chosen.test)
    else:
        one, two = rng.sample(range(1000), 2)
        body += ast.parse(f"assert {one} == {two}").body


def _ask(
    node: ast.expr, pair: _Pair, told: _Pair, site: int, names: Names, *, wanted: bool | None
) -> ast.Call:
    """The call that asks a site.

    Args:
        node: The comparison.
        pair: What it compares.
        told: What it is to compare instead.
        site: Its number.
        names: What tools and operands are called.
        wanted: What it says if the two are equal.
    """
    bound = pair.bound or ast.Constant(None)
    operands = {id(pair.one): names.one, id(pair.two): names.two, id(bound): names.bound}
    parameters, called = list(operands.values()), list[ast.expr]()
    if isinstance(node, ast.Call):  # What is called is found out here, as it was.
        parameters, called = [*parameters, names.call], [node.func]
        node.func = ast.Name(names.call, ast.Load())
    arguments = [ast.arg(name) for name in parameters]
    check = ast.Lambda(
        ast.arguments([], arguments, kwonlyargs=[], kw_defaults=[], defaults=called),
        _Operands(operands).visit(node),
    )
    flags = [ast.Constant(each) for each in (pair.own, pair.asked, wanted)]
    return ast.Call(
        ast.Name(names.ask, ast.Load()),
        [ast.Constant(site), check, ast.Constant(pair.how), told.one, told.two, bound, *flags],
        [],
    )


def _is_closeness(test: ast.Call) -> bool:
    """Whether it is such as `math.isclose(a, b, rel_tol=1e-9)`, with small tolerances."""
    match test.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            tolerances = [each.value for each in test.keywords]
            return name in _CLOSENESS and all(
                isinstance(each, ast.Constant) and float(each.value) <= _COARSEST  # type: ignore[arg-type]
                for each in tolerances
            )
    return False
