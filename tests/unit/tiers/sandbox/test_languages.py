"""Languages: a profile says how a program is made and started, and its compiler harms nobody."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from verifier_ladder.errors import CandidateError, ConfigError, SandboxError
from verifier_ladder.tiers.sandbox import Ending, Input, Limits, Sandbox, compiled
from verifier_ladder.tiers.sandbox.compiler import COMPILING
from verifier_ladder.tiers.sandbox.language import CPP17, LANGUAGES, MISSING, PYTHON, Language

SMALL = replace(COMPILING, cpu=1.0, wall=60.0, memory=256 << 20, file_bytes=2 << 20, output=4000)
SHELL = Language(
    "shell", "main.sh", runner=("sh", "main.sh"), version=("sh", "-c", "echo one shell")
)
ATTACKS = {
    "a file of the machine": '#include "/etc/passwd"\nint main() {}',
    "a file without end": '#include "/dev/zero"\nint main() {}',
    "itself": '#include "main.cpp"\nint main() {}',
    "a file, by the assembler": 'asm(".incbin \\"/etc/passwd\\"");\nint main() { return x; }',
    "a full disk": 'asm(".fill 2000000000, 1, 0");\nint main() {}',
    "a huge program": "char a[16000000] = {1};\nint main() { return a[5]; }",
    "deep templates": (
        "template<int n> struct A { static const int v = A<n - 1>::v; };\n"
        "int main() { return A<1000000>::v; }"
    ),
    "wide templates": (
        "template<int n, class T> struct A { static const int v = A<n - 1, A<n, T>>::v "
        "+ A<n - 1, T>::v; };\ntemplate<class T> struct A<0, T> { static const int v = 1; };\n"
        "int main() { return A<22, int>::v; }"
    ),
    "an endless constant": (
        "constexpr int f() { long n = 0; while (true) n++; return 1; }\n"
        "constexpr int x = f();\nint main() {}"
    ),
    "endless macros": (
        "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\n#define C(x) B(B(B(x)))\n"
        "int main() { C(C(;)) }"
    ),
    "a flood": "".join(f'#pragma message "{n:500}"\n' for n in range(99)) + "int main() {}",
    "a terminal": "#error \x1b]0;owned\x07\x1b[2J\nint main() {}",
}


@pytest.fixture
def _compiler(require: Callable[..., None]) -> None:
    require("g++", shutil.which("g++") is not None, "compiles C++")


def failed(sandbox: Sandbox, source: str, limits: Limits = SMALL) -> CandidateError | SandboxError:
    with pytest.raises((CandidateError, SandboxError)) as caught:
        compiled(sandbox, source, limits=limits)
    assert isinstance(caught.value, (CandidateError, SandboxError))
    return caught.value


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_by_the_compiler_is_the_candidates_own(name: str, sandbox: Sandbox) -> None:
    error = failed(sandbox, ATTACKS[name])

    if sandbox.strength == 1:  # Landlock gives no files: nothing is compiled, nobody is blamed.
        assert "no folder to write into" in str(error)
        return
    assert isinstance(error, CandidateError), error
    assert error.feedback.startswith("The program does not compile: ")
    assert error.feedback.isprintable()
    told = f"{error} {error.feedback}"
    assert not any(word in told for word in ("box:", ":/bin/sh", "/cc", "\x1b", "owned\x07"))


@pytest.mark.usefixtures("_compiler")
def test_feedback_is_the_first_error_in_the_program_itself(sandbox: Sandbox) -> None:
    if sandbox.strength == 1:
        return
    for source, words in (
        ("int main() {\n  return nothing;\n}", "line 2: .nothing. was not declared in this scope"),
        ("#include <vector>\nstd::vector<int> v(1, 2, 3, 4);\nint main() {}", "line 2: no match"),
        ("int f(); int main() { return f(); }", "undefined reference to .f"),
        ("int mein() {}", "undefined reference to .main"),
    ):
        error = failed(sandbox, source, COMPILING)

        assert isinstance(error, CandidateError), error
        assert re.search(words, error.feedback), error.feedback
        assert "/usr/" not in error.feedback


@pytest.mark.usefixtures("_compiler")
def test_a_compiler_of_another_version_than_in_the_key_judges_nobody(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match=r"it was g\+\+ 1\.0 where this check's key"):
        compiled(sandbox, "int main() {}", version="g++ 1.0")
    with pytest.raises(SandboxError, match=f"it was {MISSING} where"):
        compiled(sandbox, "int main() {}", version=MISSING)


def test_a_missing_compiler_is_nobodys_fault_and_says_what_to_install(sandbox: Sandbox) -> None:
    absent = Language(
        "c++26",
        "main.cpp",
        compiler=("no-such-compiler", "main.cpp"),
        install="apt-get install it",
    )

    assert absent.installed() == MISSING
    with pytest.raises(
        SandboxError, match=r"no-such-compiler .* is not installed: apt-get install"
    ):
        compiled(sandbox, "int main() {}", language=absent, version=absent.installed())


def test_a_compiler_that_makes_no_program_rejects(sandbox: Sandbox) -> None:
    if sandbox.strength == 1:
        return
    lazy = replace(SHELL, name="lazy", compiler=("true",))

    with pytest.raises(CandidateError, match="made no file program"):
        compiled(sandbox, "echo", language=lazy)


def test_a_language_of_ones_own_runs(sandbox: Sandbox) -> None:
    program = compiled(sandbox, "read n; echo $((n * n))", language=SHELL, version="one shell")

    (result,) = sandbox.run(program, [Input(stdin=b"12\n")])

    assert (Ending.FINISHED, b"144\n") == (result.ended, result.stdout), result


def test_python_runs_in_the_sandboxs_own(sandbox: Sandbox) -> None:
    program = compiled(sandbox, "print(int(input()) ** 2)", language=PYTHON)

    (result,) = sandbox.run(program, [Input(stdin=b"12\n")], Limits())

    assert (Ending.FINISHED, b"144\n") == (result.ended, result.stdout), result


def test_a_profile_is_data_and_comes_back_from_it() -> None:
    for language in (*LANGUAGES.values(), SHELL):
        assert language == Language.of(language.as_json())
    assert CPP17 is Language.of("c++17")
    assert PYTHON.installed().startswith("3.")
    assert ("shell",) == SHELL.fences
    assert MISSING == Language("x", "x", runner=("false",), version=("false",)).installed()


@pytest.mark.parametrize(
    "given",
    [
        "c++98",
        7,
        {"name": "c"},
        {"name": "c", "source": "main.c", "commands": []},
        {"name": "c", "source": "../main.c"},
        {"name": "", "source": "main.c"},
        {"name": "c", "source": "main.c", "compiler": "gcc main.c"},
        {"name": "c", "source": "main.c", "compiler": [1]},
        {"name": "c", "source": "main.c", "complaint": "("},
        {"name": "c", "source": "main.c", "complaint": "error"},
    ],
)
def test_what_is_no_language_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError):
        Language.of(given)
