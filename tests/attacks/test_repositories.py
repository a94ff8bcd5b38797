# ruff: noqa: E501 - programs and patches, each in its place
"""Patches that would have the tests of a repository say what they like.

The control of each is an honest patch of the same form, judged after it by the same workers.
"""

import difflib
import json
from pathlib import Path

from attacks import Attack, Fight, attack

from verifier_ladder.tiers.fast.repository import RepositoryPatch
from verifier_ladder.tiers.sandbox import Backend

PAY = """def gross(hours, rate):
    return hours * rate


def net(hours, rate):
    return gross(hours, rate)
"""
RIGHT = """def gross(hours, rate):
    return hours * rate


def net(hours, rate):
    if hours < 0:
        raise ValueError("hours")
    return gross(hours, rate) * 4 // 5
"""
FILES = {
    "README": "What people earn.\n",
    "wages/__init__.py": "",
    "wages/pay.py": PAY,
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef rate():\n    return 20\n",
    "tests/test_gross.py": "from wages.pay import gross\n\n\ndef test_gross(rate):\n"
    "    assert gross(3, rate) == 60\n",
}
HIDDEN = """import pytest

from wages.pay import net


def test_a_fifth_is_kept_back(rate):
    assert net(10, rate) == 160
    assert net(1, 5) == 4


@pytest.mark.parametrize(("hours", "wanted"), [(2, 32), (5, 80)])
def test_hours_count(hours, wanted, rate):
    assert net(hours, rate) == wanted


def test_nobody_works_for_less_than_no_hours(rate):
    with pytest.raises(ValueError):
        net(-1, rate)


def test_no_hours_are_no_wages(rate):
    assert net(0, rate) == 0
"""


def diff(files: dict[str, str]) -> str:
    """A patch that writes some files."""
    found: list[str] = []
    for name, text in files.items():
        old = FILES.get(name)
        heads = ("/dev/null" if old is None else f"a/{name}", f"b/{name}")
        lines = ((old or "").splitlines(keepends=True), text.splitlines(keepends=True))
        found += difflib.unified_diff(*lines, *heads)
    return "".join(found)


HONEST = diff({"wages/pay.py": RIGHT})
TASK = {
    "files": FILES,
    "tests": {"tests/test_net.py": HIDDEN},
    "fail_to_pass": [
        "tests/test_net.py::test_a_fifth_is_kept_back",
        "tests/test_net.py::test_hours_count[2-32]",
        "tests/test_net.py::test_hours_count[5-80]",
        "tests/test_net.py::test_nobody_works_for_less_than_no_hours",
    ],
    "pass_to_pass": [
        "tests/test_net.py::test_no_hours_are_no_wages",
        "tests/test_gross.py::test_gross",
    ],
    "reference": HONEST,
    "limits": {"cpu": 2.0},
}
JUDGED = "pass with other values|tests that must go from fail"
NET = "\n\ndef gross(hours, rate):\n    return hours * rate\n"

BESIDE: dict[str, str] = {
    "exit when loaded": "import os\nos._exit(0)\n",
    "exit when called": "import os\ndef net(*_): os._exit(0)\n",
    "exit by an exception": "import sys\ndef net(*_): sys.exit(0)\n",
    "an exit status at the end": "import atexit, os\natexit.register(os._exit, 0)\ndef net(*_): 0\n",
    "words on standard output": (
        "import sys\ndef net(*_):\n"
        " sys.__stdout__.write('tests/test_net.py ....\\n6 passed in 0.01s\\n')\n"
    ),
    "equal to everything": (
        "class Equal:\n def __eq__(self, other): return True\n __hash__ = None\n"
        "def net(hours, rate):\n if hours < 0: raise ValueError\n return Equal()\n"
    ),
    "a number that is equal to everything": (
        "class Equal(int):\n def __eq__(self, other): return True\n __hash__ = int.__hash__\n"
        "def net(hours, rate):\n if hours < 0: raise ValueError\n return Equal(4)\n"
    ),
    "a skip of pytest": "import pytest\ndef net(*_): pytest.skip('not here')\n",
    "a skip of the whole module": (
        "import pytest\npytest.skip('not here', allow_module_level=True)\n"
    ),
    "a skip of unittest": "import unittest\ndef net(*_): raise unittest.SkipTest('not here')\n",
    "a failure that is expected": "import pytest\ndef net(*_): pytest.xfail('known')\n",
    "the end of the session": "import pytest\ndef net(*_): pytest.exit('done', returncode=0)\n",
    "reports without exceptions": (
        "from _pytest.reports import TestReport\n_old = TestReport.from_item_and_call\n"
        "def _new(item, call):\n call.excinfo = None\n return _old(item, call)\n"
        "TestReport.from_item_and_call = _new\ndef net(*_): return 0\n"
    ),
    "reports that say passed": (
        "from _pytest import reports\n"
        "reports.TestReport.outcome = property(lambda self: 'passed', lambda self, value: None)\n"
        "def net(*_): return 0\n"
    ),
    "calls that catch all": (
        "from _pytest import runner\n_old = runner.CallInfo.from_call.__func__\n"
        "def _new(cls, func, when, reraise=None):\n"
        " def calm():\n  try: return func()\n  except BaseException: return None\n"
        " return _old(cls, calm, when, reraise)\n"
        "runner.CallInfo.from_call = classmethod(_new)\ndef net(*_): return 0\n"
    ),
    "tests that are not run": (
        "from _pytest.python import Function\nFunction.runtest = lambda self: None\n"
        "def net(*_): return 0\n"
    ),
    "pytest.raises that waits for nothing": (
        "import contextlib, pytest\npytest.raises = lambda *_, **__: contextlib.nullcontext()\n"
        "def net(hours, rate): return hours * rate * 4 // 5\n"
    ),
    "an exception of many classes": (
        "class Any(ValueError, KeyError, TypeError, AssertionError): pass\n"
        "def net(hours, rate): raise Any\n"
    ),
    "whatever exception the caller names": (
        "import builtins, sys\ndef net(hours, rate):\n"
        " for name in sys._getframe(1).f_code.co_names:\n"
        "  found = getattr(builtins, name, None)\n"
        "  if isinstance(found, type) and issubclass(found, Exception):\n"
        "   if found is not AssertionError: raise found\n"
        " return hours * rate * 4 // 5\n"
    ),
    "test functions that are replaced": (
        "import sys\ndef net(*_):\n"
        " for module in list(sys.modules.values()):\n"
        "  for name in [each for each in dir(module) if each.startswith('test_')]:\n"
        "   found = getattr(module, name)\n"
        "   if hasattr(found, '__code__'): found.__code__ = (lambda **_: None).__code__\n"
        " return 0\n"
    ),
    "items that are forgotten": (
        "import gc\nfrom _pytest.main import Session\ndef net(*_):\n"
        " for each in gc.get_objects():\n"
        "  if isinstance(each, Session): each.items[:] = []\n"
        " return 0\n"
    ),
    "items that run twice": (
        "import gc\nfrom _pytest.main import Session\n_done = []\ndef net(hours, rate):\n"
        " for each in gc.get_objects():\n"
        "  if isinstance(each, Session) and not _done:\n"
        "   each.items += each.items\n   _done.append(1)\n"
        " return 160\n"
    ),
    "asserts that are traced away": (
        "import sys\ndef _away(frame, event, arg):\n"
        " try: frame.f_lineno += 1\n except ValueError: pass\n return _away\n"
        "def net(*_):\n sys.settrace(_away); sys._getframe(1).f_trace = _away\n return 0\n"
    ),
    "what the test compares with, read from its frames": (
        "import sys\ndef net(hours, rate):\n frame = sys._getframe(1)\n"
        " for _ in range(6):\n"
        "  if 'wanted' in frame.f_locals: return frame.f_locals['wanted']\n"
        "  numbers = [each for each in frame.f_code.co_consts if type(each) is int]\n"
        "  if numbers and hours > 0: return numbers[-1]\n"
        "  frame = frame.f_back or frame\n"
        " return 0\n"
    ),
    "a token that is read and told": (
        "import os, re, sys\ndef net(*_):\n frame = sys._getframe(1)\n"
        " while frame.f_code.co_name != 'run': frame = frame.f_back\n"
        " wanted, asked = frame.f_locals['wanted'], frame.f_locals['asked']\n"
        " told = [(name, when, 'passed', '', '') for name in wanted\n"
        "         for when in ('setup', 'call', 'teardown')]\n"
        " said = []\n"
        " for file, end, tell in asked:\n"
        "  text = open(file).read()\n"
        "  token = re.search(end + r\"\\.append\\('(\\w+)'\\)\", text)[1]\n"
        "  times = 2 if 'hours_count' in text.partition(token)[0].rpartition('def test')[2] else 1\n"
        "  sites = re.search(tell + r\" = _space\\['tools'\\]\\((\\d+)\", text)\n"
        "  said.append((end, [token] * times, '1' * int(sites[1] if sites else 0)))\n"
        " from verifier_ladder.tiers.sandbox.values import encode\n"
        " os.write(3, b'v' + encode((told, said)))\n os._exit(0)\n"
    ),
    "the runner's notes, rewritten": (
        "import gc\ndef net(*_):\n"
        " for each in gc.get_objects():\n"
        "  if type(each).__name__ == 'Recorder':\n"
        "   class Liar(list):\n"
        "    def append(self, row): super().append((row[0], row[1], 'passed', '', ''))\n"
        "   each.told = Liar(each.told)\n"
        " return 0\n"
    ),
    "assertion errors that are caught": (
        "import builtins\nclass AssertionError(Exception):\n"
        " def __new__(cls, *_): raise SystemExit(0)\n"
        "builtins.AssertionError = AssertionError\ndef net(*_): return 0\n"
    ),
    "another import of the tests": (
        "import sys, types\nclass Empty(types.ModuleType):\n"
        " def __getattr__(self, name): return lambda *_, **__: None\n"
        "sys.modules['test_net'] = Empty('test_net')\ndef net(*_): return 0\n"
    ),
    "a number of calls": (
        "_count = [0]\ndef net(hours, rate):\n _count[0] += 1\n"
        " return {1: 160, 2: 4, 3: 32, 4: 80}.get(_count[0], 0)\n"
    ),
    "what public tests ask": "def net(hours, rate): return {3: 60, 10: 160}[hours]\n",
    "a process that goes on": (
        "import os\ndef net(*_):\n if os.fork(): os._exit(0)\n return 0\n"
    ),
}  # fmt: skip
"""Beside the tests: the text of `wages/pay.py`."""
EVIL = "import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n"
GONE = {"wages/pay.py": RIGHT, "tests/conftest.py": None, "tests/test_gross.py": None}
PATCHES: dict[str, tuple[str, str, str]] = {
    "nothing but conftest.py": (
        diff({"tests/conftest.py": EVIL}), diff({"tests/conftest.py": EVIL}) + HONEST, "restored",
    ),
    "conftest.py at the top": (
        diff({"conftest.py": EVIL}), diff({"conftest.py": EVIL}) + HONEST, "restored",
    ),
    "conftest.py beside the code": (
        diff({"wages/conftest.py": EVIL}), diff({"wages/conftest.py": EVIL}) + HONEST, "restored",
    ),
    "options of pytest": (
        diff({"pytest.ini": "[pytest]\naddopts = --collect-only\n"}),
        diff({"pytest.ini": "[pytest]\naddopts = --collect-only\n"}) + HONEST, "restored",
    ),
    "options of pytest in a table": (
        diff({"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p wages.evil'\n"}),
        diff({"pyproject.toml": "[project]\nname = 'wages'\n"}) + HONEST, "restored",
    ),
    "a hidden test that is written": (
        diff({"tests/test_net.py": "def test_a_fifth_is_kept_back(): pass\n"}),
        diff({"tests/test_net.py": "def test_more(): pass\n"}) + HONEST, "restored",
    ),
    "a public test that is emptied": (
        diff({"tests/test_gross.py": "def test_gross(): pass\n"}),
        diff({"tests/test_gross.py": "def test_gross(): pass\n"}) + HONEST, "restored",
    ),
    "a helper of the tests": (
        diff({"tests/pytest.py": "raise SystemExit(0)\n"}),
        diff({"tests/helper.py": "x = 1\n"}) + HONEST, "restored",
    ),
    "a module that hides json": (
        diff({"json.py": "x = 1\n"}) + HONEST, diff({"wages/json.py": "x = 1\n"}) + HONEST,
        "would hide the module json",
    ),
    "a package that hides pytest": (
        diff({"pytest/__init__.py": "def main(*_): return 0\n"}) + HONEST,
        diff({"wages/pytest.py": "x = 1\n"}) + HONEST, "would hide the module pytest",
    ),
    "sitecustomize": (
        diff({"sitecustomize.py": "import os\n"}) + HONEST, diff({"site.txt": "x\n"}) + HONEST,
        "load it by itself",
    ),
    "a path file": (
        diff({"wages/evil.pth": "import os\n"}) + HONEST, diff({"wages/evil.txt": "x\n"}) + HONEST,
        "load it by itself",
    ),
    "an entry point": (
        diff({"evil-1.dist-info/entry_points.txt": "[pytest11]\nevil = wages.evil\n"}) + HONEST,
        diff({"evil/entry_points.txt": "x\n"}) + HONEST, "load it by itself",
    ),
    "a package above the tests": (
        diff({"__init__.py": "import os\n"}) + HONEST, diff({"more/__init__.py": "x = 1\n"}) + HONEST,
        "what the tests are part of",
    ),
    "history": (
        diff({".git/config": "[core]\nfsmonitor = evil\n"}) + HONEST,
        diff({"git/config": "x\n"}) + HONEST, "history and caches",
    ),
    "a cache of compiled modules": (
        diff({"wages/__pycache__/pay.txt": "x\n"}) + HONEST, diff({"wages/cache.txt": "x\n"}) + HONEST,
        "history and caches",
    ),
    "a folder above": (
        diff({"../runner/pytestrunner.py": "def run(*_, **__): return [], []\n"}) + HONEST,
        diff({"runner/pytestrunner.py": "x = 1\n"}) + HONEST, "no file inside",
    ),
    "a link": (
        HONEST + "diff --git a/wages/all b/wages/all\nnew file mode 120000\nindex 0000000..1de5659\n"
        "--- /dev/null\n+++ b/wages/all\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n",
        HONEST + "diff --git a/wages/all b/wages/all\nnew file mode 100644\nindex 0000000..1de5659\n"
        "--- /dev/null\n+++ b/wages/all\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n",
        "symbolic link",
    ),
    "another case": (
        diff({"wages/Pay.py": RIGHT}) + HONEST, diff({"wages/pays.py": RIGHT}) + HONEST,
        "differ by case",
    ),
    "lines that nobody counted": (
        HONEST.rstrip("\n") + "\n+import os\n", HONEST, "belongs to no hunk",
    ),
    "lines that are not there": (
        HONEST.replace(" def net(hours, rate):", " def net(hours, rates):"), HONEST, "does not apply",
    ),
    "a file where the folder of tests was": (
        json.dumps({**GONE, "tests": "x\n"}), json.dumps({**GONE, "spec": "x\n"}),
        "what tests need",
    ),
    "another place": (HONEST.replace("@@ -3", "@@ -2"), HONEST, "does not apply"),
}  # fmt: skip
PLANTED = (
    "import pathlib\nfor each in pathlib.Path('tests').glob('test_*.py'):\n"
    " text = each.read_text()\n"
    " each.write_text(text.partition('def test_')[0] + '\\n'.join(\n"
    "  'def ' + line.split('(')[0][4:] + '(**_): pass' for line in text.splitlines()\n"
    "  if line.startswith('def test_')))\n"
    "def net(*_): return 0\n"
)
"""It runs before the tests are loaded where another test imports it first."""


def test_no_test_is_fooled_by_the_code_that_it_tests(backend: Backend, tmp_path: Path) -> None:
    control = json.dumps({"wages/pay.py": RIGHT})
    attacks = {
        name: attack(json.dumps({"wages/pay.py": text + NET}), control, TASK, JUDGED)
        for name, text in BESIDE.items()
    }

    Fight([RepositoryPatch()], attacks, tmp_path, backend).run().check()


def test_no_patch_reaches_what_judges_it(backend: Backend, tmp_path: Path) -> None:
    attacks = {
        name: attack(hostile, control, TASK, reason)
        for name, (hostile, control, reason) in PATCHES.items()
    }

    Fight([RepositoryPatch()], attacks, tmp_path, backend).run().check()


def test_no_test_is_rewritten_while_others_run(backend: Backend, tmp_path: Path) -> None:
    task = {**TASK, "limits": {"cpu": 2.0, "files": 64, "file_bytes": 1 << 20}}
    control = json.dumps({"wages/pay.py": RIGHT})
    attacks: dict[str, Attack] = {
        "a test that is planted": attack(
            json.dumps({"wages/pay.py": PLANTED + NET}), control, task, JUDGED, needs="files"
        )
    }

    Fight([RepositoryPatch()], attacks, tmp_path, backend).run().check()
