"""Commands that serve pages, started and ended by a test."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from json import loads
from pathlib import Path

import forked


@contextmanager
def serving(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> Iterator[str]:
    """The address of a command that tells it as JSON, until the block ends."""
    with forked.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment
    ) as process:
        assert process.stdout is not None
        told = ""
        while "}" not in told:
            line = process.stdout.readline()
            assert line, "it has ended"
            told += line
        yield str(loads(told)["url"])
        process.terminate()
