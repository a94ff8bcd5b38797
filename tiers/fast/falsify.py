"""Canaries: copies of a test in which what a program answers is compared with another value.

That one value is equal to two that differ is a contradiction, whatever becomes of it. So each
comparison that can be made false is a **site**: a call around it records whether it has held, in
the test and in its canaries, which look alike. A site that has always held, in the test and with
another value in a canary, convicts the program. Beside a program that is right there is none,
whichever way it takes through the test.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from random import Random
from typing import Any, NamedTuple, TypeGuard

from verifier_ladder.tiers.fast.literals import another, is_plain, read, written
from verifier_ladder.tiers.fast.programs import FILE

MODULE = FILE.removesuffix(".py")
"""What a program is imported as."""

_Functions = (ast.FunctionDef, ast.AsyncFunctionDef)
_Definitions = (*_Functions, ast.ClassDef)
_CLOSENESS = frozenset({"isclose"})
_KINDS = ("", "List", "Tuple", "Set", "Dict", "Sequence", "MultiLine", "Almost")
_EQUALITIES = frozenset(f"assert{kind}Equal" for kind in _KINDS)
"""Methods that raise unless their two arguments are equal."""
_ARRAYS = frozenset({"assert_equal", "assert_array_equal"})
"""The same of arrays, where a number is equal to all elements of an empty one."""
_ROUGH = frozenset({"assertAlmostEqual", *_ARRAYS})
"""Those that take a tolerance; without one they compare closely enough."""
_WORDS = frozenset({"msg", "err_msg"})
_LENIENT = frozenset({"ANY", "approx", "__eq__", "__ne__"})
"""What tests name where values may be equal to several: those of `mock`, pytest, or their own."""
_TRUTHS = {"assertTrue": True, "assertFalse": False}
_SWALLOWED = frozenset({"AssertionError", "Exception", "BaseException"})
_LEAST_FACTOR, _MOST_FACTOR = 3, 9
_COARSEST = 0.1
"""Largest tolerance beside which a value that is several times as large is another one."""
_TRIES = 50
_TOOLS = """
def tools(sites):
    seen = [[0, 0] for _ in range(sites)]

    def record(site=None, said=None, wanted=True):
        if site is None:
            return "".join("2" if failed else "1" if held else "0" for held, failed in seen)
        if wanted is None:
            seen[site][0] += 1
            seen[site][1] -= 1
            return said
        try:
            seen[site][bool(said) is not wanted] += 1
        except Exception:
            seen[site][1] += 1
        return said

    return record

def other(value):
    kind = type(value)
    if kind is bool or value is None:
        return not value
    if kind is complex:
        return complex(other(value.real), value.imag)
    if kind in (int, float):
        more = value + abs(value) + 1
        return more if more != value else 0
    if kind in (str, bytes):
        return value + (b"a" if kind is bytes else "a")
    if kind in (list, tuple):
        return kind([*value[:-1], other(value[-1])] if value else [0])
    if kind in (set, frozenset):
        return value ^ {0}
    if kind is dict:
        return {**value, **{key: other(value[key]) for key in [*value][-1:]}} if value else {0: 0}
    return (value, {0})

def is_plain(value):
    kind = type(value)
    if kind is dict:
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    if kind in (list, tuple, set, frozenset):
        return all(map(is_plain, value))
    return value is None or kind in (bool, int, float, complex, str, bytes)

def differ(one, two, own=None):
    if own is None:
        own = 0 if is_plain(one) and not is_plain(two) else 1
    return (one, other(two)) if own else (other(one), two)

def differing(one, two, own, wanted):
    one, two = differ(one, two, own)
    try:
        return bool(one == two if wanted else one != two)
    except Exception:
        return not wanted

def distant(value, factor):
    return -value - (abs(value) + 1) * factor
"""
"""What a made test has beside it. It counts at each site how often it has held and how often not,
and makes another value of one that is not written down: of the test's own, or of the one that is
plain where it is not known which that is. Values that can't be compared are not equal."""


class Kind(Enum):
    """A test, and what is false in a canary of it."""

    TEST = auto()
    """Nothing."""
    SURE = auto()
    """One site that is surely reached."""
    ALL = auto()
    """All that are not surely reached, or those in asserts: it is not known which are reached."""
    ONE = auto()
    """One of those: the canary may convict, and need not fail."""
    NEGATED = auto()
    """An assert that is no site."""

    @property
    def must_fail(self) -> bool:
        """Whether it fails beside every program beside which the test passes."""
        return self in {Kind.SURE, Kind.NEGATED}


class _Place(Enum):
    SURE = auto()
    """In an assert that a test surely reaches: the test fails if the site is false."""
    NESTED = auto()
    """In another assert: the test fails if it is reached."""
    OTHER = auto()
    """Elsewhere: it may steer what is done, or be kept in a variable."""


class _Site(NamedTuple):
    node: ast.expr
    place: _Place


class Names(NamedTuple):
    """What a made test calls its tools: nobody could know the names before."""

    record: str
    differ: str
    differing: str
    distant: str

    @classmethod
    def drawn(cls, rng: Random) -> Names:
        """Draw them."""
        return cls(*(f"t{rng.getrandbits(64):016x}" for _ in cls._fields))

    def source(self, sites: int) -> str:
        """The tools, with builtins that nobody can replace: those in the dict `_own`."""
        _, *others = self._fields
        named = "".join(f"{getattr(self, each)} = _space[{each!r}]\n" for each in others)
        return (
            f"_space = dict(_own)\nexec({_TOOLS!r}, _space)\n"
            f"{self.record} = _space['tools']({sites})\n{named}"
        )


class Written(NamedTuple):
    """A test, or a canary of it."""

    above: list[ast.stmt]
    body: list[ast.stmt]
    false: frozenset[int]
    """Sites that are false."""


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
        self._answers = _answers(nodes)
        self._is_lenient = any(map(_is_lenient, nodes))
        sites = list(self._found())
        self._sites = [site for site in sites if _named(site.node) & self._answers] or [
            site for site in sites if site.place is _Place.SURE
        ]

    @property
    def count(self) -> int:
        """How many sites there are."""
        return len(self._sites)

    @property
    def kinds(self) -> list[Kind]:
        """The test and the canaries that it needs."""
        sure, nested, other = (len(self._of(place)) for place in _Place)
        certain = [Kind.SURE] if sure else [] if nested else [Kind.NEGATED]
        rest = [Kind.ALL, Kind.ONE][: nested + other]
        return [Kind.TEST, *certain, *rest]

    @property
    def is_empty(self) -> bool:
        """Whether it asserts nothing, and hands what was answered to code that is not here."""
        nodes = list(_nodes([*self._used, *self._body]))
        return not self._sites and not any(map(_asserts, nodes)) and _hands_on(nodes)

    def written(self, kind: Kind, names: Names, rng: Random) -> Written:
        """A copy of the statements, with sites that are recorded and, in a canary, false."""
        false = self._chosen(kind, rng)
        used, body, sites = copy.deepcopy((self._used, self._body, self._sites))
        if kind is Kind.NEGATED:
            _negate(body, rng)
        changes = dict.fromkeys(false, lambda node: self._changed(node, names, rng))
        places = {id(site.node): n for n, site in enumerate(sites)}
        writer = _Writer(places, names.record, self._calls, changes)
        for each in (*used, *body):
            writer.visit(each)
        copies = dict(zip(map(id, self._used), used, strict=True))
        return Written([copies.get(id(each), each) for each in self._above], body, false)

    def _of(self, *places: _Place) -> list[int]:
        return [n for n, site in enumerate(self._sites) if site.place in places]

    def _chosen(self, kind: Kind, rng: Random) -> frozenset[int]:
        sure, nested, other = (self._of(place) for place in _Place)
        if kind is Kind.ALL:
            return frozenset(nested or other)
        among = {Kind.SURE: sure, Kind.ONE: nested + other}.get(kind)
        return frozenset([rng.choice(among)] if among else [])

    def _found(self) -> Iterator[_Site]:
        everything = [*self._used, *self._body]
        sure = dict(_required(self._body, self._calls, certain=True))
        required = dict(_required(_statements(everything), self._calls))
        for node in (part for each in everything for part in _comparisons(each)):
            holds = required.get(id(node))
            if holds is (not _wanted(node)) or not self._can_change(node):
                continue
            if id(node) in sure and self._is_written_down(node):
                yield _Site(node, _Place.SURE)
            elif holds is not None and not self._is_helper(node):
                yield _Site(node, _Place.NESTED)
            elif holds is not None or isinstance(node, ast.Compare):
                yield _Site(node, _Place.OTHER)

    def _is_helper(self, node: ast.expr) -> bool:
        """Whether it calls a function in which there is a site: both false might be true."""
        return _raises(node, self._calls) and _name(node) not in _EQUALITIES | _ARRAYS

    def _can_change(self, node: ast.expr) -> bool:
        return self._changed(node, Names("", "", "", ""), Random(0)) is not None  # noqa: S311

    def _is_written_down(self, node: ast.expr) -> bool:
        """Whether its falsehood rests on no object that such a call might treat in its own way."""
        return not _raises(node, self._calls) or any(map(is_plain, node.args[:2]))

    # ---- Changing

    def _changed(self, node: ast.expr, names: Names, rng: Random) -> ast.expr | None:
        """A comparison that can't be true if this one is; None if there is none."""
        found: ast.expr | None = None
        match node:
            case ast.Compare(left, [ast.Eq() | ast.NotEq()], [right]):
                pair = self._other_pair(left, right, names, rng)
                found = _compared(pair, node, names) if pair else None
            case ast.Compare(
                ast.Call(ast.Name("abs"), [part], []), [ast.Lt() | ast.LtE()], [most]
            ):
                found = _distant(node, part, most, names, rng)
            case ast.Compare(left, [op], [right]) if not is_plain(left):
                other = self._other_side(op, right, rng)
                found = other and ast.Compare(left, [op], [other])
            case ast.Call(args=[first, second]) if _is_closeness(node):
                found = ast.Call(node.func, [first, _further(second, names, rng)], node.keywords)
            case ast.Call() if _raises(node, self._calls):
                found = self._other_call(node, names, rng)
        return found

    def _other_side(self, op: ast.cmpop, right: ast.expr, rng: Random) -> ast.expr | None:
        """What nothing is, or is in, that is this or is in this."""
        match op, right:
            case ast.Is() | ast.IsNot(), ast.Constant(value):
                return ast.Constant(not value)
            case ast.In() | ast.NotIn(), _:
                return self._others(read(right), rng)
        return None

    def _other_pair(
        self, left: ast.expr, right: ast.expr, names: Names, rng: Random
    ) -> list[ast.expr] | None:
        """Two arguments that are not equal where these are; None if there are no such."""
        if is_plain(left) and is_plain(right):
            return None
        if is_plain(left):
            return [written(self._another(read(left), rng)), right]
        if is_plain(right):
            return [left, written(self._another(read(right), rng))]
        own = self._own(left, right)
        if own is None and self._is_lenient:
            return None
        return [ast.Starred(_call(names.differ, left, right, ast.Constant(own)), ast.Load())]

    def _own(self, *sides: ast.expr) -> int | None:
        """Which of two is the test's own; None if that is not known."""
        answered = [bool(_named(side) & self._answers) for side in sides]
        return answered.index(False) if len(set(answered)) > 1 else None

    def _other_call(self, node: ast.Call, names: Names, rng: Random) -> ast.expr | None:
        first, second, *more = node.args
        name, words = _name(node), {each.arg for each in node.keywords} <= _WORDS
        is_clear = not (name in _ROUGH and (more or not words))
        if name in _ARRAYS and not any(
            isinstance(read(each), (list, tuple)) for each in node.args
        ):
            is_clear = False
        pair = self._other_pair(first, second, names, rng) if is_clear else None
        return ast.Call(node.func, [*pair, *more], node.keywords) if pair else None

    def _others(self, values: Any, rng: Random) -> ast.expr | None:
        """A container of other values; None if it is no container, or there are no such."""
        if not isinstance(values, (list, tuple, set)):
            return None
        others = [self._another(each, rng) for each in values]
        if not others or any(each in values for each in others):
            return None
        return written(type(values)(others))

    def _another(self, value: Any, rng: Random) -> Any:
        """Another value, one that nothing here is compared with if there is one."""
        taken, found = [*self._taken, value], [another(value, rng)]
        while found[-1] in taken and len(found) < _TRIES:
            found.append(another(found[-1], rng))
        return found[-1] if found[-1] not in taken else found[0]


class _Writer(ast.NodeTransformer):
    """Records what sites say, and makes some of them false."""

    def __init__(
        self,
        sites: Mapping[int, int],
        record: str,
        calls: frozenset[str],
        false: Mapping[int, Callable[[ast.expr], ast.expr | None]],
    ) -> None:
        self._sites, self._record, self._calls, self._false = sites, record, calls, false

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Assert):
            node.msg = (
                None  # Nobody is told it, and it may ask of a value what only a wrong one has.
            )
        site = self._sites.get(id(node))
        changed: ast.AST = super().generic_visit(node)
        if site is None or not isinstance(changed, ast.expr):
            return changed
        change = self._false.get(site)
        said = change(changed) if change else changed
        assert said is not None  # noqa: S101 - it was tried before
        number, false, none = (ast.Constant(each) for each in (site, False, None))
        if _raises(changed, self._calls):
            begun = _call(self._record, number, false)
            return ast.Tuple([begun, said, _call(self._record, number, none, none)], ast.Load())
        return _call(self._record, number, said, ast.Constant(_wanted(changed)))


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


def _is_lenient(node: ast.AST) -> bool:
    """Whether it names something that may be equal to several values."""
    match node:
        case (
            ast.Name(name) | ast.Attribute(attr=name) | ast.alias(name)
            | ast.FunctionDef(name)
        ):  # fmt: skip
            return name in _LENIENT
    return False


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
    return _bound([statement] if isinstance(statement, _Definitions) else ast.walk(statement))


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


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
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
    found = _named(*nodes) - _bound(nodes) - set(dir(builtins))
    for node in nodes:
        match node:
            case ast.Import(names) if any(each.name == MODULE for each in names):
                found |= _bound(names)
            case ast.ImportFrom(module, names) if module == MODULE:
                found |= _bound(names)
            case ast.arg(name):
                found.add(name)
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


def _comparisons(node: ast.AST) -> Iterator[Any]:
    """Comparisons and calls in it, in order; without words, and without what a loop waits for."""
    if isinstance(node, (ast.Compare, ast.Call)):
        yield node
    skipped = {ast.Assert: "msg", ast.While: "test", ast.JoinedStr: "values"}.get(type(node))
    for name, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if name != skipped and isinstance(each, ast.AST):
                yield from _comparisons(each)


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


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _compared(pair: list[ast.expr], node: ast.Compare, names: Names) -> ast.expr:
    """Two values as operands, or as arguments where a call gives both."""
    match pair:
        case [ast.Starred(ast.Call(args=args))]:
            return _call(names.differing, *args, ast.Constant(_wanted(node)))
    return ast.Compare(pair[0], node.ops, [pair[1]])


def _distant(
    test: ast.Compare, difference: ast.expr, most: ast.expr, names: Names, rng: Random
) -> ast.expr | None:
    """Of `abs(a - b) < 1e-9` the same with a distant b; None if the bound is not small."""
    bound = read(most)
    if not isinstance(bound, (int, float)) or bound > _COARSEST:
        return None
    match difference:
        case ast.BinOp(left, ast.Sub(), right):
            changed = ast.BinOp(left, ast.Sub(), _further(right, names, rng))
            return ast.Compare(ast.Call(ast.Name("abs"), [changed], []), test.ops, [most])
    return None


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


def _further(value: ast.expr, names: Names, rng: Random) -> ast.expr:
    """A value on the other side of zero, and further from it."""
    return _call(names.distant, value, ast.Constant(rng.randint(_LEAST_FACTOR, _MOST_FACTOR)))
