# ruff: noqa: ISC004 - programs of some lines, each in its place
"""Programs that attack what compiles and starts them, with files and without."""

import shutil
from collections.abc import Callable
from pathlib import Path

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
