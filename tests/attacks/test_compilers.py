# ruff: noqa: ISC004 - programs of some lines, each in its place
"""Programs that attack what compiles and starts them, with files and without."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from attacks import Fight, attack

from verifier_ladder.tiers.fast.codestdio import CodeStdio
from verifier_ladder.tiers.sandbox import Backend

HONEST = r"""
extern "C" int scanf(const char*, ...);
extern "C" int printf(const char*, ...);
int main() { int a, b; scanf("%d %d", &a, &b); printf("%d\n", a * b); }
"""
TASK = {"inputs": ["6 7\n"], "outputs": ["42\n"], "language": "c++17"}
AT_COMPILERS: dict[str, tuple[str, str]] = {
    "a file of the machine": ('#include "/etc/shadow"\nint main() {}', "does not compile"),
    "the compiler's environment": (
        '#include "/proc/self/environ"\nint main() {}',
        "does not compile|wrote nothing",
    ),
    "a file without end": ('#include "/dev/zero"\nint main() {}', "does not compile"),
    "a file that the assembler reads": (
        'asm(".incbin \\"/etc/shadow\\"");\nint main() {}',
        "does not compile",
    ),
    "a disk that the assembler fills": (
        'asm(".fill 2000000000, 1, 0");\nint main() {}',
        "does not compile",
    ),
    "an error in another file's name": (
        '#line 1 "/etc/shadow"\nint main() { return x; }',
        "does not compile",
    ),
    "an error that a terminal obeys": ("#error \x1b]0;owned\x07\x1b[2J\nint main() {}", "compile"),
    "a word before it begins": (
        'extern "C" int puts(const char*);\n'
        '__attribute__((constructor)) void early() { puts("PASSED"); }\nint main() {}',
        "test 1 of 1",
    ),
    "an end that looks well": (
        'extern "C" void _exit(int);\nint main() { _exit(0); }',
        "test 1 of 1",
    ),
    "its own file instead of its output": (
        'extern "C" int rename(const char*, const char*);\n'
        'int main() { return rename("program", "output"); }',
        "test 1 of 1",
    ),
    "a file by its number": ('#include "/proc/self/fd/0"\nint main() {}', "compile|wrote nothing"),
    "a file that the assembler reads line by line": (
        'asm(".include \\"/etc/passwd\\"");\nint main() {}',
        r"ended with status 1, and named no line of it$",
    ),
    "a header that is compiled already": (
        '#pragma GCC pch_preprocess "/usr/bin/g++"\nint main() {}',
        "compile|wrote nothing",
    ),
    "a plugin": (
        '#pragma GCC optimize ("fplugin=/box/main.cpp")\nint main() {}',
        "compile|wrote nothing",
    ),
    "messages without end": (
        f'#define M _Pragma("message(\\"{"x" * 400}\\")")\n'
        "#define A M M M M M M M M M M\n#define B A A A A A A A A A A\n"
        + "B B B B B B B B B B\n" * 3
        + "int main() {}",
        "the compiler wrote more than",
    ),
    "a gap without end": ('asm(".skip 1 << 40");\nint main() {}', "does not compile"),
    "a place far away": ("alignas(1 << 28) int far = 1;\nint main() { return far; }", ""),
    "a start of its own": (
        'extern "C" void _exit(int);\n'
        'extern "C" int __libc_start_main() { _exit(0); return 0; }\nint main() {}',
        "test 1 of 1: it wrote nothing",
    ),
    "an end in a destructor": (
        'extern "C" void _exit(int);\nstruct End { ~End() { _exit(0); } } end;\n'
        "int main() { return 1; }",
        "test 1 of 1: it wrote nothing",
    ),
    "an exception that nobody catches": ("int main() { throw 42; }", "test 1 of 1: it crashed"),
    "an end by a signal": (
        'extern "C" int raise(int);\nextern "C" int dprintf(int, const char*, ...);\n'
        'int main() { dprintf(1, "42\\n"); raise(9); }',
        "test 1 of 1: it crashed",
    ),
    "an answer among the errors": (
        'extern "C" int dprintf(int, const char*, ...);\nint main() { dprintf(2, "42\\n"); }',
        "test 1 of 1: it wrote nothing",
    ),
    "digits that only look so": (
        'extern "C" int puts(const char*);\nint main() { puts("\uff14\uff12"); }',
        "test 1 of 1",
    ),
    "a byte behind it": (
        'extern "C" long write(int, const void*, long);\nint main() { write(1, "42\\0", 3); }',
        "test 1 of 1",
    ),
    "what reports of it": (
        'extern "C" int open(const char*, int, ...);\nextern "C" int sprintf(char*, const char*, '
        '...);\nextern "C" int dprintf(int, const char*, ...);\nint main() {\n'
        " for (int p = 0; p < 8; p++) for (int n = 0; n < 64; n++) {\n"
        '  char at[64]; sprintf(at, "/proc/%d/fd/%d", p, n);\n'
        '  dprintf(open(at, 1), "{\\"status\\": 0, \\"kept\\": {}}42\\n"); } }',
        "test 1 of 1",
    ),
    "a child that goes on": (
        # Two lines are there when it ends: one alone would be the right answer.
        'extern "C" int fork();\nextern "C" int dprintf(int, const char*, ...);\n'
        'extern "C" int pipe(int*);\nextern "C" long read(int, void*, unsigned long);\n'
        "int main() { int lines[2]; char one; pipe(lines);\n"
        '  if (!fork()) for (;;) { dprintf(1, "42\\n"); dprintf(lines[1], "x"); }\n'
        "  read(lines[0], &one, 1); read(lines[0], &one, 1); }",
        "test 1 of 1",
    ),
}
"""Beside what the ledger must say."""


def test_no_program_is_right_by_how_it_is_compiled(
    backend: Backend, tmp_path: Path, require: Callable[..., None]
) -> None:
    require("g++", shutil.which("g++") is not None, "compiles C++")
    attacks = {
        name: attack(source, HONEST, TASK, reason, needs="files")
        for name, (source, reason) in AT_COMPILERS.items()
    }

    Fight([CodeStdio()], attacks, tmp_path, backend).run().check()


SLOW: dict[str, tuple[str, str]] = {
    "templates that double": (
        "template<int n, class T> struct A { static const int v = A<n - 1, A<n, T>>::v + "
        "A<n - 1, T>::v; };\ntemplate<class T> struct A<0, T> { static const int v = 1; };\n"
        "int main() { return A<40, int>::v; }",
        "does not compile",
    ),
    "a constant without end": (
        "constexpr int f() { long n = 0; while (n < 33000000) n++; return 1; }\n"
        "constexpr int g() { int n = 0; for (int i = 0; i < 99; i++) n += f(); return n; }\n"
        "constexpr int x = g();\nint main() { return x; }",
        "does not compile",
    ),
    "an assembler that repeats": (
        'asm(".rept 2000000000\\n.rept 2000000000\\n.endr\\n.endr");\nint main() {}',
        "does not compile",
    ),
    "a stop": ('extern "C" int raise(int);\nint main() { raise(19); }', "it ran longer than"),
    "a stop of all": (
        'extern "C" int kill(int, int);\nint main() { kill(-1, 19); raise_: goto raise_; }',
        "it (ran longer|used more) than",
    ),
    "deaf to the end of its time": (
        'extern "C" void (*signal(int, void (*)(int)))(int);\n'
        "int main() { for (int n = 1; n < 64; n++) signal(n, (void (*)(int))1); for (;;) ; }",
        "it (ran longer|used more) than",
    ),
}
"""What takes all the time that it may have."""


@pytest.mark.slow
def test_no_program_is_right_by_the_time_that_it_takes(
    backend: Backend, tmp_path: Path, require: Callable[..., None]
) -> None:
    require("g++", shutil.which("g++") is not None, "compiles C++")
    task = {**TASK, "limits": {"cpu": 2.0, "wall": 6.0}}
    attacks = {
        name: attack(source, HONEST, task, reason, needs="files")
        for name, (source, reason) in SLOW.items()
    }

    Fight([CodeStdio(compiling={"cpu": 5.0})], attacks, tmp_path, backend).run().check()
