"""A sandbox of each back end."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from verifier_ladder.errors import SandboxError
from verifier_ladder.tiers.sandbox import Input, Limits, Program, Result, Sandbox

BACKENDS = ("namespaces", "landlock")
_opened: dict[str, Sandbox | SandboxError] = {}
Run = Callable[..., Result]


@pytest.fixture(scope="session", autouse=True)
def _sandboxes() -> Iterator[None]:
    """Close what was opened."""
    yield
    for each in _opened.values():
        if isinstance(each, Sandbox):
            each.close()
    _opened.clear()


@pytest.fixture(params=BACKENDS)
def sandbox(request: pytest.FixtureRequest, require: Callable[..., None]) -> Sandbox:
    """A sandbox; the tests share one of each back end."""
    kind = str(request.param)
    if kind not in _opened:
        try:
            _opened[kind] = Sandbox.open(backends=(kind,))
        except SandboxError as error:
            _opened[kind] = error
    found = _opened[kind]
    require(f"the sandbox {kind}", isinstance(found, Sandbox), str(found))
    assert isinstance(found, Sandbox)
    return found


@pytest.fixture
def run(sandbox: Sandbox) -> Run:
    """`run(source, *args, entry=…, stdin=…, **limits)`: one result."""

    def once(
        source: str,
        *args: Any,
        entry: str = "main.py:solve",
        stdin: bytes = b"",
        argv: tuple[str, ...] = (),
        **limits: Any,
    ) -> Result:
        program = Program({"main.py": source}, entry=entry)
        given = Limits(**{"memory": 256 << 20, "cpu": 20.0, "wall": 100.0, **limits})
        (result,) = sandbox.run(program, [Input(args, stdin=stdin, argv=argv)], given)
        return result

    return once
