"""The documentation names all that there is, and nothing that there isn't."""

import re
import shlex
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from sqlalchemy import Table

import verifier_ladder as vl
from verifier_ladder import errors
from verifier_ladder.ladder import _SECTIONS
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.ledger.schema import metadata
from verifier_ladder.scheduler.engines.retry import ATTEMPTS
from verifier_ladder.settings import PREFIX, Settings
from verifier_ladder.tier import Tier

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
DECISIONS = sorted((DOCS / "adr").glob("0*.md"))
ERRORS = [
    made
    for made in vars(errors).values()
    if isinstance(made, type) and issubclass(made, errors.LadderError)
]


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def headings(page: str) -> set[str]:
    """The headings of a page, without their marks."""
    found = re.findall(r"^#+ (.+?)\s*$", text(page), re.MULTILINE)
    return {heading.replace("`", "") for heading in found}


def commands() -> dict[str, set[str]]:
    """The options of each command, as the reference lists them."""
    parts = re.split(r"^## (vladder.*)$", text("reference/cli.md"), flags=re.MULTILINE)[1:]
    return {
        name.strip(): {*re.findall(r"`(--[\w-]+)`", part), "--help", "--version"}
        for name, part in zip(parts[::2], parts[1::2], strict=True)
    }


def dependencies() -> list[str]:
    """The packages that `pyproject.toml` asks for, without versions and extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = chain(project["dependencies"], *project["optional-dependencies"].values())
    names = {re.split(r"[\[<>=!~; ]", entry, maxsplit=1)[0] for entry in listed}
    return sorted(names - {project["name"]})


def console_lines() -> list[tuple[str, str]]:
    """Every `$ vladder …` of the pages, with the page it stands on."""
    return [
        (str(page.relative_to(ROOT)), line)
        for page in PAGES
        for line in re.findall(r"^\s*\$ (vladder.*)$", page.read_text("utf-8"), re.MULTILINE)
    ]


def test_the_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "reference.py"), "--check"],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_setting_has_a_heading(name: str) -> None:
    assert f"{PREFIX}{name.upper()}" in headings("reference/settings.md")


@pytest.mark.parametrize(("page", "line"), console_lines())
def test_every_command_in_the_pages_exists(page: str, line: str) -> None:
    known = commands()
    words = shlex.split(line, comments=True)
    name = next(
        (n for n in (" ".join(words[:3]), " ".join(words[:2])) if n in known),
        "vladder" if words[1:] and words[1].startswith("--") else "",
    )
    assert name, f"{page}: there is no such command: {line}"

    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    missing = options - known.get(name, {"--help", "--version"})

    assert not missing, f"{page}: {name} has no {', '.join(missing)}"


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_stands_in_the_table(error: type[errors.LadderError]) -> None:
    assert f"| `{error.__name__}` | `{error.boundary}` |" in text("reference/errors.md")


@pytest.mark.parametrize("name", vl.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    """Either its module is listed whole, or the name itself."""
    page = text("reference/api.md")
    module = getattr(vl, name).__module__

    named = f"{module}.{name}" in page
    listed = re.search(rf"automodule:: {re.escape(module)}\n\s+:members:([^\n]*)\n", page)

    assert named or (listed and listed[1].strip() in ("", name)), f"{module}.{name}"


@pytest.mark.parametrize("boundary", sorted(ATTEMPTS))
def test_every_boundary_that_is_tried_again_is_explained(boundary: str) -> None:
    row = re.search(
        rf"^\| `{boundary}` \|[^|]+\| (\d) \|", text("howto/handle-failures.md"), re.MULTILINE
    )

    assert row
    assert ATTEMPTS[boundary] == int(row[1])


@pytest.mark.parametrize("state", CheckState, ids=lambda state: state.label)
def test_every_state_of_a_check_is_explained(state: CheckState) -> None:
    assert f"| `{state.label}` |" in text("explanation/how-a-candidate-climbs.md")


@pytest.mark.parametrize("section", sorted(_SECTIONS))
def test_every_section_of_a_ladder_has_a_heading(section: str) -> None:
    assert section in headings("reference/ladder-toml.md")


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=str)
def test_every_table_of_the_ledger_is_listed_with_its_columns(table: Table) -> None:
    _, _, rest = text("reference/tables.md").partition(f"\n### {table.name}\n")
    listed = re.findall(
        r"^\| `(\w+)` \|", re.split(r"^##", rest, flags=re.MULTILINE)[0], re.MULTILINE
    )

    assert [column.name for column in table.columns] == listed


@pytest.mark.parametrize("tier", Tier, ids=lambda tier: tier.label)
def test_every_tier_stands_in_the_glossary(tier: Tier) -> None:
    assert f"`{tier.label}`" in text("glossary.md")


@pytest.mark.parametrize("package", dependencies())
def test_every_dependency_has_its_reason(package: str) -> None:
    page = text("explanation/dependencies.md")

    assert re.search(rf"(?<![\w-]){re.escape(package)}(?![\w-])", page)


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_every_decision_is_short_and_has_its_four_parts(page: Path) -> None:
    body = page.read_text(encoding="utf-8")
    parts = re.findall(r"^## (.+)$", body, re.MULTILINE)

    assert ["Problem", "Decision", "Evidence", "Consequences"] == parts
    assert len(body.splitlines()) <= 60


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(page.name[:4]) for page in DECISIONS]

    assert list(range(1, len(numbers) + 1)) == numbers


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """Files and pages; addresses elsewhere are not looked at, for that needs a network."""
    body = page.read_text(encoding="utf-8")
    files = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", body)
    pages = re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", body)

    missing = [name for name in files if not (page.parent / name).exists()]
    for name in pages:
        start = DOCS if name.startswith("/") else page.parent
        if not (start / f"{name.lstrip('/')}.md").exists():
            missing.append(name)

    assert not missing
