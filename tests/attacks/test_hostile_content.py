"""No built-in verifier fails on hostile content, in canonical form or as it was written."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.registry import REGISTRY
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.testing.hostile import complaints, hostile_candidates, judge_hostile
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

BUILT_IN = [
    point for point in entry_points(group="verifier_ladder.verifiers")
    if point.module.startswith("verifier_ladder.")
]  # fmt: skip
SLOW = {
    "xtb-hydration": "tblite", "xtb-properties": "tblite", "dft-hydration": "pyscf",
    "dft-properties": "pyscf", "dft-cell": "pyscf", "openmm-stability": "openmm",
}  # fmt: skip
NEEDS = {
    **SLOW,
    "constraint-solution": "z3",
    "equivalent-formula": "z3",
    "final-state": "selectolax",
    "game-replay": "gymnasium",
    "instruction-constraints": "regex",
    "json-schema": "jsonschema_rs",
    "repository-patch": "unidiff",
    "sql-query": "duckdb",
    "structure-prediction": "gemmi",
    "table-schema": "pyarrow",
    "tool-calls": "jsonschema_rs",
}
LONG = {
    *SLOW, "ase-relax", "ase-equation-of-state", "ase-dynamics", "back-test", "code-forecast",
    "code-functions", "code-performance", "code-properties", "code-stdio", "code-tests",
    "repository-patch",
    "coq-proof",
}  # fmt: skip
"""Those that take long here. All read programs alike, and their kits try hostile content as well:
that of `code-functions` all of it. Before it computes, `ase-energy` does what the others of ASE
do."""
SAMPLES = {"molecule": "c1ccccc1"}
OF_KIND = {"molecule": "rdkit", "crystal": "spglib"}


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1, name="hostile") as shared:
        yield shared


@pytest.fixture(
    params=[
        pytest.param(point, id=point.name, marks=[pytest.mark.slow] * (point.name in LONG))
        for point in BUILT_IN
    ]
)
def verifier(request: pytest.FixtureRequest, require: Any) -> Verifier:
    point: EntryPoint = request.param
    made = point.load()()
    assert isinstance(made, Verifier)
    if package := NEEDS.get(point.name, OF_KIND.get(made.kind, "")):
        require(package, find_spec(package) is not None, f"{point.name} needs it")
    return made


def said_of(pool: WorkerPool, verifier: Verifier) -> list[tuple[Candidate, Verdict]]:
    harmless = verifier.control or Candidate(verifier.kind, "CCO")
    sample = harmless
    if verifier.kind in SAMPLES:
        sample = Candidate(verifier.kind, SAMPLES[verifier.kind])
    return judge_hostile(pool, verifier, [harmless], list(hostile_candidates(sample)))


def test_there_are_built_in_verifiers() -> None:
    assert len(BUILT_IN) >= 6


def test_a_built_in_verifier_answers_for_hostile_content(
    pool: WorkerPool, verifier: Verifier
) -> None:
    said = said_of(pool, verifier)

    assert not complaints(said), complaints(said)


def test_a_cheap_verifier_answers_for_hostile_content_that_was_never_canonical(
    pool: WorkerPool, verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    if REGISTRY.canonicaliser(verifier.kind).inline:
        pytest.skip("the test above gives it what was written: nothing else is its canonical form")
    if verifier.name in SLOW:
        pytest.skip("without the canonicaliser's bounds it may compute for hours")
    monkeypatch.setattr(verifier, "reads", "raw")

    said = said_of(pool, verifier)

    assert not complaints(said), complaints(said)


def test_the_canonicaliser_answers_for_hostile_content(pool: WorkerPool) -> None:
    by = REGISTRY.canonicaliser("molecule")
    contents = [each.content for each in hostile_candidates(Candidate("molecule", "c1ccccc1"))]

    forms = pool.canonicalise(by, contents).result().forms

    assert [] == [
        (content[:40], form.reason)
        for content, form in zip(contents, forms, strict=True)
        if isinstance(form, Verdict) and form.failed_at
    ]
