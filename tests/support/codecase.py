"""What tests of verifiers of programs share: the kit, and the whole key under each sandbox."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import pytest

import verifier_ladder as vl
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.testing.answerkey import AnswerKey, Report
from verifier_ladder.testing.mutants import mutation_test
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.verdict import Outcome, Verdict

CLASSES = ("namespaces", "landlock")


@cache
def reports(verifier: vl.Verifier) -> dict[str, Report]:
    """The whole key, under each class of sandbox, in workers."""
    key, found = AnswerKey.named(verifier.name), dict[str, Report]()
    with WorkerPool(2, name=verifier.name) as pool:
        for kind in CLASSES:
            boxed = verifier.in_sandbox(Backend(kind))

            def judged(asked: Sequence[vl.Candidate], boxed: vl.Verifier = boxed) -> list[Verdict]:
                return list(pool.verify(boxed, asked).result().verdicts)

            found[kind] = key.check(boxed, judge=judged)
    return found


@pytest.mark.usefixtures("sandboxes")
class CodeTestCase(VerifierTestCase):
    """The kit with a part of the cases that are not hostile; all of them under each class."""

    strict = True
    cost_factor = 100.0  # Of sandboxes on a machine that others use too.
    mutants: Mapping[str, Any] = {"count": 24}
    whole: ClassVar[vl.Verifier]
    """What the whole key is put to, and its mutants."""
    every: ClassVar[int] = 1
    """The kit has one of so many cases."""

    @pytest.fixture
    def answer_key(self, request: pytest.FixtureRequest) -> AnswerKey:
        tame = AnswerKey.named(self.whole.name).without_hostile()
        step = 1 if "twins" in request.node.name else self.every
        return AnswerKey(tame.name, tame.cases[::step], tame.lines[::step])

    @pytest.mark.slow
    def test_the_answer_key_catches_mutants(self) -> None:  # type: ignore[override]
        tame = AnswerKey.named(self.whole.name).without_hostile()
        found = mutation_test(tame, type(self.whole), self.mutated, **self.mutants).weaknesses
        assert not found, found

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", CLASSES)
    def test_every_case_is_judged_rightly_under_each_class(self, kind: str) -> None:
        report = reports(self.whole)[kind]
        assert not report.complaints + report.flaws, report.complaints + report.flaws
        unjudged = [graded.told() for graded in report.hostile if graded.how]
        assert not unjudged, unjudged

    @pytest.mark.slow
    def test_no_case_is_judged_otherwise_under_the_other_class(self) -> None:
        one, other = (reports(self.whole)[kind].graded for kind in CLASSES)
        for a, b in zip(one, other, strict=True):
            outcomes = {a.verdict.outcome, b.verdict.outcome} - {Outcome.ABSTAIN}
            assert len(outcomes) <= 1, a.told(f"{a.verdict} {b.verdict}")
