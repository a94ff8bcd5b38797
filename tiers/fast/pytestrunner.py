"""Runs named tests of a repository with pytest, and tells what came of each.

It is sent into the sandbox as a file and imports nothing of this package. What it tells comes out
of a process that the repository's code can take over: evidence, not proof.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Collection, Generator, Sequence
from typing import Any

OWN = dict(vars(builtins))
"""Builtins as they were before any code of the repository was loaded."""
_LONGEST = 2000
_OPTIONS = (
    "-q", "--capture=sys", "--tb=short", "--no-header", "--continue-on-collection-errors",
    "-p", "no:cacheprovider", "-p", "no:faulthandler",
)  # fmt: skip


def run(
    folder: str, roots: Sequence[str], wanted: Sequence[str],
    asked: Sequence[tuple[str, str, str]], *, options: Sequence[str] = (), words: bool = False,
    packages: Sequence[str] = (),
) -> tuple[list[tuple[str, str, str, str, str]], list[tuple[str, list[str], str]]]:  # fmt: skip
    """Run tests.

    Args:
        folder: Where the repository lies.
        roots: Folders in it from which modules are imported.
        wanted: Ids of the tests, in the order in which they run.
        asked: Of each test function: its file, and what its list of tokens and the function that
            tells of its sites are called there.
        options: More options of pytest.
        words: Whether words are told: they may quote a test.
        packages: Folders with more packages.

    Returns:
        For each test and phase: id, phase, outcome, class of the exception, and words of it. For
        each function: its file's name for the list, the tokens, and what its sites say.
    """
    import pytest

    here = os.path.dirname(__file__)  # noqa: PTH120
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.chdir(folder)
    top = os.getcwd()  # noqa: PTH109
    others = [path for path in sys.path if path != here]
    sys.path[:] = [*(os.path.normpath(f"{top}/{root}") for root in roots), *others, *packages]
    recorder = _recorder(pytest, wanted, _LONGEST if words else 0)
    files = list(dict.fromkeys(each.partition("::")[0] for each in wanted))
    pytest.main([*_OPTIONS, f"--rootdir={top}", *options, *files], plugins=[recorder])
    modules = {file: recorder.modules.get(f"{top}/{file}") for file in files}
    return recorder.told, [(end, *_said(modules[file], end, tell)) for file, end, tell in asked]


def _said(module: Any, end: str, tell: str) -> tuple[list[str], str]:
    """Tokens and sites of a function, as far as its module was loaded."""
    if module is None:
        return [], ""
    return list(getattr(module, end, [])), str(getattr(module, tell, str)())


def _recorder(pytest: Any, wanted: Collection[str], longest: int) -> Any:
    """A plugin that runs what is wanted and nothing else, and notes what comes of it."""
    places = {each: place for place, each in enumerate(wanted)}

    class Recorder:
        def __init__(self) -> None:
            self.told: list[tuple[str, str, str, str, str]] = []
            self.modules: dict[str, Any] = {}

        @pytest.hookimpl(trylast=True)  # type: ignore[untyped-decorator]
        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            items[:] = sorted(
                (each for each in items if each.nodeid in places),
                key=lambda each: places[each.nodeid],
            )
            for each in items:
                module = getattr(each, "module", None)
                self.modules[str(getattr(module, "__file__", ""))] = module

        @pytest.hookimpl(wrapper=True)  # type: ignore[untyped-decorator]
        def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, Any]:
            report = yield
            outcome = "expected" if hasattr(report, "wasxfail") else report.outcome
            self._note(item.nodeid, report.when, outcome, call.excinfo, report)
            return report

        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                self._note(report.nodeid, "collect", "failed", None, report)

        def _note(self, name: str, when: str, outcome: str, error: Any, report: Any) -> None:
            kind = "" if error is None else error.type.__name__
            words = str(report.longrepr)[-longest:] if longest and outcome != "passed" else ""
            self.told.append((name, when, outcome, kind, words))

    return Recorder()
