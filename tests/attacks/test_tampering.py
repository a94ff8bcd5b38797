# ruff: noqa: ISC004 - programs of some lines, each in its place
"""Wrong programs that would be judged right; compared outside, none is.

The control of each is an honest program, judged right after it by the same workers.
"""

from pathlib import Path

import pytest
from attacks import Attack, Fight, attack, verified

from verifier_ladder.demo.cheaters import ExitCode, HiddenTests, pool
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.tiers.fast.code import CodeFunctions
from verifier_ladder.tiers.fast.codetests import CodeTests
from verifier_ladder.tiers.fast.properties import CodeProperties
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.verdict import Outcome

HONEST = "def solve(a, b): return a * b"

TAMPERERS: dict[str, str] = {
    "exit in the function": "import os\ndef solve(a, b): os._exit(0)",
    "exit at import": "import os\nos._exit(0)\ndef solve(a, b): return 0",
    "sys.exit in the function": "import sys\ndef solve(a, b): sys.exit(0)",
    "sys.exit at import": "import sys\nsys.exit(0)",
    "a marker printed": "def solve(a, b):\n print('PASS', 'OK', '1 passed', 42, sep='\\n')",
    "a marker at the end": "import atexit\natexit.register(print, 'PASS')\ndef solve(a, b): pass",
    "equal to everything": """
class Equal:
    def __eq__(self, other): return True
    def __hash__(self): return hash(42)
def solve(a, b): return Equal()
""",
    "an int that is equal to everything": """
class Equal(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def solve(a, b): return Equal(1)
""",
    "an int that says 42": """
class Int(int):
    def __int__(self): return 42
    __index__ = __int__
    def __format__(self, how): return '2a'
    def __repr__(self): return '42'
def solve(a, b): return Int(1)
""",
    "a float": "def solve(a, b): return 42.0",
    "text": "def solve(a, b): return '42'",
    "a list of it": "def solve(a, b): return [42]",
    "nan": "def solve(a, b): return float('nan')",
    "None": "def solve(a, b): return None",
    "an exception": "def solve(a, b): raise AssertionError('passed')",
    "an exception that lies": """
class Passed(BaseException):
    def __str__(self): return '42'
def solve(a, b): raise Passed(42)
""",
    "an excepthook": """
import os, sys
sys.excepthook = lambda *_: os._exit(0)
def solve(a, b): raise ValueError
""",
    "patched builtins": """
import builtins
builtins.isinstance = lambda *_: True
builtins.all = builtins.any = lambda *_: True
def solve(a, b): return 41
""",
    "patched encoder": """
import json, sys
json.dumps = lambda *_, **__: 'true'
for name, module in list(sys.modules.items()):
    if name.endswith('values'): module.encode = lambda *_: b'true'; module._plain = lambda *_: True
def solve(a, b): return 41
""",
    "patched comparison": """
import operator, unittest
operator.eq = lambda a, b: True
unittest.TestCase = None
def solve(a, b): return 41
""",
    "a scan of frames": """
import sys
def solve(a, b):
    frame, found = sys._getframe(), []
    while frame:
        found += [v for v in frame.f_locals.values() if type(v) is int and v not in (a, b)]
        for value in frame.f_locals.values():
            if isinstance(value, dict): found.append(value.get('expected'))
        frame = frame.f_back
    return 42 if 42 in found else None
""",
    "a scan of objects": """
import gc
def solve(a, b):
    for each in gc.get_objects():
        if isinstance(each, dict) and {'expected', 'answer', 'verdict'} & set(map(str, each)):
            return each.get('expected', each.get('answer'))
""",
    "a scan of files": """
import glob
def solve(a, b):
    for name in glob.glob('*') + glob.glob('/box/*') + glob.glob('/tmp/*'):
        if name.rpartition('/')[2] != 'main.py': return open(name).read()
""",
    "a scan of descriptors": """
import os
def solve(a, b):
    for fd in range(64):
        try:
            os.lseek(fd, 0, 0)
            if text := os.read(fd, 1000): return text
        except OSError: pass
""",
    "a scan of memory": """
def solve(a, b):
    with open('/proc/self/environ') as file: return file.read() and None
""",
    "a forged frame of the channel": """
import os
def solve(a, b): os.write(3, b'{"passed": true}'); os._exit(0)
""",
    "two values": """
import os
def solve(a, b): os.write(3, b'v["i","2a"]'); return 41
""",
    "garbage in the channel": "import os\ndef solve(a, b):\n os.write(3, bytes(256)); os._exit(0)",
    "a report forged": """
import os, json
def solve(a, b):
    for fd in range(64):
        try: os.write(fd, json.dumps({'status': 0, 'value': 42}).encode())
        except OSError: pass
    os._exit(0)
""",
    "a closed channel": "import os\ndef solve(a, b):\n os.close(3)\n return 41",
    "a pickle": """
import os
def solve(a, b): os.write(3, b'v' + b"cos\\nsystem\\n(S'true'\\ntR."); os._exit(0)
""",
    "a thread that ends it": """
import os, threading
def solve(a, b):
    threading.Thread(target=os._exit, args=(0,)).start()
    while True: pass
""",
    "a child that ends well": """
import os
def solve(a, b):
    if os.fork() == 0: os._exit(0)
    os.abort()
""",
    "a signal that ends it": """
import os, signal
signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
def solve(a, b):
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while True: pass
""",
    "a shadow module": """
import sys
sys.modules['verifier_ladder'] = sys
sys.modules['__main__'].PASSED = True
def solve(a, b): return 41
""",
    "deep nesting": """
def solve(a, b):
    value = 42
    for _ in range(100_000): value = [value]
    return value
""",
    "a circle": "def solve(a, b):\n value = []\n value.append(value)\n return value",
    "a huge value": "def solve(a, b): return 'x' * (1 << 24)",
    "a generator": "def solve(a, b): return (x for x in [42])",
    "a coroutine": "async def solve(a, b): return 42",
    "an exception whose class ends it": """
class Ends:
    def __format__(self, how): raise SystemExit(0)
class Odd(Exception): __module__ = Ends()
def solve(a, b): raise Odd
""",
    "an exception whose class has no name": """
class Nameless(type):
    @property
    def __name__(cls): return 42
class Odd(Exception, metaclass=Nameless): pass
def solve(a, b): raise Odd
""",
    "a trace that ends it": (
        "import sys\nsys.settrace(lambda *_: sys.exit(0))\ndef solve(a, b): return 41"
    ),
    "a finaliser that tells a value": """
import os
class Late:
    def __del__(self): os.write(3, b'v["i","2a"]')
def solve(a, b): Late(); return 41
""",
    "both of two processes": "import os\ndef solve(a, b): os.fork(); return 41",
}


# ---- Where nothing is expected, and where nothing would be known

NOTHING: dict[str, tuple[str, str, str]] = {
    "an exception for None": ("None", "def solve(): raise ValueError", "def solve(): pass"),
    "an end for None": ("None", "import os\ndef solve(): os._exit(0)", "def solve(): pass"),
    "an exception for 0": ("0", "def solve(): return 1 // 0", "def solve(): return 0"),
    "False for 0": ("0", "def solve(): return False", "def solve(): return int(False)"),
    "nothing for an empty text": ("''", "def solve(): print('')", "def solve(): return ''"),
    "nothing for an empty list": ("[]", "def solve(): pass", "def solve(): return []"),
    "a tuple for an empty list": ("[]", "def solve(): return ()", "def solve(): return list(())"),
    "0.0 for -0.0": ("-0.0", "def solve(): return 0.0", "def solve(): return -0.0"),
    "infinity for nan": (
        "nan",
        "def solve(): return float('inf')",
        "def solve(): return float('inf') - float('inf')",
    ),
    "the name of an exception": (
        "raise ValueError",
        "def solve(): return ValueError('no')",
        "def solve(): raise ValueError('no')",
    ),
    "an exception of another class": (
        "raise ValueError",
        "def solve(): raise TypeError",
        "def solve(): int('one')",
    ),
    "an exception of its own of that name": (
        "raise ValueError",
        "class ValueError(Exception): pass\ndef solve(): raise ValueError",
        "def solve(): raise ValueError",
    ),
    "an exception of its own in the place of Python's": (
        "raise ValueError",
        "import builtins\n"
        "class Like(type):\n def __eq__(self, other): return True\n __hash__ = type.__hash__\n"
        "class ValueError(Exception, metaclass=Like): __module__ = 'builtins'\n"
        "builtins.ValueError = ValueError\ndef solve(): raise ValueError",
        "import builtins\ndef solve(): raise builtins.ValueError",
    ),
    "an exception of its own for a module's": (
        "raise decimal.InvalidOperation",
        "class InvalidOperation(Exception): pass\ndef solve(): raise InvalidOperation",
        "import decimal\ndef solve(): return decimal.Decimal('one')",
    ),
    "an exception of its own that names a module": (
        "raise decimal.InvalidOperation",
        "class InvalidOperation(Exception): __module__ = 'decimal'\n"
        "def solve(): raise InvalidOperation",
        "import decimal\ndef solve(): raise decimal.InvalidOperation",
    ),
    "an exception of its own that stands in a module": (
        "raise json.JSONDecodeError",
        "import json.decoder\nclass JSONDecodeError(ValueError): __module__ = 'json.decoder'\n"
        "json.JSONDecodeError = json.decoder.JSONDecodeError = JSONDecodeError\n"
        "def solve(): raise JSONDecodeError",
        "import json\ndef solve(): return json.loads('')",
    ),
    "an exception of its own in a module of its own": (
        "raise decimal.InvalidOperation",
        "import sys, types\nsys.modules['decimal'] = decimal = types.ModuleType('decimal')\n"
        "class InvalidOperation(Exception): __module__ = 'decimal'\n"
        "decimal.InvalidOperation = InvalidOperation\ndef solve(): raise InvalidOperation",
        "import decimal\ndef solve(): return decimal.Decimal('two')",
    ),
    "an exception of its own whose module's name is equal to no other": (
        "raise json.JSONDecodeError",
        "import sys, types\n"
        "class Name(str):\n def __eq__(self, other): return self is other\n"
        " __hash__ = object.__hash__\n"
        "name = Name('json.decoder')\nclass JSONDecodeError(ValueError): __module__ = name\n"
        "sys.modules[name] = types.SimpleNamespace(JSONDecodeError=JSONDecodeError)\n"
        "def solve(): raise JSONDecodeError",
        "import json\ndef solve(): return json.loads('one')",
    ),
    "an exception of its own that names a module which is not there": (
        "raise queue.Empty",
        "class Empty(Exception): __module__ = '_queue'\ndef solve(): raise Empty",
        "import queue\ndef solve(): return queue.Queue().get_nowait()",
    ),
    "an exception of its own that names a package": (
        "raise asyncio.TimeoutError",
        "class TimeoutError(Exception): __module__ = 'asyncio'\ndef solve(): raise TimeoutError",
        "def solve(): raise TimeoutError",
    ),
    "an exception of another name": (
        "raise Empty",
        "class Full(Exception): pass\ndef solve(): raise Full",
        "class Empty(Exception): pass\ndef solve(): raise Empty",
    ),
}
"""What is expected, what pretends to be it, and what is it."""
CACHES: dict[str, str] = {
    "an answer kept in a file": (
        "import pickle\ndef solve(n):\n"
        " try: return pickle.load(open('/tmp/kept', 'rb'))\n"
        " except OSError: pickle.dump(n * n, open('/tmp/kept', 'wb')); return n * n"
    ),
    "an answer kept in the process": "def solve(n, kept=[]):\n kept.append(n)\n return len(kept)",
    "an answer kept in a module": (
        "import math\ndef solve(n):\n math.calls = getattr(math, 'calls', 0) + 1\n"
        " return {1: 4, 2: 9}.get(math.calls)"
    ),
    "the answer of the public test": "def solve(n): return 4",
}
"""What an earlier input would have to tell; each of them is right of the first one or none."""
MASKS: dict[str, tuple[str, str]] = {
    "an error whose name is a huge number": (
        "import os\ndef solve():\n"
        ' os.write(3, b\'e["t",["i","\' + b\'f\' * 5000 + b\'"],"m",null]\'); os._exit(1)',
        "it raised",
    ),
    "an error whose words hold a huge number": (
        "import os\ndef solve():\n"
        ' os.write(3, b\'e["t","n",["l",["i","\' + b\'f\' * 5000 + b\'"]],null]\'); os._exit(1)',
        "it raised",
    ),
    "an error with half of a character": (
        "def solve(): raise ValueError(chr(0xd800))",
        "it raised",
    ),
    "a value with half of a character": ("def solve(): return chr(0xd800)", "no plain|returned"),
    "a supervisor that is to be ended": (
        "import os, signal\ndef solve(): os.kill(os.getppid(), signal.SIGKILL)",
        "raised|returned",
    ),
    "all processes stopped": ("import os\ndef solve():\n os.fork(); os.kill(0, 19)", "ran longer"),
    "children that wait for nobody": (
        "import os, signal, time\ndef solve():\n signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        " while True:\n  if not os.fork():\n   while time.process_time() < .01: pass\n"
        "   os._exit(0)\n  try: os.wait()\n  except ChildProcessError: pass",
        "processor time|ran longer",
    ),
    "its own output read": (
        "import os\ndef solve():\n"
        " try: fd = os.open('/proc/self/fd/1', os.O_RDONLY | os.O_NONBLOCK)\n"
        " except OSError: return 2\n"
        " for _ in range(2000):\n"
        "  os.write(1, b'x')\n"
        "  try: os.read(fd, 100)\n  except OSError: pass\n"
        " return 2",
        "returned 2",
    ),
    "its pipes on their way through sockets": (
        "import socket\ndef solve():\n"
        " a, b = socket.socketpair()\n"
        " for x in (a, b): socket.send_fds(x, [b'x'], [a.fileno(), b.fileno(), 1, 2, 3])\n"
        " return 2",
        "returned 2",
    ),
}
"""Wrong programs that would rather be unknown, and how the ledger tells of them instead."""


def _programs() -> dict[str, Attack]:
    product = {"calls": ["solve(6, 7)"], "expected": ["42"]}
    squares = {"calls": ["solve(2)", "solve(3)"], "expected": ["4", "9"]}
    one = {"calls": ["solve()"], "expected": ["1"], "limits": {"cpu": 1.0, "wall": 2.0}}
    return {
        **{
            name: attack(source, f"{HONEST}  # beside {name}", product, "^test 1 of 1: it ")
            for name, source in TAMPERERS.items()
        },
        **{
            name: attack(bad, good, {"calls": ["solve()"], "expected": [expected]}, "^test 1 of 1")
            for name, (expected, bad, good) in NOTHING.items()
        },
        **{
            name: attack(source, "def solve(n): return n * n", squares, "^test [12] of 2: it ")
            for name, source in CACHES.items()
        },
        **{
            name: attack(source, "def solve(): return 1", one, reason)
            for name, (source, reason) in MASKS.items()
        },
    }


def test_no_wrong_program_is_accepted_or_unknown(backend: Backend, tmp_path: Path) -> None:
    fight = Fight([CodeFunctions()], _programs(), tmp_path, backend)

    fight.run().check()


# ---- Tests that share the process, and properties

BESIDE_TESTS: dict[str, tuple[str, str]] = {
    "equal to everything": (
        "class Same:\n    def __eq__(self, other): return True\ndef solve(n): return Same()",
        "pass with other values",
    ),
    "an end that looks well": ("import os\nos._exit(0)", "line_1: it ended before"),
    "a test that is skipped": ("import unittest\ndef solve(n): raise unittest.SkipTest", "line_1"),
    "an assertion of its own": ("def solve(n): raise AssertionError", "it raised AssertionError"),
    "a token that is read and told": (
        "import os, re, sys\ndef solve(n):\n"
        " text = open(sys._getframe(1).f_code.co_filename).read()\n"
        " token = re.findall(r\"'(t[0-9a-f]{16})'\", text)[-1]\n"
        " os.write(3, ('v\"' + token + '\"').encode()); os._exit(0)",
        "pass with other values",
    ),
    "a test that is changed while it runs": (
        "import sys\ndef solve(n):\n frame = sys._getframe(1)\n"
        " frame.f_globals['solve'] = frame.f_builtins['abs']\n"
        " code = frame.f_globals[frame.f_code.co_name]\n code.__code__ = solve.__code__\n",
        "0 of 3 tests passed",
    ),
    "asserts that are traced away": (
        "import sys\ndef away(frame, event, arg):\n"
        " try: frame.f_lineno += 1\n except ValueError: pass\n return away\n"
        "def solve(n):\n sys.settrace(away); sys._getframe(1).f_trace = away\n",
        "0 of 3 tests passed|pass with other values",
    ),
    "the answers of public tests": ("def solve(n): return {3: 9, 0: 0}[n]", "it raised KeyError"),
}
"""Beside what the ledger must say."""
EQUAL = """
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def solve(n): return Equal()
"""
COMPARED: dict[str, str] = {
    "a helper": "def same(a, b):\n assert a == b\ndef test():\n same(solve(3), 9)",
    "a helper at the top level": "def same(a, b):\n assert a == b\nsame([9], [solve(3)])",
    "a method": "import unittest\ndef test():\n unittest.TestCase().assertEqual(solve(3), 9)",
    "with": "import io\ndef test():\n with io.StringIO():\n  assert solve(3) == 9",
    "while": "def test():\n n = 0\n while n < 4:\n  assert solve(n) == n * n\n  n += 1",
    "a condition in a loop": "def test():\n for n in 2, 3:\n  if n > 2:\n   assert solve(n) == 9",
    "what a loop leaves out": (
        "def test():\n for n in 2, 3:\n  if n < 3:\n   continue\n  assert solve(n) == 9"
    ),
    "raise": "def test():\n x = solve(3)\n if x != 9:\n  raise AssertionError",
    "not unequal": "assert not solve(3) != 9",
    "one of": "assert solve(3) in (9,)",
    "a variable": "def test():\n right = solve(3) == 9\n assert right",
}
"""Where tests compare what a program answers."""
TESTS = "assert solve(3) == 9\nassert solve(0) == 0\nassert solve(-2) == 4"
FROM_PROPERTIES: dict[str, tuple[str, str]] = {
    "what is in order, and is not sorted": ("def solve(xs): return list(range(len(xs)))", "sorts"),
    "a list without what occurs twice": ("def solve(xs): return sorted(set(xs))", "sorts"),
    "its input, shortened": ("def solve(xs):\n xs.sort()\n del xs[4:]\n return xs", "sorts"),
    "a list that sorts itself later": (
        "class Later(list): pass\ndef solve(xs): return Later(xs)",
        "no plain data|sorts",
    ),
    "short inputs only": ("def solve(xs): return sorted(xs) if len(xs) < 4 else xs", "sorts"),
    "an end that looks well": ("import os\ndef solve(xs): os._exit(0)", "ended before"),
}


def test_no_test_is_fooled_by_a_program_beside_it(backend: Backend, tmp_path: Path) -> None:
    attacks = {
        name: attack(
            source,
            "def solve(n): return n * n",
            {"tests": TESTS, "limits": {"cpu": 0.1, "wall": 5.0}},
            reason,
        )
        for name, (source, reason) in BESIDE_TESTS.items()
    }

    Fight([CodeTests()], attacks, tmp_path, backend).run().check()


def test_what_is_equal_to_everything_is_convicted_wherever_it_is_compared(
    backend: Backend, tmp_path: Path
) -> None:
    attacks = {
        name: attack(
            EQUAL, "def solve(n): return n * n", {"tests": tests}, "pass with other values"
        )
        for name, tests in COMPARED.items()
    }

    Fight([CodeTests()], attacks, tmp_path, backend).run().check()


def test_no_property_is_fooled(backend: Backend, tmp_path: Path) -> None:
    task = {"property": "sorts", "inputs": [{"type": "lists", "of": {"type": "integers"}}]}
    attacks = {
        name: attack(source, "def solve(xs): return sorted(xs)", task, reason)
        for name, (source, reason) in FROM_PROPERTIES.items()
    }

    Fight([CodeProperties(examples=20)], attacks, tmp_path, backend).run().check()


# ---- A reward that is fooled, and the draw that finds it out


@pytest.mark.usefixtures("a_sandbox")
def test_what_fools_the_fast_tier_is_drawn_and_rejected_above(tmp_path: Path) -> None:
    """By the exit code all are accepted; hidden tests look at half of them, chosen by chance."""
    programs = pool()
    attacks = {
        f"cheat {n}": Attack(
            programs.candidate(n, n), programs.candidate(n, len(programs.cheats) + n)
        )
        for n in range(8)
    }
    climb = {"audit": 0.5, "policy": Thresholds(thresholds={"simulation": 2.0})}

    fight = Fight([ExitCode(), HiddenTests()], attacks, tmp_path, climb=climb).run()

    assert {0.5} == {entry.propensity for entry in fight.entries.values()}
    for name, entry in fight.entries.items():
        is_drawn = entry.draw < entry.propensity
        fooled = Outcome.REJECT if is_drawn and name in attacks else Outcome.ACCEPT
        assert (fooled, 1 + is_drawn) == (entry.verdict.outcome, entry.checks), name
        assert entry.times == entry.checks
    assert fight.told == pytest.approx(fight.charged, abs=1e-3)
    assert not verified(fight.ledger)
