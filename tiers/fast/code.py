"""Code: a function that a model wrote is called in a sandbox, and its values are compared outside.

A task says what to call and what must come of it, both as Python's literals in text, so that a
tuple, a set, -0.0 and an integer of any size are written as they are:

| Field | Meaning |
|---|---|
| `calls` | the tests: `"solve(3)"`, `"scale([1, 2], by=0.5)"`; arguments are literals |
| `expected` | what each gives: `"9"`, `"{1, 2}"`, `"nan"`, or `"raise ValueError"`: no subclass |
| `tolerance` | how far floats may be off, absolute or relative; exact by default |
| `limits` | what each call may take, by the names of `Limits` |

Calls go into the sandbox, expected values never do.
"""

from __future__ import annotations

import ast
import builtins
from cmath import isclose as is_near
from collections.abc import Iterator, Mapping, Sequence
from math import inf, nan
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.programs import (
    FILE,
    Bounds,
    Caller,
    ProgramVerifier,
    TimeUsedUpError,
    allowed,
    program_in,
    python_tools,
    said_of,
    tested,
)
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Program, Result, Sandbox
from verifier_ladder.tiers.sandbox.values import ValueTextError, encode
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import MOST_SCORES, Verdict

_SHOWN = 200
"""Characters of a call."""


# ---- What a task asks


class _Task(BaseModel):
    """Fields of a task."""

    model_config = ConfigDict(strict=True)
    calls: Annotated[list[str], Field(min_length=1, max_length=MOST_SCORES)]
    expected: list[str]
    tolerance: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    limits: Bounds = Bounds()


class Call(NamedTuple):
    """A function's name and its arguments."""

    function: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


_HOMES = (
    ("asyncio", "asyncio.exceptions", "BrokenBarrierError CancelledError IncompleteReadError"),
    ("asyncio", "asyncio.exceptions", "InvalidStateError LimitOverrunError"),
    ("asyncio", "asyncio.exceptions", "SendfileNotAvailableError"),
    ("asyncio", "asyncio.queues", "QueueEmpty QueueFull QueueShutDown"),
    ("concurrent.futures", "concurrent.futures._base", "BrokenExecutor CancelledError"),
    ("concurrent.futures", "concurrent.futures._base", "InvalidStateError"),
    ("csv", "_csv", "Error"),
    ("curses", "_curses", "error"),
    ("curses.panel", "_curses_panel", "error"),
    ("dbm.gnu", "_gdbm", "error"),
    ("dbm.ndbm", "_dbm", "error"),
    ("json", "json.decoder", "JSONDecodeError"),
    ("lzma", "_lzma", "LZMAError"),
    ("multiprocessing", "multiprocessing.context", "AuthenticationError BufferTooShort"),
    ("multiprocessing", "multiprocessing.context", "ProcessError TimeoutError"),
    ("pathlib", "pathlib._abc", "UnsupportedOperation"),
    ("pickle", "_pickle", "PickleError PicklingError UnpicklingError"),
    ("pyexpat", "xml.parsers.expat", "ExpatError"),
    ("queue", "_queue", "Empty"),
    ("tkinter", "_tkinter", "TclError"),
    ("unittest", "unittest.case", "SkipTest"),
    ("xml.sax", "xml.sax._exceptions", "SAXException SAXNotRecognizedException"),
    ("xml.sax", "xml.sax._exceptions", "SAXNotSupportedException SAXParseException"),
    ("xml.sax", "xml.sax._exceptions", "SAXReaderNotAvailable"),
    ("zoneinfo", "zoneinfo._common", "ZoneInfoNotFoundError"),
    ("zoneinfo", "zoneinfo._tzpath", "InvalidTZPathWarning"),
)
"""Public module, the one that its classes name instead, and these classes."""
_OTHERS = {
    "OSError": "dbm.dumb.error mmap.error os.error posix.error resource.error select.error "
    "socket.error",
    "TimeoutError": "asyncio.TimeoutError asyncio.exceptions.TimeoutError "
    "concurrent.futures.TimeoutError socket.timeout",
    "BlockingIOError": "io.BlockingIOError",
    "RuntimeError": "threading.ThreadError",
    "email.errors.MissingHeaderBodySeparatorDefect": "email.errors.MalformedHeaderDefect",
    "getopt.GetoptError": "getopt.error",
    "http.client.HTTPException": "http.client.error",
    "ossaudiodev.OSSAudioError": "ossaudiodev.error",
    "re.PatternError": "re.error",
    "signal.itimer_error": "signal.ItimerError",
    "ssl.SSLCertVerificationError": "ssl.CertificateError",
    "xml.parsers.expat.ExpatError": "pyexpat.error xml.parsers.expat.error",
    "zipfile.BadZipFile": "zipfile.BadZipfile zipfile.error",
}
"""Class → other names of it."""
_TOLD = {
    f"{public}.{name}": f"{home}.{name}"
    for public, home, names in _HOMES
    for name in names.split()
} | {name: told for told, names in _OTHERS.items() for name in names.split()}
"""Public name → as what a class of the standard library is told, where that is another name.

A table, for nothing that a task names is imported here; and no rule, by which a program's own
`json.mine.JSONDecodeError` might be `json`'s.
"""


class Raises(NamedTuple):
    """That a call raises an exception of this class, instead of giving a value.

    A name of Python's own means that class alone: a program's class of the same name is another
    one. Any other name means a class of the program or of a module that it imports; with its
    module before it, such as `decimal.InvalidOperation`, that one. In the standard library any
    public name will do; elsewhere a class is named by the module that it names itself.
    """

    name: str

    def is_met_by(self, told: str) -> bool:
        """Whether an exception of this class was told of, by the name in `Result.error`.

        Example:
            >>> Raises("ValueError").is_met_by("main.ValueError")
            False
            >>> Raises("Empty").is_met_by("main.Empty"), Raises("IOError").is_met_by("OSError")
            (True, True)
            >>> Raises("json.JSONDecodeError").is_met_by("json.decoder.JSONDecodeError")
            True
        """
        own = vars(builtins).get(self.name.removeprefix("builtins."))
        if isinstance(own, type) and issubclass(own, BaseException):
            return told == own.__name__
        return self.name in {told, told.rpartition(".")[2]} or told == _TOLD.get(self.name)


def literal(text: str) -> Any:
    """Read a value that is written as Python writes it.

    Beside what `ast.literal_eval` reads there are `inf`, `nan`, `frozenset` and `bytearray`.

    Raises:
        ValueError: If it is no literal.

    Example:
        >>> literal("(1, -0.0, {inf}, frozenset())")
        (1, -0.0, {inf}, frozenset())
    """
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"{printable(text, 80)!r} is no literal: {error}") from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Name(id="inf" | "nan" as name):
            return {"inf": inf, "nan": nan}[name]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id="inf")):
            return -inf
        case ast.Call(func=ast.Name(id="set" | "frozenset" | "bytearray" as name), keywords=[]):
            made = {"set": set, "frozenset": frozenset, "bytearray": bytearray}[name]
            return made(*map(_value, node.args))
        case ast.List() | ast.Tuple() | ast.Set():
            kinds: dict[type, Any] = {ast.List: list, ast.Tuple: tuple, ast.Set: set}
            return kinds[type(node)](map(_value, node.elts))
        case ast.Dict():
            if None in node.keys:
                raise ValueError("a dict is not spread into another")
            keys = [_value(key) for key in node.keys if key is not None]
            return dict(zip(keys, map(_value, node.values), strict=True))
    return ast.literal_eval(node)


def call(text: str) -> Call:
    """Read a call whose arguments are literals.

    Raises:
        ValueError: If it is none.

    Example:
        >>> call("scale([1, 2], by=0.5)")
        Call(function='scale', args=([1, 2],), kwargs={'by': 0.5})
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{printable(text, 80)!r} is no call: {error}") from None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"{printable(text, 80)!r} is no call of a function by its name")  # noqa: TRY004
    kwargs = {str(each.arg): _value(each.value) for each in node.keywords if each.arg}
    if len(kwargs) < len(node.keywords):
        raise ValueError("arguments are not spread")
    found = Call(node.func.id, tuple(map(_value, node.args)), kwargs)
    encode((found.args, dict(kwargs)))
    return found


def expectation(text: str) -> Any:
    """Read what must come of a call: a literal, or `raise` and an exception's name.

    Raises:
        ValueError: If it is neither.

    Example:
        >>> expectation("raise ValueError"), expectation("[9]")
        (Raises(name='ValueError'), [9])
    """
    word, _, name = text.strip().partition(" ")
    if word != "raise":
        return literal(text)
    if not all(part.isidentifier() for part in name.strip().split(".")):
        raise ValueError("name the exception that must be raised")
    return Raises(name.strip())


def _read(name: str, texts: Sequence[str], reader: Any) -> list[Any]:
    found = []
    for place, text in enumerate(texts):
        try:
            found.append(reader(text))
        except (ValueError, TypeError, ValueTextError) as error:
            raise TaskError(f"the task's {name}.{place} makes no sense: {error}") from None
    return found


# ---- What came of it


def is_same(value: Any, wanted: Any, tolerance: float = 0.0) -> bool:
    """Whether two values are the same, in type too, at every level.

    Without a tolerance -0.0 is not 0.0. With one, floats and parts of complex numbers may be off,
    by as much or by that share; members of sets and keys of dicts may not. nan is nan.

    Example:
        >>> is_same((1, {2}), (1, {2})), is_same([1], [True]), is_same([1], (1,))
        (True, False, False)
        >>> is_same(0.1 + 0.2, 0.3), is_same(0.1 + 0.2, 0.3, 1e-9)
        (False, True)
    """
    if type(value) is not type(wanted):
        return False
    if isinstance(wanted, (float, complex)):
        return _exact(value) == _exact(wanted) or _near(value, wanted, tolerance)
    if isinstance(wanted, (list, tuple)):
        pairs = zip(value, wanted, strict=False)
        return len(value) == len(wanted) and all(is_same(a, b, tolerance) for a, b in pairs)
    if isinstance(wanted, dict):
        mine, theirs = ({_exact(key): each[key] for key in each} for each in (value, wanted))
        return mine.keys() == theirs.keys() and all(
            is_same(mine[key], theirs[key], tolerance) for key in theirs
        )
    return bool(_exact(value) == _exact(wanted))


def _near(value: complex, wanted: complex, tolerance: float) -> bool:
    return tolerance > 0 and is_near(value, wanted, rel_tol=tolerance, abs_tol=tolerance)


def _exact(value: Any) -> Any:
    """What equals that of another value only if the two are the same, in type too."""
    if isinstance(value, float):
        return "float", value.hex()
    if isinstance(value, complex):
        return "complex", value.real.hex(), value.imag.hex()
    if isinstance(value, (set, frozenset)):
        return type(value), frozenset(map(_exact, value))
    if isinstance(value, tuple):
        return tuple, tuple(map(_exact, value))
    return type(value), value


# ---- The verifiers


class CodeFunctions(ProgramVerifier):
    """Accepts a program whose functions give what the task expects, in every call.

    Each call has a fresh process in the sandbox. What it returns is compared outside, with exact
    types, so nothing that the program does in there can make it right. Each test has a named
    score, `test_1`, `test_2` and so on; a reject's own score is the share of tests that passed.

    Example:
        >>> task = {"calls": ["solve(3)", "solve(0)"], "expected": ["9", "0"]}
        >>> squares = Candidate("text", "def solve(n): return n * n", task=task)
        >>> CodeFunctions().judge([squares])[0].outcome.value  # doctest: +SKIP
        'accept'
    """

    name = "code-functions"
    version = "3"
    cost = Cost(seconds=0.05)
    batch_size = 16
    task_fields = ("calls", "expected", "tolerance", "limits")
    hidden = ("expected",)
    control = Candidate(
        "text", "def solve(n):\n    return n + 1", task={"calls": ["solve(1)"], "expected": ["2"]}
    )

    def examine(self, candidate: Candidate) -> Verdict:
        """Call the functions, and compare."""
        task = read_task(_Task, candidate.task)
        if len(task.expected) != len(task.calls):
            raise TaskError(
                f"the task has {len(task.calls)} calls and {len(task.expected)} values in expected"
            )
        calls = _read("calls", task.calls, call)
        wanted = _read("expected", task.expected, expectation)
        limits = allowed(self._limits, task.limits, self._most)
        source = program_in(candidate.content)
        results = list(_called(source, calls, Caller(self.sandbox, limits, self._total)))
        passed = [_is_right(*pair, task.tolerance) for pair in zip(results, wanted, strict=False)]

        def failure(place: int) -> tuple[str, str]:
            said = said_of(results[place], limits)
            return said, f"{printable(task.calls[place], _SHOWN)}: {said}"

        return tested(passed, len(calls), failure)


def _called(source: bytes, calls: Sequence[Call], caller: Caller) -> Iterator[Result]:
    """Call one function after the other, as long as there is time."""
    for function, args, kwargs in calls:
        program = Program({FILE: source}, entry=f"{FILE}:{function}")
        try:
            yield caller.run(program, Input(args, kwargs))
        except TimeUsedUpError:
            return


def _is_right(result: Result, wanted: Any, tolerance: float) -> bool:
    if isinstance(wanted, Raises):
        return result.ended is Ending.RAISED and wanted.is_met_by(result.error)
    return result.ended is Ending.FINISHED and is_same(result.value, wanted, tolerance)


_COMPILER = b"""
def check(source):
    import warnings
    warnings.simplefilter("ignore")
    compile(source, "main.py", "exec", dont_inherit=True)
    return True
"""


class CodeCompiles(SingleVerifier):
    """Passes a program that Python compiles; nothing of it is run.

    It is compiled in the sandbox, for a program may be written to crash or exhaust what compiles
    it.

    Example:
        >>> CodeCompiles().judge([Candidate("text", "def f(:")])[0].outcome.value  # doctest: +SKIP
        'reject'
    """

    name = "code-compiles"
    version = "1"
    tier = Tier.FAST
    kind = "text"
    domain = "software"
    capabilities = ("reasoning",)
    role = "gate"
    cost = Cost(seconds=0.02)
    timeout = 120.0
    observed = "outside"
    sandbox: Sandbox = Sandbox()
    control = Candidate("text", "def solve(n):\n    return n + 1")

    @checked()
    def __init__(self, *, cpu: float = 5.0, memory: int = 256 << 20) -> None:
        """Say what compiling may take.

        Args:
            cpu: Seconds of processor time.
            memory: Bytes.

        Raises:
            ConfigError: If one makes no sense.
        """
        self._limits = Limits(cpu=cpu, wall=12 * cpu, memory=memory)
        self.tools = python_tools()
        super().__init__(cpu=cpu, memory=memory)

    def examine(self, candidate: Candidate) -> Verdict:
        """Compile it."""
        source = program_in(candidate.content)
        program = Program({FILE: _COMPILER}, entry=f"{FILE}:check")
        (result,) = self.sandbox.run(program, [Input((source,))], self._limits)
        if result.ended is not Ending.FINISHED:
            said = said_of(result, self._limits)
            feedback = f"The program does not compile: {said}."
            return Verdict.reject(f"it does not compile: {said}", feedback=feedback)
        return Verdict.accept()
