"""Languages that a program may be written in: how a source becomes what the sandbox can run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from platform import python_version_tuple
from typing import Any

from verifier_ladder.errors import ConfigError
from verifier_ladder.text import printable

PROGRAM = "program"
"""The file that a compiler makes, in the folder that it is started in."""
MISSING = "not installed"
PATH = "/usr/bin:/bin"
"""Where commands are looked for, on the machine and in the sandbox."""
_SECONDS = 20.0
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Language:
    """A profile: commands, file names, and how its version and its errors are told.

    Without a `compiler` and a `runner` a program is run by the sandbox's own Python.

    Example:
        >>> Language("c17", "main.c", compiler=("gcc", "-std=c17", "-o", PROGRAM, "main.c")).runner
        ('./program',)
    """

    name: str
    source: str
    """The file that a program's source is written to."""
    compiler: tuple[str, ...] = ()
    """Makes the one file `program` of it; () where nothing is compiled."""
    runner: tuple[str, ...] = ()
    """Starts the program; `./program` where there is a compiler."""
    version: tuple[str, ...] = ()
    """Writes the version in its first line that is not blank; by default the first of the commands
    with `--version`."""
    fences: tuple[str, ...] = ()
    """What a fenced block of such a program may begin with, in lower case, beside nothing and
    the language's name."""
    complaint: str = ""
    """Regular expression that finds the first error in what a compiler writes: what it matches up
    to its group `said` is passed over, its group `line`, if any, is the line. It should find none
    in other files than the candidate's, for these are the machine's."""
    install: str = ""
    """What to do where a command is missing."""

    def __post_init__(self) -> None:
        """Take lists of texts, and fill in what follows from the rest.

        Raises:
            ConfigError: If a part makes no sense.
        """
        for name in ("compiler", "runner", "version", "fences"):
            given = getattr(self, name)
            if not isinstance(given, (list, tuple)) or not all(isinstance(x, str) for x in given):
                raise ConfigError(f"{name} of a language is a list of texts, not {given!r}")
            object.__setattr__(self, name, tuple(given))
        for name in ("name", "source"):
            if not re.fullmatch(r"[\w.+-]{1,60}", str(getattr(self, name))):
                raise ConfigError(f"{name} of a language can't be {getattr(self, name)!r}")
        if self.name not in self.fences:
            object.__setattr__(self, "fences", (*self.fences, self.name))
        _checked_pattern(self)
        if self.compiler and not self.runner:
            object.__setattr__(self, "runner", (f"./{PROGRAM}",))
        command = self.compiler or self.runner
        if command and not self.version:
            object.__setattr__(self, "version", (command[0], "--version"))

    @classmethod
    def of(cls, given: object) -> Language:
        """The language of a name, or one that is declared as a mapping of these fields.

        Raises:
            ConfigError: If there is none of this name, or a field makes no sense.

        Example:
            >>> Language.of("c++17").source
            'main.cpp'
        """
        if isinstance(given, Language):
            return given
        if isinstance(given, str) and given in LANGUAGES:
            return LANGUAGES[given]
        if isinstance(given, Mapping):
            try:
                return cls(**{str(key): value for key, value in given.items()})
            except TypeError:
                known = ", ".join(each.name for each in fields(cls))
                raise ConfigError(
                    f"a language has name and source, and may have {known}; got {given!r}"
                ) from None
        raise ConfigError(
            f"no language is {given!r}; there are {', '.join(LANGUAGES)}, or give a table with "
            "name, source, compiler or runner (Check code, A language of your own)"
        )

    def as_json(self) -> dict[str, Any]:
        """All of it, as `of` takes it."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    def installed(self) -> str:
        """The version of its tools on this machine, in one line; `not installed` for none."""
        if not self.version:
            return ".".join(python_version_tuple()[:2])
        try:
            done = subprocess.run(  # noqa: S603 - as the ladder's owner says
                self.version, env={"PATH": PATH, "LANG": "C.UTF-8"}, cwd="/", timeout=_SECONDS,
                stdin=subprocess.DEVNULL, capture_output=True, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return MISSING
        return version_in(done.stdout or done.stderr) if not done.returncode else MISSING

    def missing(self) -> str:
        """What is said where its tools are missing."""
        advice = f": {self.install}" if self.install else ""
        return f"{(self.version or ('python',))[0]} ({self.name}) is {MISSING}{advice}"


def version_in(written: bytes) -> str:
    r"""The first line that is not blank of what a command says of its version.

    Example:
        >>> version_in(b"\ng++ (Debian 12.2.0-14) 12.2.0\nCopyright")
        'g++ (Debian 12.2.0-14) 12.2.0'
    """
    lines = (printable(line, _SHOWN) for line in written.splitlines())
    return next(filter(None, lines), "unknown")


def _checked_pattern(language: Language) -> None:
    try:
        pattern = re.compile(language.complaint)
    except (re.error, TypeError) as error:
        raise ConfigError(f"complaint of {language.name} is no pattern: {error}") from None
    if language.complaint and "said" not in pattern.groupindex:
        raise ConfigError(f"complaint of {language.name} has no group (?P<said>…)")


PYTHON = Language("python", "main.py", fences=("python", "python3", "py", "py3"))
CPP17 = Language(
    "c++17",
    "main.cpp",
    compiler=(
        "g++", "-std=c++17", "-O2", "-pipe", "-fmax-errors=3", "-fno-diagnostics-show-caret",
        "-fdiagnostics-color=never", "-o", PROGRAM, "main.cpp",
    ),
    fences=("cpp", "c++", "cc", "cxx", "c++17", "cpp17", "c++14", "c++11"),
    complaint=(
        r"(?m)^(?:main\.cpp:(?P<line>\d+):(?:\d+:)? (?:fatal )?error: |cc1plus: |g\+\+: |"
        r"[^\n]*(?=undefined reference to |multiple definition of ))(?P<said>[^\n]*)"
    ),
    install="on Debian and Ubuntu: apt-get install g++",
)  # fmt: skip
LANGUAGES: Mapping[str, Language] = {each.name: each for each in (PYTHON, CPP17)}
"""Those that come along, by name."""
