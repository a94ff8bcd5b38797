r"""The answer key of `code-stdio`: `tiers/answer_keys/code-stdio.jsonl`.

Run: `python tools/code_stdio_key.py`; it needs g++. It writes the same bytes each time. The key is
frozen: later cases are added at the end of `code_stdio`, none is removed or edited.

A task holds `inputs`, what stands on standard input, and `outputs`, what must come on standard
output. Truths are closed forms that don't share code with the programs; each program that is
called right or wrong is compiled, run and compared with them here before it is written.
"""

# ruff: noqa: E501 - a program stands in one line, so that its edits can be seen.

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keywriter import NO, UNKNOWN, YES, Key, binary, write

GENERATED = "generator: closed forms"
PYTHON_FRAMES = (
    "%s",
    "Here it is.\n\n```python\n%s\n```\n",
    "<think>A loop?</think>\n```py\n%s\n```\nDone.",
)
CPP_FRAMES = (
    "%s",
    "Here it is.\n\n```cpp\n%s\n```\n",
    "<think>A loop?</think>\n```c++\n%s\n```\nDone.",
)
QUICK = {"cpu": 0.5, "wall": 3}
HEAD = "#include <cstdio>\n"


class Problem(NamedTuple):
    """A program to write in two languages, and what it must print."""

    python: tuple[str, Sequence[tuple[str, str]]]
    """A right program, and what to replace in it to have a wrong one."""
    cpp: tuple[str, Sequence[tuple[str, str]]]
    inputs: Sequence[str]
    truth: Callable[[str], str]
    why: str
    more: dict[str, Any] = {}  # noqa: RUF012 - never changed


def numbers(text: str) -> list[int]:
    """The whole numbers of an input."""
    return [int(each) for each in text.split()]


def told(values: Any) -> str:
    """Values as one line."""
    return " ".join(map(str, values)) + "\n"


def best(values: Sequence[int]) -> int:
    """The largest sum of neighbours, from all of them."""
    return max(sum(values[a:b]) for a, b in itertools.combinations(range(len(values) + 1), 2))


PROBLEMS = (
    Problem(
        ("n, *xs = map(int, open(0).read().split())\nprint(sum(xs[:n]))",
         [("sum", "max"), ("xs[:n]", "xs[1:n]"), ("print(sum(xs[:n]))", "print(f'{sum(xs[:n])}.0')")]),
        (HEAD + 'int main() { long long n, x, s = 0; scanf("%lld", &n); while (n--) { scanf("%lld", &x); s += x; } printf("%lld\\n", s); }',
         [("s = 0", "s = 1"), ("long long n, x, s", "int n0; long long n, x; int s"), ("s += x", "s = x")]),
        ["3\n1 2 3\n", "1\n-7\n", "3\n4000000000 4000000000 5\n"],
        lambda text: told([math.fsum(numbers(text)[1:]).__trunc__()]), "a sum that no int holds",
    ),
    Problem(
        ("a, b = map(int, input().split())\nwhile b:\n    a, b = b, a % b\nprint(a)",
         [("a % b", "a // b"), ("print(a)", "print(b)"), ("while", "if")]),
        (HEAD + 'int main() { long long a, b; scanf("%lld %lld", &a, &b); while (b) { long long c = a % b; a = b; b = c; } printf("%lld", a); }',
         [("while (b)", "if (b)"), ("a % b", "a / b")]),
        ["12 18\n", "17 5\n", "1000000007 998244353\n", "0 4"],
        lambda text: told([math.gcd(*numbers(text))]), "a divisor; no newline at the end",
    ),
    Problem(
        ("print(*reversed(input().split()))",
         [("reversed", "sorted"), ("*reversed(input().split())", "input()[::-1]")]),
        (HEAD + '#include <string>\n#include <vector>\nint main() { std::vector<std::string> w; char b[200]; while (scanf("%199s", b) == 1) w.push_back(b); while (!w.empty()) { printf("%s ", w.back().c_str()); w.pop_back(); } puts(""); }',
         [("w.push_back(b)", "w.insert(w.begin(), b)"), ('"%s "', '"%s"')]),
        ["one two three\n", "a\n", "b a b\n"],
        lambda text: " ".join(text.split()[::-1]), "words; a space at the end of a line",
    ),
    Problem(
        ("input()\nprint(*sorted(set(map(int, input().split()))))",
         [("set(map(int, input().split()))", "map(int, input().split())"), ("map(int, input().split())", "input().split()")]),
        (HEAD + '#include <set>\nint main() { int n, x; std::set<int> s; scanf("%d", &n); while (n--) { scanf("%d", &x); s.insert(x); } for (int y : s) printf("%d\\n", y); }',
         [("std::set<int>", "std::multiset<int>"), ("std::set<int> s", "std::set<int, std::greater<int>> s")]),
        ["4\n10 9 9 -1\n", "1\n0\n"],
        lambda text: told(sorted(dict.fromkeys(numbers(text)[1:]))), "members once, in order, on any lines",
    ),
    Problem(
        ("n = int(input())\na, b = 0, 1\nfor _ in range(n):\n    a, b = b, (a + b) % (10**9 + 7)\nprint(a)",
         [("0, 1", "1, 1"), ("10**9 + 7", "10**9 + 9"), ("range(n)", "range(n - 1)")]),
        (HEAD + 'int main() { int n; scanf("%d", &n); long long a = 0, b = 1; while (n--) { long long c = (a + b) % 1000000007; a = b; b = c; } printf("%lld\\n", a); }',
         [("a = 0, b", "a = 1, b"), ("1000000007", "1000000009")]),
        ["0", "1", "10", "1000\n"],
        lambda text: told([_fibonacci(int(text)) % (10**9 + 7)]), "a remainder",
    ),
    Problem(
        ("n = int(input())\nprint(*[k for k in range(2, n) if all(k % d for d in range(2, k))])",
         [("range(2, n)", "range(2, n + 1)"), ("range(2, n)", "range(1, n)")]),
        (HEAD + 'int main() { int n; scanf("%d", &n); for (int k = 2; k < n; k++) { bool p = true; for (int d = 2; d < k; d++) p = p && k % d; if (p) printf("%d ", k); } }',
         [("k < n", "k <= n"), ("int k = 2", "int k = 1")]),
        ["2\n", "3\n", "29\n"],
        lambda text: told(k for k in range(2, int(text)) if math.gcd(math.factorial(k - 1), k) == 1),
        "nothing is right where there is nothing",
    ),
    Problem(
        ("xs = list(map(float, input().split()))\nprint(sum(xs) / len(xs))",
         [(" / ", " // "), ("sum(xs) / len(xs)", "round(sum(xs) / len(xs), 2)"), ("len(xs)", "(len(xs) + 1)")]),
        (HEAD + 'int main() { double x, s = 0; int n = 0; while (scanf("%lf", &x) == 1) { s += x; n++; } printf("%.9f\\n", s / n); }',
         [("%.9f", "%.2f"), ("n = 0", "n = 1")]),
        ["1 2 4\n", "0.1 0.2\n", "-3\n"],
        lambda text: f"{math.fsum(map(float, text.split())) / len(text.split()):.12f}\n", "within a tolerance",
        {"tolerance": 1e-6},
    ),
    Problem(
        ("xs = list(map(int, input().split()))\nbest = here = xs[0]\nfor x in xs[1:]:\n    here = max(x, here + x)\n    best = max(best, here)\nprint(best)",
         [("max(x, here + x)", "here + x"), ("best = max(best, here)", "best = here"), ("here = xs[0]", "here = 0")]),
        (HEAD + 'int main() { long best = -1000000, here = -1000000, x; while (scanf("%ld", &x) == 1) { here = here > 0 ? here + x : x; if (here > best) best = here; } printf("%ld\\n", best); }',
         [("here > 0", "here < 0"), ("best = -1000000", "best = 0")]),
        ["1 -2 3 4\n", "-3 -1 -2\n", "5\n"],
        lambda text: told([best(numbers(text))]), "all may be negative",
    ),
    Problem(
        ("text = open(0).read()\nprint(sum(text.count(c) for c in 'aeiou'))",
         [("'aeiou'", "'aeio'"), ("open(0).read()", "input()")]),
        (HEAD + '#include <cstring>\nint main() { int c, n = 0; while ((c = getchar()) != EOF) if (strchr("aeiou", c)) n++; printf("%d\\n", n); }',
         [('"aeiou"', '"aeio"'), ("EOF", "10")]),
        ["hello you\nand me\n", "xyz", "une\n\nidee\n"],
        lambda text: told([len([c for c in text if c in set("uoiea")])]), "several lines of input",
    ),
    Problem(
        ("n = int(input())\nfor k in range(1, n + 1):\n    print(' ' * (n - k) + '*' * k)",
         [("' ' * (n - k) + ", ""), ("'*' * k", "'*' * k + '.'"), ("range(1, n + 1)", "range(n)")]),
        (HEAD + 'int main() { int n; scanf("%d", &n); for (int k = 1; k <= n; k++) { printf("%*s", n - k, ""); for (int j = 0; j < k; j++) putchar(42); puts(" "); } }',
         [('"%*s", n - k, ""', '"%s", ""'), ("j < k", "j <= k")]),
        ["1\n", "4\n"],
        lambda text: "\n".join(("*" * k).rjust(int(text)) for k in range(1, int(text) + 1)),
        "a picture: spaces before a line count, those after it don't", {"compare": "lines"},
    ),
    Problem(
        ("import sys\nsys.stdout.write(format(int(input()), 'b'))",
         [("'b'", "'o'"), ("sys.stdout.write(format(int(input()), 'b'))", "print(format(int(input()), 'b'))")]),
        (HEAD + 'int main() { unsigned n; scanf("%u", &n); char b[40]; int k = 0; do b[k++] = 48 + n % 2; while (n /= 2); while (k) putchar(b[--k]); }',
         [("n % 2", "n % 3"), ("putchar(b[--k]);", 'putchar(b[--k]); puts("");')]),
        ["6\n", "0\n", "1023\n"], lambda text: f"{int(text):b}", "exactly these bytes", {"compare": "exact"},
    ),
    Problem(
        ("rows = [line.split() for line in open(0)]\nfor column in zip(*rows):\n    print(*column)",
         [("zip(*rows)", "rows"), ("print(*column)", "print(*column[::-1])")]),
        (HEAD + "#include <sstream>\n#include <vector>\n#include <string>\n#include <iostream>\n"
         "int main() { std::vector<std::vector<std::string>> r; std::string l, w; while (std::getline(std::cin, l)) { std::istringstream s(l); r.emplace_back(); while (s >> w) r.back().push_back(w); }\n"
         "for (size_t j = 0; j < r[0].size(); j++) { for (auto &x : r) std::cout << x[j] << ' '; std::cout << '\\n'; } }",
         [("x[j]", "x[0]")]),
        ["1 2 3\n4 5 6\n", "7\n"],
        lambda text: "\n".join(" ".join(line.split()[j] for line in text.splitlines()) for j in range(len(text.splitlines()[0].split()))),
        "a table, by its lines", {"compare": "lines"},
    ),
)  # fmt: skip


def _fibonacci(n: int) -> int:
    """The n-th number of Fibonacci, by an integer generating function."""
    return pow(2 << n, n + 1, (4 << 2 * n) - (2 << n) - 1) % (2 << n)


def task_of(problem: Problem, language: str) -> dict[str, Any]:
    """The task that asks for a program."""
    named = {} if language == "python" else {"language": language}
    outputs = [problem.truth(text) for text in problem.inputs]
    return {"inputs": list(problem.inputs), "outputs": outputs, **problem.more, **named}


def _is_right(source: str, task: dict[str, Any]) -> bool:
    """Whether a harmless program of this file is right, run here and compared by other means."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        command = [sys.executable, "-I", "main.py"]
        (folder / ("main.cpp" if "language" in task else "main.py")).write_text(source)
        if "language" in task:
            subprocess.run(["g++", "-O2", "-std=c++17", "main.cpp"], cwd=place, check=True)  # noqa: S607
            command = ["./a.out"]
        return all(
            _alike(_run(command, place, given), wanted, task)
            for given, wanted in zip(task["inputs"], task["outputs"], strict=True)
        )


def demand(source: str, task: dict[str, Any], *, is_right: bool) -> None:
    """See that a program of this file is what it is called."""
    if _is_right(source, task) is not is_right:
        raise AssertionError(source)


def _run(command: list[str], place: str, given: str) -> str | None:
    done = subprocess.run(
        command, cwd=place, input=given, capture_output=True, text=True, check=False
    )
    return None if done.returncode else done.stdout


def _alike(said: str | None, wanted: str, task: dict[str, Any]) -> bool:
    if said is None:
        return False
    if task.get("compare") == "exact":
        return said == wanted
    if task.get("compare") == "lines":
        return _lines(said) == _lines(wanted)
    pairs = itertools.zip_longest(said.split(), wanted.split(), fillvalue="")
    if "tolerance" in task:
        return all(a and b and abs(float(a) - float(b)) <= task["tolerance"] for a, b in pairs)
    return all(a == b for a, b in pairs)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def problems(key: Key) -> None:
    """Right programs, and wrong ones that are one edit away."""
    for turn, problem in enumerate(PROBLEMS):
        for language, (right, edits), frames in (
            ("python", problem.python, PYTHON_FRAMES), ("c++17", problem.cpp, CPP_FRAMES),
        ):  # fmt: skip
            task, why = task_of(problem, language), f"{problem.why}, {language}"
            demand(right, task, is_right=True)
            key.add(frames[turn % 3] % right, task, YES, why, GENERATED)
            for place, (old, new) in enumerate(edits):
                wrong = right.replace(old, new, 1)
                demand(wrong, task, is_right=False)
                frame = frames[(turn + place + 1) % 3]
                key.add(frame % wrong, task, NO, f"{why}; one edit away: {new}", GENERATED)


ECHO = "print(open(0).read())"
ECHO_CPP = HEAD + "int main() { int c; while ((c = getchar()) != EOF) putchar(c); }"


def shapes(key: Key) -> None:
    """What is the same on standard output, and what is not."""
    for given, wanted, outcome, why, more in (
        ("1 2", "1  2\n\n", YES, "space between words does not count", {}),
        ("1 2", "1\n2", YES, "lines don't count among words", {}),
        ("1 2", "1\n2", NO, "lines count where lines are compared", {"compare": "lines"}),
        ("1  2", "1 2", NO, "space within a line counts there", {"compare": "lines"}),
        ("12", "1 2", NO, "words are apart", {}),
        ("1", "1.0", NO, "another number as text", {}),
        ("1", "1.0", YES, "the same number within a tolerance", {"tolerance": 1e-9}),
        ("1.0", "1", YES, "a whole number that is written as a float", {"tolerance": 1e-9}),
        ("1000000001", "1000000000", NO, "a whole number has no tolerance", {"tolerance": 1e-6}),
        ("1000000000.5", "1000000000", NO, "nor has it where a float is told", {"tolerance": 1e-6}),
        ("1.1", "1.0", NO, "beyond the tolerance", {"tolerance": 0.05}),
        ("yes 0.50000001", "yes 0.5", YES, "words beside numbers", {"tolerance": 1e-6}),
        ("Yes 0.5", "yes 0.5", NO, "a tolerance is for numbers", {"tolerance": 1e-6}),
        ("nan", "1.0", NO, "no number", {"tolerance": 1e9}),
        ("inf", "1.0", NO, "infinity", {"tolerance": 1e9}),
        ("1e400", "1.0", NO, "a number that no float holds", {"tolerance": 1e9}),
        ("1_0", "10.0", NO, "no number but in Python", {"tolerance": 1e-6}),
        ("1 2 3", "1 2", NO, "one more", {}),
        ("1", "1 2", NO, "one less", {}),
        ("yes", "YES", NO, "another case", {}),
        ("größe", "größe", YES, "letters beyond ASCII", {}),
        ("", "0", NO, "nothing", {}),
        ("a\tb\r\nc", "a b\nc\n", YES, "tabs, and lines that end in two characters", {}),
        ("a  \nb\n\n", "a\nb", YES, "space at the ends of lines", {"compare": "lines"}),
        (" a\nb", "a\nb", NO, "space before a line", {"compare": "lines"}),
        ("5e-1 -.25", "0.5 -0.25", YES, "numbers in other forms", {"tolerance": 1e-9}),
        ("-7.000", "-7", YES, "a whole number with a point", {"tolerance": 1e-9}),
        ("-7.001", "-7", NO, "nearly a whole number", {"tolerance": 0.1}),
    ):  # fmt: skip
        key.add(ECHO, {"inputs": [given], "outputs": [wanted], **more}, outcome, why, "convention")
    task: dict[str, Any] = {"inputs": ["a\n"], "outputs": ["a\n"]}
    for said, why in (
        ("", "no program"),
        ("I can't do this.", "words instead of a program"),
        ("print(open(0).read()", "it does not compile"),
        (ECHO + "\nraise SystemExit(1)", "right, and then a status that is not 0"),
        (ECHO + "\nraise ValueError", "right, and then an exception"),
        ("import sys\nsys.stderr.write(sys.stdin.read())", "on the other stream"),
        (f"```cpp\n{ECHO_CPP}\n```", "another language than was asked for"),
    ):
        key.add(said, task, NO, why, "convention")
    task = {**task, "language": "c++17"}
    key.add(ECHO_CPP, task, YES, "an echo", "convention")
    for said, why in (
        (f"```python\n{ECHO}\n```", "another language than was asked for, C++"),
        (ECHO_CPP.replace("getchar()", "getcher()"), "a name that is not known"),
        (ECHO_CPP.replace("int main", "int mein"), "it can't be linked"),
        (ECHO_CPP.replace("; }", "; return 1; }"), "right, and then a status that is not 0, C++"),
        (ECHO_CPP.replace("; }", "; __builtin_trap(); }"), "right, and then a crash"),
        (ECHO_CPP.replace("; }", '; throw "a"; }'), "right, and then an exception, C++"),
        (ECHO_CPP.replace("putchar(c)", "fputc(c, stderr)"), "on the other stream, C++"),
    ):
        key.add(said, task, NO, why, "convention")


def abstentions(key: Key) -> None:
    """Tasks that make no sense."""
    plain: dict[str, Any] = {"inputs": ["a"], "outputs": ["a"]}
    key.broken(
        ECHO,
        (
            ({}, "inputs", "no task"),
            ({"inputs": ["a"]}, "outputs", "no outputs"),
            ({"inputs": [], "outputs": []}, "inputs", "no tests"),
            ({"inputs": ["a", "b"], "outputs": ["a"]}, "1 outputs", "one output less"),
            ({"inputs": ["a"], "outputs": [1]}, "outputs", "a number that is no text"),
            ({"inputs": ["a", "b"], "outputs": ["", " \n"]}, "nothing", "nothing is expected"),
            ({**plain, "compare": "roughly"}, "compare", "an unknown comparison"),
            ({**plain, "compare": "exact", "tolerance": 0.1}, "tolerance", "exact within a tolerance"),
            ({**plain, "tolerance": -1.0}, "tolerance", "a negative tolerance"),
            ({**plain, "language": "c++98"}, "c++98", "a language that the verifier does not have"),
            ({**plain, "limits": {"cpu": 1000}}, "cpu", "more time than is allowed"),
            ({**plain, "outputs": ["a" * 20], "limits": {"output": 10}}, "output", "more is expected than may be written"),
        ),
    )  # fmt: skip


def hostile(key: Key) -> None:
    """Programs that try to be paid without the answer, or to break what judges them."""
    task = {"inputs": ["1\n", "2\n"], "outputs": ["1\n", "2\n"], "limits": QUICK}
    for said, why in (
        ("while True: print('1 2')", "it floods"),
        ("import os\nwhile True: os.fork()", "it forks without end"),
        ("while True: pass", "it loops"),
        ("import time\ntime.sleep(60)", "it sleeps"),
        ("x = bytearray(1 << 40)", "it takes all memory"),
        ("import os\nos.kill(os.getpid(), 9)", "it ends itself"),
        ("import os\nos.kill(-1, 9)", "it ends everybody"),
        ("print('PASSED 2 passed')\nraise SystemExit(0)", "it says that it passed"),
        (
            "import os\nfor n in range(3, 200):\n    try: os.write(n, b'v1')\n    except OSError: pass",
            "it writes to all that is open",
        ),
        (
            "import glob\nfor f in glob.glob('/proc/*/cmdline'): print(open(f).read())",
            "it looks at other processes",
        ),
        ("print(open('/etc/shadow').read())", "it reads a file of the machine"),
        ("print('\\x1b]0;owned\\x07\\x1b[2J')", "it writes what a terminal obeys"),
        ("print('\\0' * 1000)", "it writes NUL"),
        (
            "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 9)",
            "it writes what is no text",
        ),
    ):
        key.hostile(said, task, why)
    key.hostile(binary(b"\xff\xfeprint(1)"), task, "a program that is no text")
    key.hostile([["#", 300000]], task, "a program that is too long")
    task = {**task, "language": "c++17"}
    for body, why in (
        ('#include "/etc/passwd"\nint main() {}', "it includes a file of the machine"),
        ('#include "/etc/shadow"\nint main() {}', "it includes a secret"),
        ('#include "/proc/self/environ"\nint main() {}', "it includes the compiler's environment"),
        ('#include "/dev/zero"\nint main() {}', "it includes a file without end"),
        ('#include "main.cpp"\nint main() {}', "it includes itself"),
        ('asm(".incbin \\"/etc/shadow\\"");\nint main() {}', "the assembler includes a file"),
        ('asm(".fill 2000000000, 1, 0");\nint main() {}', "the assembler fills the disk"),
        ("template<int n> struct A { static const int v = A<n - 1>::v + A<n - 2>::v; };\nint main() { return A<1000000>::v; }", "templates without end"),
        ("template<int n, class T> struct A { static const int v = A<n - 1, A<n, T>>::v + A<n - 1, T>::v; };\ntemplate<class T> struct A<0, T> { static const int v = 1; };\nint main() { return A<22, int>::v; }", "templates that double each time"),
        ("constexpr int f() { long n = 0; while (true) n++; return 1; }\nconstexpr int x = f();\nint main() {}", "a constant without end"),
        ("char a[2000000000] = {1};\nint main() { return a[5]; }", "a program of 2 GB"),
        ("#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\n#define C(x) B(B(B(x)))\nint main() { C(C(;)) }", "macros that grow without end"),
        ("#pragma GCC system_header\n#error secret\nint main() {}", "an error of its own words"),
        ('#line 1 "/etc/shadow"\nint main() { return x; }', "an error in another file's name"),
        ("#error \x1b]0;owned\x07\x1b[2J\nint main() {}", "an error that a terminal obeys"),
        ('asm(".section .interp,\\"a\\"\\n.ascii \\"/etc/hostname\\\\0\\"\\n.text");\nint main() {}', "a loader that is none"),
        ("int main() { return 0; }\nextern int none; int *p = &none;", "it can't be linked, on purpose"),
        ("#include <unistd.h>\nint main() { while (1) fork(); }", "it forks without end, C++"),
        ("int main() { for (;;) ; }", "it loops, C++"),
        ('#include <cstdio>\nint main() { for (;;) puts("1 2"); }', "it floods, C++"),
        ("#include <cstdlib>\n#include <cstring>\nint main() { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }", "it takes all memory, C++"),
        ("int f(int n) { volatile char a[4096]; a[0] = n; return f(n + 1) + a[0]; }\nint main() { return f(0); }", "it overflows its stack"),
        ("#include <signal.h>\nint main() { kill(-1, SIGKILL); }", "it ends everybody, C++"),
        ('#include <cstdio>\n__attribute__((constructor)) void early() { puts("PASSED"); }\nint main() {}', "it says that it passed, before it begins"),
    ):  # fmt: skip
        key.hostile(body, task, why)


def later(key: Key) -> None:
    """Cases that were added when the key had been frozen."""
    task: dict[str, Any] = {"inputs": ["1", "2", "3", "4"], "outputs": ["1", "2", "3", "4"]}
    for said, share in (("print(1)", 0.25), ("print(min(int(input()), 3))", 0.75), ("pass", 0.0)):
        key.add(said, task, NO, f"{share} of the tests", "convention", score=[share, share])
    key.add(ECHO, task, YES, "all of the tests", "convention", score=[1.0, 1.0])
    key.add(
        ECHO, task, NO, "no time is left after the first test", "convention",
        score=[0.25, 0.25], settings={"total": 1e-9},
    )  # fmt: skip
    for settings, reason, why in (
        ({"total": 0.0}, "total", "no time at all"),
        ({"languages": []}, "languages", "no language"),
        ({"languages": "python"}, "languages", "a language that stands in no list"),
        ({"languages": ["python", "python"]}, "one name", "a language twice"),
        ({"languages": ["pythons"]}, "pythons", "a language that there is not"),
    ):
        key.add(ECHO, task, UNKNOWN, why, "convention", reason=reason, settings=settings)
    key.add(
        ECHO, {**task, "language": "python"}, YES, "the language is named", "convention",
        settings={"languages": ["python"]},
    )  # fmt: skip


def code_stdio(key: Key) -> None:
    """All cases."""
    for maker in (problems, shapes, abstentions, hostile, later):
        maker(key)


if __name__ == "__main__":
    write({"code-stdio": code_stdio}, sys.argv[1:])
