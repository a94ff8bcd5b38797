"""What pages, docstrings, errors and printed hints name exists, and numbers in them are true."""

import re
import tomllib
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from histories import ESTIMATE, GATE, History, Item, cost
from rich.console import Console

import verifier_ladder as vl
from verifier_ladder.demo.outputs import read_outputs
from verifier_ladder.ledger import open_ledger
from verifier_ladder.summary import print_summary, summarise
from verifier_ladder.testing.trial import try_reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted((ROOT / "examples").rglob("*.md"))
SOURCES = [
    path
    for folder in ("verifier_ladder", "scheduler", "tiers", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def found(pattern: str, paths: list[Path]) -> dict[str, str]:
    """What matches, with the first file that holds it."""
    places: dict[str, str] = {}
    for path in paths:
        for match in re.findall(pattern, path.read_text("utf-8")):
            places.setdefault(match, str(path.relative_to(ROOT)))
    return places


@pytest.fixture(scope="module")
def accuracy() -> str:
    """What `vladder try` says of the README's reward function."""
    names: dict[str, Any] = {}
    source = README.partition("file: rewards.py -->\n```python\n")[2].partition("```")[0]
    exec(source, names)  # noqa: S102 - the page's own function
    return str(try_reward(names["accuracy"], "mathematics", seconds=300))


def commands() -> set[str]:
    reference = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    return {name.strip() for name in re.findall(r"^## vladder(.*)$", reference, re.MULTILINE)}


def test_every_public_name_that_is_named_exists() -> None:
    traces = [ROOT / "verifier_ladder" / "telemetry" / "traces.py"]
    of_spans = found(r"\"vl\.(\w+)\"", traces)
    named = found(r"(?<!\w)vl\.([A-Za-z_]\w*)", [*PAGES, *SOURCES])

    assert len(named) > 20
    assert {} == {
        name: place
        for name, place in named.items()
        if not hasattr(vl, name) and name not in of_spans
    }


def test_every_command_that_is_named_exists() -> None:
    known = commands()
    named = found(r"[`'\"]vladder ((?:[a-z]+-?)+(?: (?:[a-z]+-?)+)?)", [*PAGES, *SOURCES])
    groups = {name.split()[0] for name in known if " " in name}

    def exists(words: str) -> bool:
        first = words.split(maxsplit=1)[0]
        return words in known if first in groups and " " in words else first in known | groups

    assert len(named) > 20
    assert {} == {words: place for words, place in named.items() if not exists(words)}


def test_nothing_says_to_install_from_an_index_where_the_package_is_not() -> None:
    pattern = r"pip install [^\n]*?['\" ]verifier-ladder\b"

    assert {} == found(pattern, [*PAGES, *SOURCES])


def test_every_extra_that_is_to_be_installed_exists() -> None:
    named = found(r"pip install ['\"]\.\[([\w,]+)\]", [*PAGES, *SOURCES])
    extras = {extra for names in named for extra in names.split(",")}

    assert len(extras) > 8
    assert not extras - PROJECT["optional-dependencies"].keys()


def test_every_extra_is_explained_to_those_who_install() -> None:
    page = (ROOT / "docs" / "howto" / "install.md").read_text("utf-8")
    named = set(re.findall(r"`([\w-]+)`", page))
    for_developers = {"test", "docs", "dev", "servers", "all"}

    assert not PROJECT["optional-dependencies"].keys() - for_developers - named


def test_the_wheel_that_the_page_names_has_this_version() -> None:
    page = (ROOT / "docs" / "howto" / "install.md").read_text("utf-8")

    assert f"verifier_ladder-{PROJECT['version']}-py3-none-any.whl" in page


def test_the_doors_name_the_extras_that_they_need() -> None:
    doors = README[README.index("## Three doors") : README.index("## What it promises")]

    assert "pip install '.[chem,frames]'" in doors
    assert "molecule-gate" in doors  # The reason for `chem`.
    assert ".parquet" in doors  # And for `frames`.


def test_the_number_of_the_demos_outputs_is_the_same_everywhere() -> None:
    count = sum(map(len, read_outputs()))
    told = found(r"\b(\d+) (?:model )?outputs\b", [*PAGES, *SOURCES])
    others = found(r"\b(\d+) molecules climb", [*PAGES, *SOURCES])

    assert {str(count)} == told.keys()
    assert not others


@pytest.mark.parametrize("page", ["README.md", "docs/howto/try-a-reward-function.md"])
def test_the_first_trial_is_told_as_it_is(page: str, accuracy: str) -> None:
    text = (ROOT / page).read_text("utf-8")

    shown = text.partition("```text\naccuracy against")[2].partition("…\n")[0].splitlines()

    assert len(shown) > 5
    assert accuracy.splitlines()[1 : len(shown)] == shown[1:]


def test_the_readmes_summary_has_the_columns_of_the_summary() -> None:
    history = History(open_ledger(None), "solvation")
    verdicts = {GATE: Verdict.accept(), ESTIMATE: cost(Verdict.accept(-5.0), 0.5)}
    history.score([Item("C", "C", verdicts, vl.Reward(0.5, 0.1, Tier.FAST), -5.0, 1.0)])
    console = Console(file=StringIO(), width=200, color_system=None)
    print_summary(summarise(history.ledger, "solvation"), console)
    assert isinstance(console.file, StringIO)
    printed = console.file.getvalue()

    for table in ("candidates", "cost"):
        (shown,) = re.findall(rf"^{table}  .*$", README, re.MULTILINE)
        (real,) = re.findall(rf"^{table}  .*$", printed, re.MULTILINE)
        columns = re.split(r"  +", real.strip())
        # Columns of counts that are all zero are left out.
        assert set(columns) <= set(re.split(r"  +", shown.strip()))


@pytest.mark.parametrize("false", ["No server", "no server and no pages", "vl.Thresholds"])
def test_what_was_once_true_is_said_no_more(false: str) -> None:
    assert {} == found(f"({re.escape(false)})", [*PAGES, *SOURCES])
