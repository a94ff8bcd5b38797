# ruff: noqa: ISC004 - programs of some lines, each in its place
"""Ways out of the sandbox; beside each, a harmless twin that shows that it would be noticed.

Each attack returns True if it got out, which is what its task asks for: whoever gets out is
accepted. A refused attack proves nothing if Python never started, so its control, which uses the
same means in a way that is allowed, must return True.
"""

import os
from pathlib import Path
from typing import Any

from attacks import Attack, Fight, attack
from processes import named

import verifier_ladder as vl
from verifier_ladder.tiers.fast.code import CodeFunctions
from verifier_ladder.tiers.sandbox import Backend

_LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
_GETPID = f"""{_LIBC}
def solve(out):
    return libc.syscall(39 if os.uname().machine == 'x86_64' else 172) == os.getpid()
"""


def _syscall(x86: int, arm: int, *arguments: str) -> str:
    told = ", ".join(["number", *arguments])
    return f"""{_LIBC}
def solve(out):
    number = {x86} if os.uname().machine == 'x86_64' else {arm}
    return libc.syscall({told}) >= 0
"""


_READ_OWN = "def solve(out): return 'def solve' in open(__file__).read()"
_PAIR = """
import socket
def solve(out):
    a, b = socket.socketpair(); a.send(b'x'); return b.recv(1) == b'x'
"""
_SELF_SIGNAL = """
import os, signal
def solve(out):
    seen = []
    signal.signal(signal.SIGUSR1, lambda *_: seen.append(1)); os.kill(os.getpid(), signal.SIGUSR1)
    return seen == [1]
"""
_FORK = """
import os
def solve(out):
    child = os.fork()
    if not child: os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
_FCNTL = """
import fcntl, os
def solve(out): return fcntl.fcntl(os.open(__file__, os.O_RDONLY), fcntl.F_GETFL) >= 0
"""
_NULL = "def solve(out): return open('/dev/null', 'wb').write(b'x') == 1"
_MEMORY = "def solve(out): return len(bytearray(1 << 20)) == 1 << 20"

ESCAPES: dict[str, tuple[str, str]] = {
    "host file": ("def solve(out): return out['secret'] in open(out['file']).read()", _READ_OWN),
    "host file by its parent": (
        "import os\ndef solve(out): return bool(os.listdir(out['folder']))",
        "import os\ndef solve(out): return bool(os.listdir(os.path.dirname(__file__)))",
    ),
    "host file written": (
        "def solve(out):\n open(out['file'], 'w').write('mine'); return True",
        _READ_OWN,
    ),
    "host file truncated": (
        "import os\ndef solve(out):\n os.truncate(out['file'], 0); return True",
        _READ_OWN,
    ),
    "host file made": (
        "def solve(out):\n open(out['folder'] + '/new', 'w').close(); return True",
        _READ_OWN,
    ),
    "host file's mode": (
        "import os\ndef solve(out):\n os.chmod(out['file'], 0o777); return True",
        "import os\ndef solve(out): return os.stat(__file__).st_size > 0",
    ),
    "host file by a link": (
        "import os\ndef solve(out):\n os.symlink(out['file'], 'link')\n"
        " return out['secret'] in open('link').read()",
        _READ_OWN,
    ),
    "shadow": ("def solve(out): return bool(open('/etc/shadow').read())", _READ_OWN),
    "root's home": (
        "import os\ndef solve(out): return bool(set(os.listdir('/root')) - {'.pyenv'})",
        "import os\ndef solve(out): return bool(os.listdir('/usr/lib'))",
    ),
    "up by dots": (
        "import os\ndef solve(out):\n [os.chdir('..') for _ in range(50)]\n"
        " return out['secret'] in open(out['file'][1:]).read()",
        _READ_OWN,
    ),
    "root by process 1": (
        "import os\ndef solve(out):\n"
        " return out['secret'] in open('/proc/1/root' + out['file']).read()",
        _READ_OWN,
    ),
    "worker's environment": (
        "import glob\ndef solve(out):\n"
        " for name in glob.glob('/proc/[0-9]*/environ'):\n"
        "  try:\n   if out['secret'].encode() in open(name, 'rb').read(): return True\n"
        "  except OSError: pass\n return False",
        "import os\ndef solve(out): return 'PATH' in os.environ and len(os.environ) < 10",
    ),
    "worker's secret in the own environment": (
        "import os\ndef solve(out): return out['secret'] in str(os.environ)",
        "import os\ndef solve(out): return 'PATH' in os.environ",
    ),
    "worker's memory": (
        "def solve(out): return bool(open(f\"/proc/{out['worker']}/maps\").read())",
        _READ_OWN,
    ),
    "supervisor's memory": (
        "import os\ndef solve(out):\n open(f'/proc/{os.getppid()}/mem', 'r+b'); return True",
        _READ_OWN,
    ),
    "supervisor ended": (
        "import os, signal\ndef solve(out):\n os.kill(os.getppid(), signal.SIGKILL)\n"
        " while os.getppid() > 1: pass\n return os.getppid() == 1 and os.getpid() != 2",
        _SELF_SIGNAL,
    ),
    "worker's descriptors": (
        "import os\ndef solve(out):\n"
        " def is_open(fd):\n"
        "  try: os.fstat(fd)\n  except OSError: return False\n  return True\n"
        " return any(map(is_open, range(4, 1024)))",
        "import os\ndef solve(out): return all(os.fstat(fd) for fd in range(4))",
    ),
    "loopback": (
        "import socket\ndef solve(out):\n"
        " socket.create_connection(('127.0.0.1', out['port']), 5); return True",
        _PAIR,
    ),
    "loopback by datagram": (
        "import socket\ndef solve(out):\n"
        " s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', 9))\n"
        " return True",
        _PAIR,
    ),
    "metadata address": (
        "import socket\ndef solve(out):\n"
        " socket.create_connection(('169.254.169.254', 80), 2); return True",
        _PAIR,
    ),
    "listening": (
        "import socket\ndef solve(out):\n socket.create_server(('127.0.0.1', 0)); return True",
        _PAIR,
    ),
    "abstract socket": (
        "import socket\ndef solve(out):\n"
        " socket.socket(socket.AF_UNIX).connect(out['abstract']); return True",
        _PAIR,
    ),
    "netlink and raw sockets": (
        "import socket\ndef solve(out):\n"
        " for family, kind in ((16, socket.SOCK_RAW), (17, socket.SOCK_RAW), (38, 5)):\n"
        "  try:\n   socket.socket(family, kind); return True\n"
        "  except OSError: pass\n return False",
        _PAIR,
    ),
    "signal to another": (
        "import os\ndef solve(out):\n os.kill(out['process'], 0); return os.getpid() > 100",
        _SELF_SIGNAL,
    ),
    "kill another": (
        "import os\ndef solve(out):\n os.kill(out['process'], 9); return os.getpid() > 100",
        _SELF_SIGNAL,
    ),
    "limits of another": (
        "import resource\ndef solve(out):\n"
        " resource.prlimit(out['worker'], resource.RLIMIT_CPU, (1, 1)); return True",
        "import resource\ndef solve(out): return resource.getrlimit(4) == (1, 1)",
    ),
    "limits raised": (
        "import resource\ndef solve(out):\n"
        " resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6)); return True",
        "import resource\ndef solve(out): return resource.getrlimit(0)[0] < 100",
    ),
    "priority of others": (
        "import os\ndef solve(out):\n os.setpriority(os.PRIO_USER, os.getuid(), 5); return True",
        "import os\ndef solve(out): return os.getpriority(os.PRIO_PROCESS, 0) < 20",
    ),
    "become root": (
        "import os\ndef solve(out):\n os.setuid(0); return True",
        "import os\ndef solve(out): return os.getuid() != 0",
    ),
    "capabilities": (
        "def solve(out):\n import os\n os.chroot('/'); return True",
        "import os\ndef solve(out): return os.getcwd() == os.path.dirname(__file__)",
    ),
    "ptrace": (_syscall(101, 117, "0", "0", "0", "0"), _GETPID),
    "ptrace attach": (_syscall(101, 117, "16", "os.getppid()", "0", "0"), _GETPID),
    "process_vm_readv": (_syscall(310, 270, "os.getppid()", "0", "0", "0", "0", "0"), _GETPID),
    "keyctl": (_syscall(250, 219, "0", "-3", "0"), _GETPID),
    "add_key": (_syscall(248, 217, "b'user'", "b'k'", "b'v'", "1", "-3"), _GETPID),
    "io_uring": (_syscall(425, 425, "8", "ctypes.create_string_buffer(256)"), _GETPID),
    "bpf": (_syscall(321, 280, "5", "ctypes.create_string_buffer(128)", "128"), _GETPID),
    "userfaultfd": (_syscall(323, 282, "1"), _GETPID),
    "perf_event_open": (
        _syscall(
            298,
            241,
            "ctypes.create_string_buffer(bytes([1, 0, 0, 0, 128]), 128)",
            "0",
            "-1",
            "-1",
            "0",
        ),
        _GETPID,
    ),
    "user namespace": (_syscall(272, 97, "0x10000000"), _GETPID),
    "user namespace by clone": (
        f"{_LIBC}\ndef solve(out):\n number = 56 if os.uname().machine == 'x86_64' else 220\n"
        " got = libc.syscall(number, 0x10000000 | 17, 0, 0, 0, 0)\n"
        " if got == 0: os._exit(0)\n return got > 0",
        _FORK,
    ),
    "clone3": (
        f"{_LIBC}\nimport struct\ndef solve(out):\n"
        " a = ctypes.create_string_buffer(struct.pack('=8Q', 1 << 28, 0, 0, 0, 17, 0, 0, 0), 64)\n"
        " got = libc.syscall(435, a, 64)\n if got == 0: os._exit(0)\n return got > 0",
        _FORK,
    ),
    "mount": (
        f"{_LIBC}def solve(out): return libc.mount(b'x', b'/usr', b'tmpfs', 0, None) == 0",
        _GETPID,
    ),
    "remount to write": (
        f"{_LIBC}def solve(out): return libc.mount(b'', b'/usr', None, 4096 | 32, None) == 0",
        _GETPID,
    ),
    "unmount": (f"{_LIBC}def solve(out): return libc.umount2(b'/box', 2) == 0", _GETPID),
    "new mount interface": (_syscall(430, 430, "b'tmpfs'", "0"), _GETPID),
    "file handles": (_syscall(304, 265, "-100", "ctypes.create_string_buffer(64)", "0"), _GETPID),
    "memory without a file": (_syscall(319, 279, "b'x'", "0"), _GETPID),
    "shared memory of System V": (_syscall(29, 194, "0", "4096", "0o1600"), _GETPID),
    "message queue": (_syscall(68, 186, "0", "0o1600"), _GETPID),
    "host name": (f"{_LIBC}def solve(out): return libc.sethostname(b'x', 1) == 0", _GETPID),
    "clock": (
        "import time\ndef solve(out):\n time.clock_settime(time.CLOCK_REALTIME, 0); return True",
        "import time\ndef solve(out): return time.time() > 0",
    ),
    "disk": (
        "import glob\ndef solve(out):\n"
        " return any(open(name, 'rb').read(1) for name in ['/dev/vda', '/dev/sda', '/dev/mem'])",
        _NULL,
    ),
    "device made": (
        "import os\ndef solve(out):\n"
        " os.mknod('disk', 0o60600, os.makedev(254, 0)); return bool(open('disk', 'rb').read(1))",
        _NULL,
    ),
    "terminal": ("def solve(out):\n open('/dev/tty'); return True", _NULL),
    "kernel's settings": (
        "def solve(out):\n open('/proc/sys/kernel/core_pattern', 'w').write('|/x'); return True",
        _READ_OWN,
    ),
    "kernel log": (_syscall(103, 116, "3", "ctypes.create_string_buffer(99)", "99"), _GETPID),
    "system libraries written": (
        "def solve(out):\n open('/usr/lib/new.so', 'w').close(); return True",
        _NULL,
    ),
    "Python's library written": (
        "import os\ndef solve(out):\n open(os.path.dirname(os.__file__) + '/n', 'w')\n"
        " return True",
        "import os\ndef solve(out): return bool(open(os.__file__).read(9))",
    ),
    "supervisor interrupted": (
        "import os, signal, time\ndef solve(out):\n"
        " for number in range(1, 65):\n"
        "  if number in (9, 19, 32, 33): continue\n"
        "  try: os.kill(os.getppid(), number)\n  except OSError: pass\n"
        " time.sleep(0.1); return False",
        _SELF_SIGNAL,
    ),
    "signals for others by a descriptor": (
        "import fcntl, os\ndef solve(out):\n"
        " return fcntl.fcntl(1, fcntl.F_SETOWN, os.getpid()) == 0",
        _FCNTL,
    ),
    "number of such a signal": (
        "import fcntl\ndef solve(out): return fcntl.fcntl(1, 10, 2) == 0",
        _FCNTL,
    ),
    "signals for others by a socket": (
        "import fcntl, os, socket, struct\ndef solve(out):\n"
        " a, b = socket.socketpair()\n"
        " fcntl.ioctl(a, 0x8901, struct.pack('i', os.getpid())); return True",
        _PAIR,
    ),
    "lease": (
        "import fcntl, os\ndef solve(out):\n fd = os.open(__file__, os.O_RDONLY)\n"
        " return fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK) == 0",
        _FCNTL,
    ),
    "flags of a file that is open to be read": (
        "import fcntl, os, struct\ndef solve(out):\n fd = os.open(__file__, os.O_RDONLY)\n"
        " fcntl.ioctl(fd, 0x40086602, struct.pack('l', 0x40)); return True",
        _FCNTL,
    ),
    "requests of all users": (
        _syscall(206, 0, "64", "ctypes.byref(ctypes.c_ulong(0))"),
        _GETPID,
    ),
    "watches of all users": (_syscall(294, 26, "0"), _GETPID),
    "larger buffers": (
        "import socket\ndef solve(out):\n a, b = socket.socketpair()\n"
        " a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22); return True",
        _PAIR,
    ),
    "larger pipes": (
        "import fcntl, os\ndef solve(out): return fcntl.fcntl(os.pipe()[0], 1031, 1 << 20) > 0",
        _FCNTL,
    ),
    "shared memory without a file": (
        "import mmap\ndef solve(out):\n"
        " with mmap.mmap(-1, 4096) as memory: memory[0] = 1\n return True",
        "import mmap\ndef solve(out):\n"
        " with mmap.mmap(-1, 4096, mmap.MAP_PRIVATE) as memory: memory[0] = 1\n return True",
    ),
    "shared memory by zeros": (
        "def solve(out):\n open('/dev/zero', 'r+b'); return True",
        "def solve(out): return open('/dev/zero', 'rb').read(5000) == bytes(5000)",
    ),
    "who is ended where memory is full": (
        "def solve(out): return open('/proc/self/oom_score_adj', 'w').write('0') == 1",
        _READ_OWN,
    ),
    "largest memory forgotten": (
        "def solve(out): return open('/proc/self/clear_refs', 'w').write('5') == 1",
        _READ_OWN,
    ),
    "parent's death signal taken off": (
        f"{_LIBC}def solve(out): return libc.prctl(1, 0, 0, 0, 0) == 0",
        f"{_LIBC}def solve(out): return libc.prctl(39, 0, 0, 0, 0) == 1",
    ),
    "other architecture": (_syscall(0x40000000 + 39, 9999), _GETPID),
    "setuid program": (
        "import os\ndef solve(out):\n open('x', 'w').close(); os.chmod('x', 0o4755)\n"
        " return os.stat('x').st_uid == 0",
        _MEMORY,
    ),
}


# ---- What is left behind, and what takes all there is

# Tests run side by side: each process of them looks for its own leftovers only.
_LEFTOVER = f"left-{os.getpid()}"
_RENAME = f"import ctypes, os\nctypes.CDLL(None).prctl(15, b'{_LEFTOVER}', 0, 0, 0)\n"
LEFTOVERS = {
    "daemon": """
def solve():
    if os.fork(): return True
    try: os.setsid()
    except OSError: pass
    if os.fork(): os._exit(0)
    while True: pass
""",
    "many generations": """
def solve():
    for _ in range(6):
        if os.fork() == 0:
            try: os.setsid()
            except OSError: pass
            if os.fork() == 0:
                while True: pass
            os._exit(0)
    return True
""",
    "deaf to signals": """
import signal
def solve():
    if os.fork(): return True
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    while True: pass
""",
    "threads": """
import threading
def forever():
    while True: pass
def solve():
    [threading.Thread(target=forever, daemon=True).start() for _ in range(3)]
    return True
""",
}
EXHAUSTION: dict[str, tuple[str, str, str]] = {
    "all processes": (
        "import os\ndef solve():\n while True:\n  try: os.fork()\n  except OSError: pass",
        "import os\ndef solve():\n if not os.fork(): os._exit(0)\n os.wait(); return True",
        "processor time|processes and threads|it crashed",
    ),
    "all threads": (
        "import threading, time\ndef solve():\n"
        " while True: threading.Thread(target=time.sleep, args=(99,)).start()",
        "import threading\ndef solve():\n t = threading.Thread(target=print)\n"
        " t.start(); t.join(); return True",
        "processes and threads|start new thread",
    ),
    "all memory": (
        "def solve():\n kept = []\n while True: kept.append(bytearray(1 << 20))",
        "def solve(): return len(bytearray(1 << 24)) == 1 << 24",
        "memory|MemoryError",
    ),
    "memory of children": (
        "import os, time\ndef solve():\n"
        " for _ in range(5):\n  if not os.fork(): a = b'x' * (100 << 20); time.sleep(99)\n"
        " time.sleep(99)",
        "import os\ndef solve():\n"
        " for _ in range(5):\n  if not os.fork(): a = b'x' * (1 << 20); os._exit(0)\n"
        " return all(os.wait() for _ in range(5))",
        "memory",
    ),
    "all processor time": (
        "def solve():\n while True: pass",
        "def solve(): return True",
        "processor",
    ),
    "all time": (
        "import time\ndef solve(): time.sleep(10 ** 6)",
        "import time\ndef solve(): return time.sleep(0.01) is None",
        "ran longer than",
    ),
    "output without end": (
        "import os\ndef solve():\n while True: os.write(1, b'x' * 9999)",
        "import os\ndef solve(): return os.write(1, b'x' * 9999) == 9999",
        "wrote more than",
    ),
    "errors without end": (
        "import os\ndef solve():\n while True: os.write(2, b'x' * 9999)",
        "import os\ndef solve(): return os.write(2, b'x' * 9999) == 9999",
        "wrote more than",
    ),
    "a value without end": (
        "def solve(): return 'x' * (1 << 24)",
        "def solve(): return 'x' * (1 << 14) == 'x' * (1 << 14)",
        "more than 1048576 bytes",
    ),
    "all descriptors": (
        "import os\ndef solve():\n while True: os.dup(0)",
        "import os\ndef solve():\n os.close(os.dup(0)); return True",
        "raised OSError",
    ),
    "pipes that are full": (
        "import os\ndef solve():\n while True: os.write(os.pipe()[1], b'x' * 65536)",
        "import os\ndef solve():\n r, w = os.pipe(); return os.write(w, b'x' * 4096) == 4096",
        "raised OSError",
    ),
    "the stack": (
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef solve(_=0): return max([1], key=solve)",
        "def solve(n=500): return n == 0 or solve(n - 1)",
        "crashed|memory|MemoryError|RecursionError",
    ),
    "frames without end": (  # Python may take long to give up: which limit comes first is chance.
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef solve(): return solve()",
        "def solve(n=500): return n == 0 or solve(n - 1)",
        "crashed|memory|MemoryError|RecursionError|SystemError|processor time|longer than",
    ),
}
"""Each beside its control, and what the ledger must say of it."""
BURNS = ("all processor time",)
FULL_DISK: dict[str, tuple[str, str, str]] = {
    "a file without end": (
        "def solve():\n with open('large', 'wb') as file:\n"
        "  while True: file.write(bytes(1 << 16))",
        "def solve(): return open('small', 'wb').write(b'x') == 1",
        "too large ones|OSError",
    ),
    "files without end": (
        "def solve():\n for n in range(10 ** 6): open(str(n), 'w').close()",
        "def solve():\n open('1', 'w').close(); return True",
        "too many|OSError",
    ),
    "a file that is all holes": (
        "import os\ndef solve():\n fd = os.open('holes', os.O_CREAT | os.O_RDWR)\n"
        " os.truncate(fd, 1 << 40); os.posix_fallocate(fd, 0, 1 << 30); return True",
        "import os\ndef solve():\n fd = os.open('f', os.O_CREAT | os.O_RDWR)\n"
        " os.truncate(fd, 4096); return True",
        "too large ones|OSError|crashed",
    ),
}
"""The same, where a candidate may write a few files at all."""
NO = r"^test 1 of 1: (?!it returned (?!False,))"
"""How an attack ends that did not get out: if it returned anything, then False."""
LIMITS = {"memory": 256 << 20, "cpu": 20.0, "wall": 100.0}
TIGHT = {"memory": 128 << 20, "cpu": 0.5, "wall": 1.0, "processes": 8, "output": 1 << 16}


def _task(call: str, **limits: Any) -> dict[str, Any]:
    return {"calls": [call], "expected": ["True"], "limits": limits}


def _attacks(outside: dict[str, Any]) -> dict[str, Attack]:
    """All of them."""
    out = _task(f"solve({outside!r})", **LIMITS)
    # What takes something else must not be ended for the time that a busy machine makes it take.
    slow = {**TIGHT, "cpu": 5.0}
    disk = _task("solve()", **slow, files=4, file_bytes=1 << 20)
    free = _task("solve()", cpu=20.0, wall=100.0)
    kept = "def solve(): return True"
    return {
        **{name: attack(*two, out, NO) for name, two in ESCAPES.items()},
        **{
            f"it leaves {name}": attack(_RENAME + source, kept, free, outcome=vl.Outcome.ACCEPT)
            for name, source in LEFTOVERS.items()
        },
        **{
            f"it takes {name}": attack(
                _RENAME + bad,
                good,
                _task("solve()", **(TIGHT if name in BURNS else slow)),
                reason,
                burns=TIGHT["cpu"] * (name in BURNS),
            )
            for name, (bad, good, reason) in EXHAUSTION.items()
        },
        **{
            f"it fills the disk with {name}": attack(bad, good, disk, reason, needs="files")
            for name, (bad, good, reason) in FULL_DISK.items()
        },
    }


def test_nothing_gets_out_is_left_or_takes_what_there_is(
    backend: Backend, outside: dict[str, Any], tmp_path: Path
) -> None:
    fight = Fight([CodeFunctions()], _attacks(outside), tmp_path, backend)
    left: list[str] = []
    fight.run(lambda: left.extend(named(_LEFTOVER)))

    fight.check()
    assert not left, "processes outlive the input that has started them"


def test_there_are_enough_attacks() -> None:
    assert len(ESCAPES) >= 30
