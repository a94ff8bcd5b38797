"""Digests of source code: what changes them, what does not, and what can't be digested."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.sourcecode import fingerprint

PLAIN = '''
import json
import math
import re
from dataclasses import dataclass
from functools import lru_cache, partial, wraps

LIMIT = 3
WORDS = {"please": 1.0, "thanks": 0.5}
PATTERN = re.compile("a+")


@dataclass(frozen=True)
class Scale:
    slope: float = 2.0


SCALE = Scale()


class Parser:
    base = 1

    def read(self, text):
        return depth(text) + self.base


def depth(text):
    return text.count("(") + LIMIT


def doubled(inner):
    @wraps(inner)
    def outer(*args, **kwargs):
        return [2 * value for value in inner(*args, **kwargs)]

    return outer


def made(least):
    def judge(completions, **columns):
        return [float(len(text) > least) for text in completions]

    return judge


@lru_cache
def price(text):
    return WORDS.get(text, 0.0)


@doubled
def judge(completions, scale=SCALE, **columns):
    """Say how deep."""
    # The deeper the better.
    def one(text):
        return f"{text!r:>{LIMIT}}" != "" and math.sqrt(Parser().read(text))

    return [one(text) + price(text) + len(PATTERN.findall(text)) for text in completions]


closed = made(4)
given = partial(closed, extra=[1, 2])
'''
_NUMBERS = itertools.count()


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., ModuleType]:
    """Import a text as a module of its own folder, under a name of its own."""

    def loaded(text: str, name: str | None = None) -> ModuleType:
        name = name or f"rewards_{next(_NUMBERS)}"
        path = tmp_path / f"{next(_NUMBERS)}" / f"{name}.py"
        path.parent.mkdir()
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    return loaded


def version(function: Any) -> str:
    return vl.wrap(function, name="judge").version


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ('"thanks": 0.5', '"thanks": 0.6'),
        ('re.compile("a+")', 're.compile("b+")'),
        ('re.compile("a+")', 're.compile("a+", re.I)'),
        ("slope: float = 2.0", "slope: float = 3.0"),
        ("SCALE = Scale()", "SCALE = Scale(9.0)"),
        ("base = 1", "base = 2"),
        ("self.base", "2 * self.base"),
        ('text.count("(")', 'text.count("[")'),
        ("[2 * value", "[3 * value"),
        ("@doubled\n", ""),
        ("WORDS.get(text, 0.0)", "WORDS.get(text, 1.0)"),
        ("math.sqrt", "math.exp"),
        ("completions]\n\n\nclosed", "completions[::-1]]\n\n\nclosed"),
        ("!r:>", "!s:>"),
    ],
)
def test_every_edit_that_may_change_a_reward_makes_another_version(
    load: Callable[..., ModuleType], old: str, new: str
) -> None:
    assert old in PLAIN

    assert version(load(PLAIN).judge) != version(load(PLAIN.replace(old, new)).judge)


@pytest.mark.parametrize(
    ("before", "reads"),
    [
        ("def helper(): return helper.slope\nhelper.slope = 1.0", "helper()"),
        ("class Words(dict): pass\nwords = Words(a=1)\nwords.slope = 1.0", "words.slope"),
        ("class Words(list): pass\nwords = Words([1])\nwords.slope = 1.0", "words.slope"),
        (
            (
                "from dataclasses import dataclass\n@dataclass\nclass Scale:\n    base: int = 0\n"
                "scale = Scale()\nscale.slope = 1.0"
            ),
            "scale.slope",
        ),
        (
            "class Meta(type):\n    def slope(cls): return 1.0\nclass Scale(metaclass=Meta): pass",
            "Scale.slope()",
        ),
    ],
)
def test_what_was_put_on_an_object_or_its_kind_makes_another_version(
    load: Callable[..., ModuleType], before: str, reads: str
) -> None:
    text = f"{before}\ndef judge(completions):\n    return [{reads}]\n"

    assert version(load(text).judge) == version(load(text).judge)
    assert version(load(text).judge) != version(load(text.replace("1.0", "2.0")).judge)


@pytest.mark.parametrize(
    "text",
    [
        (
            "class Base: __slots__ = ('slope',)\n"
            "class Judge(Base):\n    def __call__(self, completions): return [self.slope]\n"
            "judge = Judge()\njudge.slope = 1.0\n"
        ),
        (
            "import operator\nclass Judge: pass\n"
            "Judge.__call__ = operator.attrgetter('a' if 1.0 == 1.0 else 'b')\njudge = Judge()\n"
        ),
    ],
)
def test_a_callable_objects_slots_and_how_it_is_called_make_another_version(
    load: Callable[..., ModuleType], text: str
) -> None:
    before, after = load(text), load(text.replace("1.0", "2.0", 1))

    assert fingerprint(before.judge).digest == fingerprint(load(text).judge).digest
    assert fingerprint(before.judge).digest != fingerprint(after.judge).digest


PACKAGE = "def helper(text): return 1.0\ndef judge(completions): return [helper('')]\n"


@pytest.mark.parametrize(
    ("code", "raised", "is_known"),
    [
        (PACKAGE, "2.0", True),  # A new release, whatever it changed.
        (PACKAGE.replace("completions):", "completions, **columns):"), "1.0", True),
        (PACKAGE.replace("1.0", "2.0"), "1.0", False),  # Its helpers count by their release.
    ],
)
@pytest.mark.parametrize("distribution", ["installed_rewards", "rewards-of-mine"])
def test_a_function_of_an_installed_package_is_filed_under_its_release_and_source(
    tmp_path: Path, distribution: str, code: str, raised: str, *, is_known: bool
) -> None:
    before = installed(tmp_path / "before", distribution, PACKAGE, "1.0")
    after = installed(tmp_path / "after", distribution, code, raised)

    assert before == installed(tmp_path / "again", distribution, PACKAGE, "1.0")
    assert is_known is (before != after)
    assert not before.endswith("source-")


def test_functions_of_installed_packages_are_told_apart(tmp_path: Path) -> None:
    other = PACKAGE.replace("['']", "[]").replace("helper('')", "0.25")

    assert installed(tmp_path / "one", "one", PACKAGE, "1.0") != installed(
        tmp_path / "two", "two", other, "1.0"
    )


def installed(site: Path, distribution: str, code: str, release: str) -> str:
    """The version of a function in a package that an own process finds installed."""
    folder = site / "site-packages"
    told = folder / f"{distribution.replace('-', '_')}-{release}.dist-info"
    told.mkdir(parents=True)
    (folder / "installed_rewards.py").write_text(code)
    (told / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {release}\n"
    )
    (told / "top_level.txt").write_text("installed_rewards\n")
    script = (
        "import verifier_ladder as vl, installed_rewards\n"
        "print(vl.wrap(installed_rewards.judge).version)"
    )
    return subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(folder)},
    ).stdout.strip()  # fmt: skip


@pytest.mark.parametrize("name", ["closed", "given"])
@pytest.mark.parametrize(
    ("old", "new"), [("made(4)", "made(5)"), ("len(text) > least", "len(text) < least")]
)
def test_what_a_function_closes_over_makes_another_version(
    load: Callable[..., ModuleType], name: str, old: str, new: str
) -> None:
    before, after = load(PLAIN), load(PLAIN.replace(old, new))

    assert version(getattr(before, name)) != version(getattr(after, name))
    assert version(load(PLAIN).given) == version(before.given)
    assert version(before.given) != version(load(PLAIN.replace("[1, 2]", "[1, 3]")).given)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    # The deeper the better.\n", ""),
        ('"please": 1.0, "thanks"', "'please': 1.0,\n    'thanks'"),
        ("def depth(text):\n", "\n\n# How deep.\ndef depth(\n    text,\n):\n\n"),
        ("import json\n", "import json\nimport os\n"),
        ('return text.count("(") + LIMIT', "return (text.count('(') + (LIMIT))"),
    ],
)
def test_comments_layout_and_the_name_of_the_file_are_no_part_of_a_version(
    load: Callable[..., ModuleType], old: str, new: str
) -> None:
    assert old in PLAIN

    assert version(load(PLAIN).judge) == version(load(PLAIN.replace(old, new), "renamed").judge)


def test_a_function_that_is_moved_into_another_keeps_its_version(
    load: Callable[..., ModuleType],
) -> None:
    text = 'def judge(completions):\n    """Say\n\n    yes."""\n    return [1.0]\n'
    within = f"def make():\n{textwrap.indent(text, '    ')}\n    return judge\n"

    assert version(load(text).judge) == version(load(within).make())


def test_lambdas_of_one_line_are_told_apart(load: Callable[..., ModuleType]) -> None:
    text = "both = [lambda completions: [1.0], lambda completions: [2.0]]\n"
    first, second = load(text).both

    assert version(first) != version(second)
    assert version(first) == version(load(f"\n\n{text}").both[0])
    assert version(second) == version(load(text.replace("1.0", "3.0")).both[1])


def test_a_helper_of_another_module_counts_however_it_is_named(
    load: Callable[..., ModuleType],
) -> None:
    judges = [
        "import helpers\ndef judge(completions):\n    return [helpers.score(completions)]\n",
        "from helpers import score\ndef judge(completions):\n    return [score(completions)]\n",
        """
import helpers as h
class Judge:
    def __call__(self, completions):
        return [h.score(c) for c in completions]
judge = Judge()
""",
    ]
    for judge in judges:
        load("def score(text):\n    return 1.0\n", "helpers")
        before = version(load(judge).judge)
        load("def score(text):\n    return 1.0 # the same\n", "helpers")
        same = version(load(judge).judge)
        load("def score(text):\n    return 2.0\n", "helpers")

        assert before == same
        assert before != version(load(judge).judge)
    del sys.modules["helpers"]


def test_a_verifier_class_without_a_version_is_filed_under_its_source(
    load: Callable[..., ModuleType],
) -> None:
    text = (
        "import verifier_ladder as vl\nclass Judge(vl.Verifier):\n    name = 'judge'\n"
        "    def __init__(self, least=1):\n"
        "        super().__init__()\n        self.least = least\n"
        "    def verify(self, candidates):\n"
        "        return [len(c.content) > self.least for c in candidates]\n"
    )
    judge = load(text).Judge

    assert judge().version == load(f"# the same\n{text}").Judge().version
    assert judge().version != load(text.replace("> self", "< self")).Judge().version
    assert judge().version != judge(2).version
    assert vl.Ladder("l", [judge()]).digest != vl.Ladder("l", [judge(2)]).digest


@pytest.mark.parametrize(
    ("before", "reads", "named"),
    [
        ("stream = open(__file__)", "stream.read()", "stream"),
        ("class Model:\n    def run(self): return 1.0\nmodel = Model()", "model.run()", "model"),
        ("import random\nrng = random.Random(1)", "rng.random()", "rng"),
        ("import threading\nclock = threading.Event()", "clock.is_set()", "clock"),
        ("score = eval('lambda text: 1.0')", "score('')", "score"),
        ("exec('def score(text): return 1.0')", "score('')", "score"),
        ("", "later('')", "later"),
        ("import helper", "getattr(helper, 'score')('')", "helper"),
        ("def inner(): return model\nmodel = object()", "inner()", "model"),
        ("class Scale: pass\nScale.usual = Scale()", "Scale.usual.slope", "Scale.usual"),
        ("score = 1.0", "eval('score')", "eval"),
        ("score = 1.0", "globals()['score']", "globals"),
        ("", "__import__('helper').score('')", "__import__"),
        ("import sys, helper", "sys.modules['helper'].score('')", "modules"),
        ("import importlib", "importlib.import_module('helper').score('')", "import_module"),
        ("from importlib import import_module as get", "get('helper').score('')", "get"),
    ],
)
def test_what_can_not_be_digested_is_named_and_a_version_demanded(
    load: Callable[..., ModuleType], before: str, reads: str, named: str
) -> None:
    load("def score(text): return 1.0", "helper")
    module = load(f"{before}\ndef judge(completions):\n    return [{reads}]\n")

    with pytest.raises(vl.ConfigError, match=f"(?s)judge needs a version.*`{named}`.*version="):
        vl.Ladder("l", [vl.wrap(module.judge)]).digest  # noqa: B018

    assert "1" == vl.wrap(module.judge, version="1").version


def test_a_module_that_changed_on_disk_after_its_import_is_not_believed(
    load: Callable[..., ModuleType],
) -> None:
    module = load("def judge(completions):\n    return [1.0]\n")
    Path(str(module.__file__)).write_text("def judge(completions):\n    return [2.0]\n")

    with pytest.raises(vl.ConfigError, match="needs a version"):
        version(module.judge)


def test_source_that_could_not_be_parsed_beside_another_thread_is_parsed_again(
    load: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = version(load(PLAIN).judge)
    parse, faults = ast.parse, iter("ab")

    def disturbed(text: str) -> ast.Module:
        """As CPython 3.11 does now and then."""
        if next(faults, None):
            raise SystemError("AST constructor recursion depth mismatch")
        return parse(text)

    monkeypatch.setattr(ast, "parse", disturbed)

    assert known == version(load(PLAIN).judge)


def test_a_function_that_was_registered_before_its_helper_stood_reads_it(
    load: Callable[..., ModuleType],
) -> None:
    text = (
        "import verifier_ladder as vl\n@vl.verifier(isolation='inline', timeout=5)\n"
        "def early(candidate):\n    return helper(candidate)\n"
        "def helper(candidate):\n    return 1.0\n"
    )

    before = load(text).early.version
    assert before == load(text.replace("timeout=5", "timeout=50")).early.version
    assert before != load(text.replace("1.0", "2.0")).early.version


def test_a_recursive_function_and_data_that_holds_itself_come_to_an_end(
    load: Callable[..., ModuleType],
) -> None:
    even = "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)\n"
    judge = "def judge(completions):\n    return [float(even(len(c))) for c in completions]\n"

    assert version(load(even + judge).judge) == version(load(even + judge).judge)
    loop = "def judge(completions): return loop\nloop = []\nloop.append(loop)\n"
    with pytest.raises(vl.ConfigError, match="loop"):
        version(load(loop).judge)


def test_a_pickled_verifier_keeps_the_version_of_where_it_was_made(
    load: Callable[..., ModuleType],
) -> None:
    import cloudpickle

    module = load("def judge(completions):\n    return [1.0]\n")
    made = vl.wrap(module.judge)
    state = cloudpickle.dumps(made)
    Path(str(module.__file__)).unlink()

    assert made.version == cloudpickle.loads(state).version


def _other_pythons() -> list[str]:
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    for minor in ("3.11", "3.12", "3.13"):
        kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{minor}.*/bin/python"))
        paths = [*map(str, kept), shutil.which(f"python{minor}") or ""]
        if there := [path for path in paths if os.access(path, os.X_OK)]:
            found.setdefault(minor, there[0])
    return list(found.values())


ODD = '''
import math
BIG, HALF, TEXT, NOTHING = 10**30, 0.1 + 0.2, "a\\u1234\\ud800", {None, 1, "x"}

def judge(completions, *, wide=4, **columns):
    """Say

       so."""
    total = [f"{c!r:>{wide}} {c} {wide=} {{}}" f"{c:}" "tail" for c in completions if c != TEXT]
    with open("x") as a, open("y") as b:
        match total:
            case [str() as one, *_]:
                return one
    nested = {k: [v for v in range(k)] for k in range(wide)}
    return [lambda x=math.pi: (x, -1, 1j, b"z", ..., BIG, HALF, NOTHING, nested) for _ in total]
'''


@pytest.mark.slow
def test_every_python_makes_the_same_digest(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(ODD)
    (tmp_path / "rewards.py").write_text(PLAIN)
    told = "import json, odd, rewards; from verifier_ladder.sourcecode import fingerprint; "
    told += "print(json.dumps([fingerprint(odd.judge), fingerprint(rewards.judge)]))"
    root = Path(vl.__file__).parents[1]
    pythons = _other_pythons()
    answers = {
        python: json.loads(
            subprocess.run(
                [python, "-c", told], check=True, capture_output=True, cwd=tmp_path, text=True,
                env={**os.environ, "PYTHONPATH": str(root)}, timeout=300,
            ).stdout
        )
        for python in pythons
    }  # fmt: skip

    assert 1 == len({str(answer) for answer in answers.values()}), answers
    assert all(digest and not problem for digest, problem, _ in answers[sys.executable])


def test_only_the_users_own_code_is_read(load: Callable[..., ModuleType]) -> None:
    module = load(
        "import json, numpy as np\nfrom statistics import mean\n"
        "def judge(completions):\n    return [mean([1.0]) + np.sqrt(2) + json.loads('1')]\n"
    )

    assert not fingerprint(module.judge).problem
