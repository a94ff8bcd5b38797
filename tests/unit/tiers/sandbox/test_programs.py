"""Honest programs give their exact values; excesses are told by name."""

import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from processes import named

from verifier_ladder.errors import CandidateError, ConfigError, SandboxError
from verifier_ladder.tiers.sandbox import (
    Ending,
    Input,
    Limits,
    Program,
    Sandbox,
    Warmth,
    compiled,
    zygoteprocess,
)
from verifier_ladder.tiers.sandbox.zygoteprocess import Zygote

HONEST: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "sum": ("def solve(a, b): return a + b", (2, 3), 5),
    "text": ("def solve(s): return s.upper()", ("grüße\0\ud800",), "GRÜSSE\0\ud800"),
    "bytes": ("def solve(b): return b[::-1]", (b"\x00\xff",), b"\xff\x00"),
    "large int": ("def solve(n): return n ** n", (999,), 999**999),
    "negative": ("def solve(n): return -n", (10**30,), -(10**30)),
    "float": ("def solve(x): return x / 3", (1.0,), 1.0 / 3),
    "minus zero": ("def solve(): return -0.0", (), -0.0),
    "infinity": ("def solve(): return float('inf')", (), math.inf),
    "complex": ("def solve(): return 1j ** 2", (), 1j**2),
    "bool": ("def solve(a): return not a", (1,), False),
    "None": ("def solve(a): a.sort()", ([3, 1],), None),
    "list": ("def solve(a): return sorted(a)", ([3, 1, 2],), [1, 2, 3]),
    "tuple": ("def solve(a): return a, (a,)", (1,), (1, (1,))),
    "set": ("def solve(a): return set(a)", ([1, 1, 2],), {1, 2}),
    "frozenset": ("def solve(a): return frozenset(a)", ("ab",), frozenset("ab")),
    "dictionary": (
        "def solve(a): return {k: [v] for k, v in a.items()}",
        ({1: "a", (2, 3): None},),
        {1: ["a"], (2, 3): [None]},
    ),
    "recursion": (
        "import functools\n@functools.cache\n"  # noqa: ISC004
        "def solve(n): return n if n < 2 else solve(n - 1) + solve(n - 2)",
        (90,),
        2880067194370816120,
    ),
    "library": (
        "import json, re, collections, csv, hashlib\n"  # noqa: ISC004
        "def solve(s): return hashlib.sha256(s).hexdigest()[:8]",
        (b"abc",),
        "ba7816bf",
    ),
    "class": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n"  # noqa: ISC004
        "def solve(x): return P(x).x",
        (4,),
        4,
    ),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"  # noqa: ISC004
        "def solve(n):\n with ThreadPoolExecutor(3) as p: return list(p.map(abs, range(-n, 0)))",
        (3,),
        [3, 2, 1],
    ),
    "processes": (
        "import subprocess, sys\n"  # noqa: ISC004
        "def solve(): return subprocess.run(['/bin/echo', 'hi'], capture_output=True).stdout",
        (),
        b"hi\n",
    ),
    "asynchronous": (
        "import asyncio\nasync def f(): return 7\ndef solve(): return asyncio.run(f())",
        (),
        7,
    ),
}


@pytest.mark.parametrize("kind", HONEST)
def test_an_honest_program_gives_its_exact_value(kind: str, run: Any) -> None:
    source, args, expected = HONEST[kind]

    result = run(source, *args)

    assert Ending.FINISHED is result.ended, result
    assert (type(expected), repr(expected)) == (type(result.value), repr(result.value))


EXCESSES: dict[str, tuple[str, dict[str, Any], Ending]] = {
    "cpu": ("def solve():\n while True: pass", {"cpu": 0.5}, Ending.CPU),
    "cpu of children": (
        "import os\ndef solve():\n"  # noqa: ISC004
        " for _ in 'abc':\n  if not os.fork():\n   for _ in range(10**7): pass\n   os._exit(0)\n"
        " for _ in range(3): os.wait()",
        {"cpu": 0.2},
        Ending.CPU,
    ),
    "cpu, deaf": (
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"  # noqa: ISC004
        "def solve():\n while True: pass",
        {"cpu": 0.5},
        Ending.CPU,
    ),
    "wall": ("import time\ndef solve(): time.sleep(1000)", {"wall": 0.2}, Ending.WALL),
    "memory": ("def solve(): return len(bytearray(1 << 30))", {"memory": 64 << 20}, Ending.MEMORY),
    "memory by pieces": (
        "def solve():\n a = []\n while True: a.append(bytearray(1 << 20))",
        {"memory": 64 << 20},
        Ending.MEMORY,
    ),
    "memory of children": (
        "import os, signal\ndef solve():\n"  # noqa: ISC004
        " for _ in range(4):\n  if not os.fork():\n   a = b'x' * (60 << 20)\n   signal.pause()\n"
        " signal.pause()",
        {"memory": 128 << 20},
        Ending.MEMORY,
    ),
    "cpu of many": (
        "import os\ndef solve():\n os.fork(); os.fork()\n while True: pass",
        {"cpu": 1.0, "processes": 4},
        Ending.CPU,
    ),
    "output": ("def solve():\n while True: print('x' * 9999)", {"output": 4096}, Ending.OUTPUT),
    "errors": (
        "import os\ndef solve():\n while True: os.write(2, b'x' * 9999)",
        {"output": 4096},
        Ending.OUTPUT,
    ),
    "value": ("def solve(): return 'x' * (2 << 20)", {}, Ending.UNTOLD),
    "channel": (
        "import os\ndef solve():\n while True: os.write(3, b'x' * 9999)",
        {},
        Ending.OUTPUT,
    ),
    "processes": (
        "import os, time\ndef solve():\n while True:\n  if not os.fork(): time.sleep(1000)",
        {"processes": 4},
        Ending.PROCESSES,
    ),
    "threads": (
        "import threading, time\ndef solve():\n"  # noqa: ISC004
        " while True: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
        {"processes": 4},
        Ending.PROCESSES,
    ),
    "memory of stacks": (
        "import threading, time\ndef solve():\n"  # noqa: ISC004
        " while True: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
        {"processes": 64, "memory": 64 << 20},
        Ending.MEMORY,
    ),
    "threads that have ended since": (
        "import threading\ndef solve():\n"  # noqa: ISC004
        " may_end, started = threading.Event(), []\n"
        " try:\n"
        "  while True:\n"
        "   thread = threading.Thread(target=may_end.wait); thread.start()\n"
        "   started.append(thread)\n"
        " finally:\n"
        "  may_end.set()\n"
        "  for thread in started: thread.join()",
        {"processes": 4},
        Ending.THREADS,
    ),
    "a lock that is held": (
        "import fcntl\ndef solve():\n"  # noqa: ISC004
        " held, other = open(__file__), open(__file__)\n"
        " for file in (held, other): fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        {},
        Ending.RAISED,
    ),
    "memory that a script still holds": (
        "kept = []\nwhile True: kept.append(str(len(kept)))",
        {"memory": 64 << 20, "entry": "main.py"},
        Ending.MEMORY,
    ),
    "memory, in a library's words": (
        "class ArrayMemoryError(MemoryError): pass\ndef solve(): raise ArrayMemoryError('8 GiB')",
        {},
        Ending.MEMORY,
    ),
    "file where there are none": (
        "def solve(): open('x', 'w').write('x')",
        {},
        Ending.FILES,
    ),
    "recursion": ("def solve(): return solve()", {}, Ending.RAISED),
    "abort": ("import os\ndef solve(): os.abort()", {}, Ending.CRASHED),
    "segmentation fault": (
        "import ctypes\ndef solve(): ctypes.string_at(0)",
        {},
        Ending.CRASHED,
    ),
    "kill itself": (
        "import os\ndef solve(): os.kill(os.getpid(), 9)",
        {},
        Ending.CRASHED,
    ),
    "syntax": ("def solve(:", {}, Ending.RAISED),
    "missing": ("x = 1", {}, Ending.RAISED),
    "status": ("import sys\ndef solve(): sys.exit(3)", {}, Ending.EXITED),
}


@pytest.mark.parametrize("kind", EXCESSES)
def test_an_excess_is_told_by_name(kind: str, run: Any) -> None:
    source, limits, expected = EXCESSES[kind]

    result = run(source, **limits)

    allowed = {expected, Ending.RAISED} if kind.startswith("file") else {expected}
    assert result.ended in allowed, result  # Landlock refuses files without a number of its own.
    assert len(result.stdout) + len(result.stderr) <= 1 << 20
    assert Ending.FINISHED is run("def solve(): return 1").ended


def test_as_many_processes_run_at_once_as_are_allowed_and_no_more(run: Any) -> None:
    source = """
import os, signal
def solve(children):
    for _ in range(children):
        if not os.fork():
            signal.pause()
    return children
"""
    assert 3 == run(source, 3, processes=4).value
    assert Ending.PROCESSES is run(source, 4, processes=4).ended


CHILD_RAISES = """
import os
child = os.fork()
if not child:
    raise ValueError
os.waitpid(child, 0)
os._exit(0)
"""


def test_a_script_that_ends_well_is_not_one_whose_child_has_raised(sandbox: Sandbox) -> None:
    program = Program({"main.py": CHILD_RAISES}, entry="main.py")

    (result,) = sandbox.run(program, [Input()])

    assert (Ending.FINISHED, 0) == (result.ended, result.status), result


TOGETHER = """
import resource, threading
def solve(count):
    barrier = threading.Barrier(count + 1)
    def work():
        kept = [bytearray(3000) for _ in range(9)]
        barrier.wait()
    for _ in range(count):
        threading.Thread(target=work).start()
    barrier.wait()
    return resource.getrlimit(resource.RLIMIT_STACK)[0]
"""


@pytest.mark.parametrize("processes", [16, 64])
def test_as_many_threads_live_together_as_are_allowed_within_the_usual_memory(
    processes: int, run: Any
) -> None:
    result = run(TOGETHER, 15, processes=processes, memory=Limits().memory)

    assert Ending.FINISHED is result.ended, result


def test_stacks_have_the_same_size_whatever_the_worker_has_for_itself(sandbox: Sandbox) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    large = 64 << 20 if hard == resource.RLIM_INFINITY else min(64 << 20, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (large, hard))
    try:
        with Sandbox(backend=sandbox.backend) as fresh:
            (result,) = fresh.run(Program({"main.py": TOGETHER}), [Input((12,))])
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))

    assert min(8 << 20, large) == result.value, result


def test_a_value_that_memory_is_too_small_to_write_is_told_so(run: Any) -> None:
    source = """
value = ['a' * 30] * 20000
kept = []
def solve():
    try:
        while True: kept.append('a' * 100 + str(len(kept)))
    except MemoryError:
        return value
"""
    result = run(source, memory=64 << 20)

    assert Ending.MEMORY is result.ended, result
    assert str(Path(zygoteprocess.__file__).parent) not in result.stderr.decode()


def test_an_exception_is_told_with_its_words(run: Any) -> None:
    result = run("class Odd(Exception): pass\ndef solve(): raise Odd('x' * 5000)")

    assert (Ending.RAISED, "main.Odd", "x" * 2000, 1) == (
        result.ended,
        result.error,
        result.message,
        result.status,
    )
    assert b"Traceback" in result.stderr


def test_what_a_program_is_told_names_no_folder_of_this_project(run: Any) -> None:
    source = """
import sys
def solve():
    texts = [*sys.argv, *sys.orig_argv]
    for process in ('self', 1):
        try:
            texts.append(open(f'/proc/{process}/cmdline').read())
        except OSError:
            pass
    raise ValueError('\\n'.join(texts))
"""
    result = run(source)

    assert "ValueError" == result.error, result
    for text in (result.message, result.stderr.decode()):
        assert str(Path(zygoteprocess.__file__).parent) not in text
        assert "folder" not in text
    assert 1 == result.stderr.count(b"  File ")


def test_a_program_is_the_first_to_end_when_the_machine_has_no_memory(run: Any) -> None:
    source = """
import os
def solve():
    file = os.open('/proc/self/oom_score_adj', os.O_RDONLY)
    return os.read(file, 99)
"""
    result = run(source)

    # Landlock lets nobody in there look; it was written before.
    assert b"1000\n" == result.value or "PermissionError" == result.error, result


@pytest.mark.parametrize("sandbox", ["landlock"], indirect=True)
@pytest.mark.parametrize("memory", ["/missing", "/proc"])
def test_programs_lie_on_a_disk_where_none_may_be_started_from_memory(
    memory: str, monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox
) -> None:
    monkeypatch.setattr(zygoteprocess, "_MEMORY", memory)
    program = Program({"main.py": "def solve(): return __file__"})

    with Sandbox(backend=sandbox.backend) as fresh:
        (result,) = fresh.run(program, [Input()])

    assert result.value.startswith(f"{tempfile.gettempdir()}/vladder-box-"), result


def test_processor_time_counts_children_and_orphans(run: Any) -> None:
    source = """
import os, resource, time
def burn():
    while time.process_time() < 0.3: pass
def solve():
    if not os.fork():
        if not os.fork():
            burn(); os.write(1, b'done'); os._exit(0)
        os._exit(0)
    burn()
    while os.fstat(1).st_size < 0: pass
    r, w = os.pipe()
    return time.process_time()
"""
    result = run(source)

    assert Ending.FINISHED is result.ended, result
    assert result.cpu >= result.value
    assert result.memory > 1 << 20


def test_a_script_reads_stdin_and_arguments_and_ends_as_programs_do(run: Any) -> None:
    source = """
import atexit, sys, threading
atexit.register(print, 'last')
if __name__ == '__main__':
    threading.Thread(target=print, args=('thread',)).start()
    print(sys.argv[1:], input())
    exit(4)
"""
    result = run(source, entry="main.py", stdin=b"a line\n", argv=("one", "two"))

    assert (Ending.EXITED, 4) == (result.ended, result.status), result
    assert ["['one', 'two'] a line", "last", "thread"] == sorted(
        result.stdout.decode().split("\n")
    )[1:]


def test_a_script_that_ends_well_has_finished(run: Any) -> None:
    result = run("print('hello')", entry="main.py")

    assert (Ending.FINISHED, b"hello\n", 0) == (result.ended, result.stdout, result.status)


def test_a_command_is_run_without_a_shell(sandbox: Sandbox) -> None:
    program = Program({"words.txt": "b\na\n"}, command=("sort", "words.txt"))

    (result,) = sandbox.run(program, [Input()])
    (missing,) = sandbox.run(Program({}, command=("no-such-program",)), [Input()])

    assert (Ending.FINISHED, b"a\nb\n") == (result.ended, result.stdout), result
    assert (Ending.EXITED, 127) == (missing.ended, missing.status)


def test_several_files_import_each_other(sandbox: Sandbox) -> None:
    program = Program(
        {"main.py": "from lib.part import f as solve", "lib/part.py": "def f(): return 5"}
    )

    assert [5] == [result.value for result in sandbox.run(program, [Input()])]


WRITES = """
def solve(size, count=1):
    for n in range(count):
        with open(f'file{n}', 'wb') as file: file.write(bytes(size))
    return open('file0', 'rb').read() == bytes(size)
"""


def test_files_are_written_within_their_limits(sandbox: Sandbox) -> None:
    limits = Limits(files=3, file_bytes=1 << 20)
    program = Program({"main.py": WRITES}, keep=("file0", "main.py", "none"))
    inputs = [Input((1000,)), Input((4 << 20,)), Input((1, 9)), Input((300_000, 3))]

    if sandbox.strength == 1:
        with pytest.raises(SandboxError, match="no folder to write into"):
            sandbox.run(program, inputs, limits)
        return
    fine, large, many, together = sandbox.run(program, inputs, limits)

    assert (Ending.FINISHED, True) == (fine.ended, fine.value), fine
    assert {"file0": bytes(1000), "main.py": WRITES.encode()} == fine.files
    assert [Ending.FILES] * 2 == [large.ended, many.ended]
    assert Ending.FINISHED is together.ended


def test_a_link_is_not_given_back(sandbox: Sandbox) -> None:
    if sandbox.strength == 1:
        return  # It has no files.
    source = "import os\ndef solve():\n os.symlink('/etc/passwd', 'kept'); os.mkfifo('pipe')"
    program = Program({"main.py": source}, keep=("kept", "pipe"))

    (result,) = sandbox.run(program, [Input()], Limits(files=4, file_bytes=4096))

    assert (Ending.FINISHED, {}) == (result.ended, result.files), result


CPP = '#include <iostream>\nint main() { long n; std::cin >> n; std::cout << n * n << "\\n"; }'


def test_cpp_is_compiled_and_run(sandbox: Sandbox, require: Callable[..., None]) -> None:
    require("g++", shutil.which("g++") is not None, "compiles C++")
    if sandbox.strength == 1:
        with pytest.raises(SandboxError, match="no folder to write into"):
            compiled(sandbox, CPP)
        return
    program = compiled(sandbox, CPP)

    results = sandbox.run(program, [Input(stdin=b"12"), Input(stdin=b"100000")])

    assert [b"144\n", b"10000000000\n"] == [result.stdout for result in results]
    with pytest.raises(CandidateError, match="does not compile"):
        compiled(sandbox, "int main() { return nothing; }")


def test_a_warm_module_is_there(require: Callable[..., None]) -> None:
    try:
        sandbox = Sandbox.open(warmth=Warmth(modules=("numpy",)))
    except SandboxError as error:
        require("a sandbox", False, str(error))  # noqa: FBT003
        raise
    with sandbox:
        source = "import numpy as np\ndef solve(n): return float(np.linalg.norm(np.ones(n)))"
        (result,) = sandbox.run(Program({"main.py": source}), [Input((16,))])

    assert 4.0 == result.value, result


def test_what_is_asked_wrongly_is_told() -> None:
    for wrong in (
        {"cpu": -1.0},
        {"memory": 0},
        {"files": 1},
        {"wall": math.nan},
        {"processes": 1.5},
    ):
        with pytest.raises(ConfigError):
            Limits(**wrong)
    for name in ("../x", ""):
        with pytest.raises(ConfigError):
            Program({"main.py": ""}, programs=(name,))
    for text in ("a\0b", "\ud800"):
        with pytest.raises(ConfigError, match="argument of a program"):
            Input(argv=(text,))
    with pytest.raises(ConfigError, match="no sandbox is named"):
        Sandbox.open(backends=("magic",))


NAMES = ["../x", "/x", "a/../b", "", "a\0b", "\ud800", "a" * 256, "d/" * 1500 + "d", "main.py/x"]


@pytest.mark.parametrize("name", NAMES)
def test_files_that_can_t_be_written_are_the_candidate_s_fault(name: str, run: Any) -> None:
    with pytest.raises(CandidateError):
        Program({"main.py": "", name: ""})
    with pytest.raises(CandidateError, match="half of a character"):
        Program({"main.py": f"x = '{chr(0xD800)}'"})
    with pytest.raises(CandidateError, match="names none"):
        Program({"other.py": ""})
    assert 1 == run("def solve(): return 1").value


def test_arguments_that_are_no_plain_data_are_told(sandbox: Sandbox) -> None:
    with pytest.raises(ConfigError, match="no plain data"):
        sandbox.run(Program({"main.py": ""}), [Input((object(),))])


def test_a_zygote_that_was_killed_is_nobody_s_fault_and_started_again(sandbox: Sandbox) -> None:
    program = Program({"main.py": "def solve(): return 1"})
    assert isinstance(sandbox._zygote, Zygote)
    before = sandbox._zygote._process
    inside = psutil.Process(before.pid).children(recursive=True)
    before.kill()
    before.wait()
    psutil.wait_procs(inside, timeout=60)  # They die with it, but not in the same moment.

    assert [1] == [result.value for result in sandbox.run(program, [Input()])]
    assert before.pid != sandbox.process


def test_no_back_end_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("no processes left")

    monkeypatch.setattr(subprocess, "Popen", broken)

    with pytest.raises(SandboxError, match=r"(?s)namespaces: .*landlock: .*user namespaces"):
        Sandbox.open()


WORKER = """
import os, sys
from verifier_ladder.tiers.sandbox import Input, Program, Sandbox
sandbox = Sandbox.open(backends=(sys.argv[1],))
source = '''
import ctypes, os
ctypes.CDLL(None).prctl(15, b'vl-orphan', 0, 0, 0)
def solve():
    os.write(1, b'x'); os.fork()
    while True: pass
'''
print(sandbox._zygote._process.pid, sandbox._zygote._folder or '-', flush=True)
sandbox.run(Program({'main.py': source}), [Input()])
"""


@pytest.mark.parametrize("kind", ["namespaces", "landlock"])
def test_a_worker_that_is_killed_leaves_nothing(kind: str, sandbox: Sandbox) -> None:
    if kind not in sandbox.name:
        return
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    worker = subprocess.Popen(
        [sys.executable, "-P", "-c", WORKER, kind],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert worker.stdout is not None
    with worker.stdout as told:
        zygote, folder = told.readline().split()
    while not named("vl-orphan"):
        assert worker.poll() is None
    worker.send_signal(signal.SIGKILL)
    worker.wait()

    # The time limit of each test ends a wait that never ends.
    while Path(f"/proc/{zygote}").exists() or named("vl-orphan"):
        pass
    while kind == "landlock" and Path(folder).exists():
        pass


def test_a_program_can_read_a_folder_below_tmp(sandbox: Sandbox) -> None:
    folder = Path(tempfile.mkdtemp(prefix="readable-", dir="/tmp"))
    try:
        (folder / "data.txt").write_text("seen")
        folder.chmod(0o755)
        program = Program({"main.py": "def solve(path): return open(path).read()"})
        with Sandbox.open(
            backends=[sandbox.backend.kind], warmth=Warmth(read=(str(folder),))
        ) as reading:
            (result,) = reading.run(program, [Input((str(folder / "data.txt"),))])
    finally:
        shutil.rmtree(folder)

    assert "seen" == result.value


def test_inputs_leave_each_other_nothing(sandbox: Sandbox) -> None:
    source = """
import os, builtins, sys
def solve(n):
    found = (hasattr(builtins, 'left'), 'left' in os.environ, 'left' in sys.modules,
             os.path.exists('left'))
    builtins.left = 1; os.environ['left'] = '1'; sys.modules['left'] = os
    try: open('left', 'w').close()
    except OSError: pass
    return found
"""
    limits = Limits(files=4, file_bytes=4096) if sandbox.strength > 1 else Limits()

    results = sandbox.run(Program({"main.py": source}), [Input((n,)) for n in range(3)], limits)

    assert [(False,) * 4] * 3 == [result.value for result in results]


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
