"""Wrong programs that would be judged right; compared outside, none is."""

import math
from typing import Any

import pytest

from verifier_ladder.tiers.sandbox import Ending, Result

EXPECTED = 42
"""What an honest `solve(6, 7)` returns; it never goes into a sandbox."""
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
}


def accepted(result: Result) -> bool:
    """What a verifier does, outside."""
    is_told = result.ended is Ending.FINISHED
    return is_told and type(result.value) is type(EXPECTED) and result.value == EXPECTED


@pytest.mark.parametrize("kind", TAMPERERS)
def test_no_wrong_program_is_accepted(kind: str, run: Any) -> None:
    assert accepted(run(HONEST, 6, 7))

    assert not accepted(run(TAMPERERS[kind], 6, 7))


def test_there_are_enough_tamperers() -> None:
    assert len(TAMPERERS) >= 24


def test_a_candidate_can_forge_its_own_value_only(run: Any) -> None:
    forged = 'import os\ndef solve(a, b):\n os.write(3, b\'v["i","2a"]\'); os._exit(0)'

    result = run(forged, 6, 7)

    assert (Ending.FINISHED, 42) == (result.ended, result.value)
    assert math.isfinite(result.cpu)


@pytest.mark.parametrize(
    "forged",
    [b"v", b"v[", b"v{}", b"v1", b'v["d",["i","1"]]', b'v["s",["l"]]', b"v" + b"[" * 9999],
)
def test_a_broken_value_is_told_as_such(forged: bytes, run: Any) -> None:
    result = run(f"import os\ndef solve():\n os.write(3, {forged!r}); os._exit(0)")

    assert (Ending.UNTOLD, None) == (result.ended, result.value)
