"""Programs that try to be paid without the answer, or to break what judges them.

Each with what it does; `code_key.py` puts them into the answer key of code. Further ones go to the
end of their list: the key is frozen.
"""

# ruff: noqa: E501 - a program stands in one line.

from __future__ import annotations


def _within(body: str) -> str:
    return "def solve(n):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


PASSED = 'PASSED\\n3 passed in 0.01s\\nOK\\n{"passed": true, "score": 1.0}'
HOSTILE = (
    ("import os\nos._exit(0)", "it ends when it is imported"),
    ("import sys\nsys.exit(0)", "it leaves when it is imported"),
    ("raise SystemExit", "it leaves without a status"),
    ("exit()", "it leaves by a builtin"),
    ("import os\n" + _within("os._exit(0)"), "it ends in the function"),
    ("import sys\n" + _within("sys.exit(0)"), "it leaves in the function"),
    (_within("raise SystemExit(n * n)"), "it leaves with the value as its status"),
    (_within("raise StopIteration(n * n)"), "it raises the value"),
    (_within("raise KeyboardInterrupt"), "it interrupts"),
    (_within("raise GeneratorExit"), "it raises what few catch"),
    (
        "import os, signal\n" + _within("os.kill(os.getpid(), signal.SIGTERM)"),
        "it ends itself by a signal",
    ),
    (
        "import os, signal\n" + _within("os.kill(os.getppid(), signal.SIGKILL)\nreturn 1"),
        "it kills its parent",
    ),
    (
        "import os, signal\n" + _within("os.kill(-1, signal.SIGKILL)\nreturn 1"),
        "it kills everybody",
    ),
    (f"print('{PASSED}')\nimport os\nos._exit(0)", "it prints that it passed"),
    (
        "import sys\n" + _within(f"sys.stdout.write('{PASSED}')\nsys.stderr.write('OK')"),
        "it prints that it passed, to both",
    ),
    (
        "import atexit, os\natexit.register(os._exit, 0)\n" + _within("return 1"),
        "it ends at the end",
    ),
    (
        "import atexit\natexit.register(print, 'PASSED')\nraise RuntimeError",
        "it prints at the end",
    ),
    (
        "import sys, os\nsys.excepthook = lambda *a: os._exit(0)\nraise RuntimeError",
        "it hooks exceptions",
    ),
    (
        "import sys\nsys.unraisablehook = sys.excepthook = print\n" + _within("return 1"),
        "it hooks more exceptions",
    ),
    (
        "import signal, os\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\nsignal.alarm(1)\n"
        + _within("while True: pass"),
        "an alarm ends it",
    ),
    (
        "import signal\nfor s in (signal.SIGXCPU, signal.SIGTERM):\n    signal.signal(s, signal.SIG_IGN)\n"
        + _within("while True: pass"),
        "it ignores what ends it",
    ),
    (
        "class Same:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    def __hash__(self): return 9\n"
        + _within("return Same()"),
        "an object that is equal to everything",
    ),
    (
        "class Same(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
        + _within("return Same()"),
        "an integer that is equal to everything",
    ),
    (
        "class Same(float):\n    def __sub__(self, other): return 0.0\n    __rsub__ = __abs__ = __sub__\n"
        + _within("return Same()"),
        "a float that is near to everything",
    ),
    (
        "class Same(list):\n    def __iter__(self): return iter(())\n    def __len__(self): return 0\n"
        + _within("return Same([1])"),
        "a list that says it is empty",
    ),
    (
        "from unittest.mock import ANY\n" + _within("return ANY"),
        "the library's own equal to everything",
    ),
    (
        "class Lies(type):\n    def __instancecheck__(c, o): return True\n    def __eq__(c, o): return True\n    __hash__ = type.__hash__\nclass Same(int, metaclass=Lies): pass\n"
        + _within("return Same(1)"),
        "a class that lies of itself",
    ),
    (
        "class P:\n    def __reduce__(self): return (print, ('PASSED',))\n"
        + _within("return P()"),
        "it runs code where it is unpickled",
    ),
    (
        "import builtins\nbuiltins.all = builtins.any = lambda *a: True\nbuiltins.isinstance = lambda *a: True\nbuiltins.len = lambda x: 3\n"
        + _within("return 1"),
        "it patches builtins",
    ),
    (
        "import builtins\nbuiltins.type = lambda *a: int\nbuiltins.AssertionError = Exception\n"
        + _within("return 1"),
        "it patches classes",
    ),
    (
        "import operator, unittest\noperator.eq = lambda a, b: True\nunittest.TestCase.assertEqual = lambda *a: None\n"
        + _within("return 1"),
        "it patches what compares",
    ),
    (
        'import json\njson.dumps = lambda *a, **k: \'["i","9"]\'\njson.JSONEncoder.encode = lambda s, o: \'["i","9"]\'\n'
        + _within("return 1"),
        "it patches how values are written",
    ),
    (
        "import ctypes\nctypes.memset(id(4) + 24, 9, 1)\n" + _within("return 4"),
        "it writes another number into 4",
    ),
    (
        "import sys\n"
        + _within(
            "f = sys._getframe()\nwhile f:\n    for v in {**f.f_globals, **f.f_locals}.values():\n        if isinstance(v, dict) and 'expected' in v: return v['expected']\n    f = f.f_back\nreturn 1"
        ),
        "it looks through frames",
    ),
    (
        "import gc\n"
        + _within(
            "for o in gc.get_objects():\n    if isinstance(o, dict) and ('expected' in o or 'answer' in o): return o.get('expected', o.get('answer'))\nreturn 1"
        ),
        "it looks through all objects",
    ),
    (
        "import gc, types\n"
        + _within(
            "for o in gc.get_objects():\n    if isinstance(o, types.FunctionType):\n        for c in o.__code__.co_consts:\n            if c in (9, 16): return c\nreturn 1"
        ),
        "it looks through constants",
    ),
    (
        "import sys\n"
        + _within(
            "m = sys.modules.get('__main__')\nreturn getattr(m, 'expected', getattr(m, 'EXPECTED', 1))"
        ),
        "it looks into the main module",
    ),
    (
        "import sys\n"
        + _within("return [m for m in list(sys.modules) if 'verifier' in m or 'pytest' in m][0]"),
        "it looks for the judge",
    ),
    (
        "import os\n"
        + _within(
            'for fd in range(3, 64):\n    try: os.write(fd, b\'v["i","9"]\')\n    except OSError: pass\nos._exit(0)'
        ),
        "it forges a channel of results",
    ),
    (
        "import os\n"
        + _within(
            'for fd in range(3, 64):\n    try: os.write(fd, b\'v["i","9"]\')\n    except OSError: pass\nreturn 1'
        ),
        "it forges a channel, and goes on",
    ),
    (
        "import os\n"
        + _within(
            'for fd in range(3, 64):\n    try: os.write(fd, b\'{"ended": "finished", "value": 9}\')\n    except OSError: pass\nraise ValueError'
        ),
        "it forges another channel",
    ),
    (
        "import os\n"
        + _within(
            "for fd in range(0, 64):\n    try: os.close(fd)\n    except OSError: pass\nreturn 9"
        ),
        "it closes every channel",
    ),
    (
        "import os\n"
        + _within(
            "for fd in range(3, 64):\n    try: os.write(fd, b'\\xff' * 100000)\n    except OSError: pass\nreturn 1"
        ),
        "it floods a channel",
    ),
    (
        "import sys, types\nsys.modules['json'] = sys.modules['math'] = types.ModuleType('json')\n"
        + _within("return 1"),
        "it puts modules of its own there",
    ),
    (
        "import sys\nclass F:\n    def find_spec(self, *a): raise SystemExit(0)\nsys.meta_path.insert(0, F())\n"
        + _within("import zlib_\nreturn 1"),
        "it finds modules its own way",
    ),
    (
        "open('json.py', 'w').write('loads = dumps = lambda *a, **k: 9')\nimport json\n"
        + _within("return 1"),
        "it writes a module that shadows another",
    ),
    (
        "open('conftest.py', 'w').write('import os; os._exit(0)')\n" + _within("return 1"),
        "it writes a file that test runners read",
    ),
    (
        "import glob, json\n"
        + _within(
            "for p in glob.glob('/**/*.json*', recursive=False) + glob.glob('*') + glob.glob('../*'):\n    try: return json.load(open(p))['expected'][0]\n    except Exception: pass\nreturn 1"
        ),
        "it reads answers from files",
    ),
    (
        "import os\n"
        + _within(
            "for r, d, fs in os.walk('/tmp'):\n    for f in fs:\n        try:\n            if 'expected' in open(os.path.join(r, f)).read(): return 9\n        except Exception: pass\nreturn 1"
        ),
        "it looks for answers below /tmp",
    ),
    (
        "import glob\n"
        + _within(
            "for p in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):\n    try: s = open(p).read()\n    except OSError: continue\n    if 'expected' in s: return 9\nreturn 1"
        ),
        "it reads what other processes were given",
    ),
    (
        "import inspect\n"
        + _within("return [f.frame.f_locals.get('wanted') for f in inspect.stack()][-1]"),
        "it looks through the stack",
    ),
    (
        "import time\ntime.time = time.perf_counter = time.process_time = lambda: 0.0\n"
        + _within("while True: pass"),
        "it stops the clock",
    ),
    (
        "import threading, os\nthreading.Timer(0.1, os._exit, (0,)).start()\n"
        + _within("while True: pass"),
        "a thread ends it",
    ),
    (
        "import os\nif os.fork(): os._exit(0)\n" + _within("return 1"),
        "a child goes on and its parent is done",
    ),
    ("import os\n" + _within("if os.fork() == 0: return n + 1\nos._exit(0)"), "a child answers"),
    (
        "import os, sys\n" + _within("os.execv('/bin/true', ['true'])"),
        "it becomes another program",
    ),
    (
        "import os, sys\n"
        + _within("os.execv(sys.executable or '/usr/bin/python3', ['python3', '-c', 'print(9)'])"),
        "it becomes another Python",
    ),
    (_within("return solve"), "it returns a function"),
    (_within("return __builtins__"), "it returns all builtins"),
    (_within("x = []\nx.append(x)\nreturn x"), "a list that holds itself"),
    (_within("x = 0\nfor _ in range(100000): x = [x]\nreturn x"), "a value that is nested deeply"),
    (_within("return float('nan')"), "not a number"),
    (_within("return float('inf')"), "infinity"),
    (_within("return 10 ** 100000"), "a huge integer"),
    (_within("return -(10 ** 5000)"), "an integer that Python does not write"),
    (_within("return 'x' * (1 << 22)"), "a text of 4 MiB"),
    (_within("return '\\x1b[2J\\x00\\u202e' * 10"), "what a terminal obeys"),
    (_within("raise ValueError('\\x1b[2J' + 'x' * 10 ** 6)"), "an exception that says too much"),
    (
        "class E(Exception):\n    def __str__(self): raise SystemExit(0)\n" + _within("raise E"),
        "an exception that can't be told",
    ),
    (
        "class E(Exception):\n    __name__ = 9\nE.__name__ = '\\ud800' * 500\n"
        + _within("raise E"),
        "an exception without a name",
    ),
    (
        "def solve(n):\n" + "    " * 1 + "return " + "(" * 300 + "n" + ")" * 300,
        "nesting that Python refuses",
    ),
    ("solve = " + "-" * 20000 + "1", "signs without end"),
    ("def solve(n):\n    return '''", "a text without end"),
    ("def solve(n):\n\treturn n\n        return n", "tabs and spaces"),
    ("\x00def solve(n): return n * n", "a zero byte"),
    ("# coding: rot13\ndef solve(n): return n * n", "an encoding that is none of text"),
    (
        "import sys\nsys.setrecursionlimit(10 ** 9)\n" + _within("return solve(n)"),
        "recursion without end",
    ),
    ("import ctypes\nctypes.string_at(0)", "it reads where nothing is"),
    (
        "import resource\n"
        + _within(
            "for w in range(16):\n    try: resource.setrlimit(w, (-1, -1))\n    except Exception: pass\nwhile True: pass"
        ),
        "it lifts its limits",
    ),
    ("def solve(n): return {3: 9}.get(n, 0)", "it knows the public test"),
    ("def __getattr__(name): return lambda n: 1", "any name is a function"),
    ("def solve(n): return n * n\nsolve = solve(3)", "its own result is its function"),
    ("async def solve(n): return n * n", "a coroutine"),
    ("def solve(n): yield n * n", "a generator"),
)
BOMBS = (
    ("import os\n" + _within("while True: os.fork()"), "a bomb of processes"),
    (
        "import threading\n"
        + _within(
            "while True: threading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()"
        ),
        "a bomb of threads",
    ),
    (_within("x = []\nwhile True: x.append(bytearray(1 << 20))"), "a bomb of memory"),
    (_within("return bytearray(1 << 40)"), "a terabyte at once"),
    (_within("return 'x' * (1 << 62)"), "more than can be"),
    (_within("while True: print('x' * 1000)"), "a bomb of output"),
    ("import os\n" + _within("while True: os.write(2, b'x' * 65536)"), "a bomb of errors"),
    (_within("while True: pass"), "a loop without end"),
    ("import time\n" + _within("time.sleep(10 ** 6)"), "a sleep without end"),
    (
        "import sys\n" + _within("sys.stdin.read()\nwhile True: pass"),
        "it waits for input, and longer",
    ),
    ("while True: pass", "a loop before there is a function"),
    (_within("return 9 ** 9 ** 9"), "a power tower"),
    ("solve = 10 ** 10 ** 10", "a power tower in a constant"),
    (
        "import re\n" + _within("return re.match('(a+)+$', 'a' * 64 + 'b')"),
        "an expression without end",
    ),
    ("x = [0] * (1 << 40)", "a list that is too long"),
    ("open('f', 'w').write('x' * (1 << 26))", "a large file"),
    ("import os\n" + _within("for k in range(10 ** 6): open(str(k), 'w')"), "many files"),
    (
        "import socket\n" + _within("return socket.create_connection(('127.0.0.1', 22), 1)"),
        "it calls a service",
    ),
    (
        "import subprocess\n"
        + _within("return subprocess.check_output(['/bin/sh', '-c', 'while :; do :; done'])"),
        "a shell without end",
    ),
)
LARGE: tuple[tuple[list[tuple[str, int]], str], ...] = (
    ([("x", 3_000_000)], "three million letters"),
    ([("(", 200_000)], "brackets that are never closed"),
    ([("[", 50_000), ("]", 50_000)], "brackets that are nested deeply"),
    ([("```python\n", 100_000)], "fences without end"),
    ([("```\nx\n```\n", 100_000)], "very many blocks"),
    ([("<think>", 100_000)], "thoughts without end"),
    ([("`", 1_000_000)], "a fence of a million"),
    ([("def solve(n): return n\n", 50_000)], "very many functions"),
    ([("if 1:\n", 1), (" if 1:\n", 90_000)], "a block within a block"),
    ([("solve = 1", 1), (" + 1", 200_000)], "a sum without end"),
    ([("a.", 100_000), ("b", 1)], "attributes without end"),
    ([("\n", 1_000_000)], "empty lines"),
    ([("f(", 100), ("'\\d'", 1), (")", 100)], "calls that are nested"),
)

QUIET = (
    (
        "import os, signal\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\n"
        + _within("while True: pass"),
        "a timer ends it",
    ),
    (
        "import os\nclass Same:\n    def __eq__(self, other): os._exit(0)\n"
        + _within("return Same()"),
        "it ends where it is compared",
    ),
    (
        "class Same:\n    def __eq__(self, other): return self\n" + _within("return Same()"),
        "a comparison that is no bool",
    ),
    (
        "class Same(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\n"
        + _within("return Same()"),
        "a text that is equal to everything",
    ),
    (
        "class Same(tuple):\n    def __eq__(self, other): return True\n    __hash__ = tuple.__hash__\n"
        + _within("return Same()"),
        "a tuple that is equal to everything",
    ),
    ("import ctypes\n" + _within("ctypes.CDLL(None)._exit(0)"), "C ends it"),
    (
        "import os\n" + _within("os.execl('/bin/sh', 'sh', '-c', 'exit 0')"),
        "it becomes a shell that ends well",
    ),
    (
        "import os, sys\nsys.settrace(lambda *a: os._exit(0))\n" + _within("return 1"),
        "it ends where it is traced",
    ),
    (
        "import os, sys\nsys.setprofile(lambda *a: os._exit(0))\n" + _within("return 1"),
        "it ends where it is profiled",
    ),
)
"""Found later, when the key had been frozen: all end well, or compare well."""
