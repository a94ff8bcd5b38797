"""`vladder verifier` lists, explains and checks verifiers."""

import json
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.registry import REGISTRY, VERIFIER_GROUP

GOOD = '''
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="3", cost=vl.Cost(seconds=1e-4))
def polite(candidate):
    """Say whether it is polite."""
    return "please" in candidate.content
'''
BAD = """
import verifier_ladder as vl

@vl.verifier(kind="text", version="1", timeout=5)
def overflowing(candidate):
    if "1e308" in str(candidate.content):
        raise RuntimeError("not converged")
    return 1.0

@vl.verifier(kind="text", version="1", timeout=5, reads_turns=True)
def diverging(candidate):
    if any("1e308" in turn.action for turn in candidate.turns):
        raise RuntimeError("diverged")
    return 1.0

def plain(candidate):
    return 1.0
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "good_verifiers.py").write_text(GOOD)
    (tmp_path / "bad_verifiers.py").write_text(BAD)
    return tmp_path


def test_ls_lists_what_is_registered(run: Any) -> None:
    vl.verifier(name="listed-here", version="7", tier="fast")(lambda _: 1.0)

    rows = json.loads(run("verifier", "ls", "--json").stdout)

    row = next(row for row in rows if row["name"] == "listed-here")
    assert ("7", "fast", "text", "") == (row["version"], row["tier"], row["kind"], row["error"])


def test_a_matrix_shows_domains_capabilities_and_what_is_empty(run: Any) -> None:
    vl.verifier(name="of-maps", version="1", domain="maps", capabilities=("planning", "memory"))(
        lambda _: 1.0
    )
    vl.verifier(name="of-nothing", version="1")(lambda _: 1.0)

    found = json.loads(run("verifier", "ls", "--matrix", "--json").stdout)
    told = run("verifier", "ls", "--matrix").stdout

    row = found["domains"]["maps"]
    assert {"planning", "memory"} == {name for name, names in row.items() if "of-maps" in names}
    assert ["of-maps"] == row["planning"]
    assert [] == row["perception"]
    assert "of-nothing" in found["not_described"]
    assert {} == found["broken"]
    assert ["maps", "1", "1", "-", "-", "-", "-"] in [line.split() for line in told.splitlines()]
    assert "cells are empty" in told
    assert "not described: " in told


def test_a_matrix_tells_why_a_verifier_is_not_in_it(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    vl.verifier(name="missing-part", version="1")(lambda _: 1.0)
    look_up = REGISTRY.get

    def failing(name: str, version: str | None = None) -> vl.Verifier:
        if name == "missing-part":
            raise vl.PluginError("its library is not there")
        return look_up(name, version)

    monkeypatch.setattr(REGISTRY, "get", failing)
    found = json.loads(run("verifier", "ls", "--matrix", "--json").stdout)

    assert {"missing-part": "its library is not there"} == found["broken"]
    assert "missing-part" not in found["not_described"]
    assert "broken: missing-part: its library" in run("verifier", "ls", "--matrix").stdout


def test_every_built_in_says_what_it_is_about() -> None:
    from importlib.metadata import entry_points

    found = [REGISTRY.get(point.name) for point in entry_points(group=VERIFIER_GROUP)]
    own = [each for each in found if type(each).__module__.startswith("verifier_ladder.tiers.")]

    assert len(own) > 40
    assert [] == [each.name for each in own if not (each.capabilities and each.domain)]


def test_info_shows_what_is_declared(run: Any) -> None:
    @vl.verifier(name="explained", version="2", tier="simulation", timeout=9.0)
    def explained(candidate: vl.Candidate) -> float:
        """Measure the length."""
        return float(len(candidate.content))

    facts = json.loads(run("verifier", "info", "explained", "--json").stdout)

    assert ("Measure the length.", "simulation", 9.0) == (
        facts["about"], facts["tier"], facts["timeout"]
    )  # fmt: skip


def test_info_of_an_unknown_verifier_exits_with_2(run: Any) -> None:
    done = run("verifier", "info", "no-such-thing")

    assert 2 == done.exit_code
    assert "no verifier is called 'no-such-thing'" in done.stderr


@pytest.mark.parametrize(
    ("name", "sentence", "words"),
    [
        ("overflowing", "hostile text", "raise vl.CandidateError"),
        ("diverging", "hostile text", "with turns"),
    ],
)
def test_check_says_what_a_bad_verifier_breaks(
    run: Any, code: Path, name: str, sentence: str, words: str
) -> None:
    done = run("verifier", "check", code / f"bad_verifiers.py:{name}", "--json")

    failed = [c for c in json.loads(done.stdout)["checks"] if not c["passed"]]
    assert 1 == done.exit_code
    assert any(c["name"].startswith(sentence) and words in c["text"] for c in failed)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("bad_verifiers.py:plain", "decorate the function"),
        ("bad_verifiers.py:nothing", "has no nothing"),
        ("missing.py:x", "missing.py can't be imported: there is no such file"),
    ],
)
def test_check_of_what_is_no_verifier_says_what_to_do(
    run: Any, code: Path, place: str, words: str
) -> None:
    done = run("verifier", "check", code / place)

    assert 2 == done.exit_code
    assert words in done.stderr


@pytest.mark.parametrize("task", ["[1]", "{"])
def test_check_wants_a_task_in_json(run: Any, code: Path, task: str) -> None:
    done = run("verifier", "check", code / "good_verifiers.py:polite", "--task", task)

    assert 2 == done.exit_code
