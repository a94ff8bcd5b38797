"""Every example in a docstring of the package runs."""

import doctest
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

Require = Callable[[str, bool, str], None]
# Three folders, one import name: the package's own search path need not show the other two.
PACKAGES = ("verifier_ladder", "verifier_ladder.scheduler", "verifier_ladder.tiers")
SCRIPTS = ("__main__", "env", "versions")  # Run by their callers, not imported.


def modules(package: str) -> Iterator[str]:
    yield package
    for found in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        if found.name.rpartition(".")[2] in SCRIPTS and "migrations" in found.name:
            continue
        if found.ispkg:
            yield from modules(found.name)
        elif not found.name.endswith(".__main__"):
            yield found.name


NAMES = sorted({name for package in PACKAGES for name in modules(package)})


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_the_module_run(
    name: str, require: Require, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        missing = str(error.name)
        require(missing, missing.startswith("verifier_ladder"), f"{name} imports it")
        raise

    result = doctest.testmod(module)

    assert 0 == result.failed


def test_all_three_folders_are_read() -> None:
    assert {"verifier_ladder.keys", "verifier_ladder.scheduler.draws"} <= set(NAMES)
    assert any(name.startswith("verifier_ladder.tiers.fast.") for name in NAMES)
