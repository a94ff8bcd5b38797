"""Runs and campaigns side by side, and in what they differ."""

from dataclasses import replace
from typing import Any

import pytest
import scored
from histories import GATE, MEASURED, XTB, History, ladder_spec
from indexed import catch_up

from verifier_ladder.analysis.candidates import CandidateIndex
from verifier_ladder.analysis.differences import Difference, ladder_differences
from verifier_ladder.analysis.sides import Side, side
from verifier_ladder.ledger import Ledger
from verifier_ladder.verdict import Verdict


def side_of(ledger: Ledger, index: CandidateIndex, run: str = "", campaign: str = "try") -> Side:
    catch_up(index, ledger)
    return side(ledger, index, ledger.campaigns(campaign)[0], run)


def test_a_run_has_its_own_samples_best_and_curve(ledger: Ledger, index: CandidateIndex) -> None:
    history = History(ledger)
    history.score([scored.item("A", -5.0, -4.0), scored.item("B", -5.0, -6.0)], "one")
    history.score([scored.item("C", -5.0, -5.0)], "two")
    one, two, both = (side_of(ledger, index, run) for run in ("one", "two", ""))

    assert [s.samples for s in (one, two, both)] == [2, 1, 3]
    assert [s.best.label for s in (one, two, both) if s.best] == ["B", "C", "B"]
    assert [s.mean for s in (one, two, both)] == [0.5] * 3
    assert [p.step for p in two.curve] == [1]
    assert both.curve_of == "two"


def test_a_run_that_comes_upon_a_known_candidate_has_it_too(
    ledger: Ledger, index: CandidateIndex
) -> None:
    history, known = History(ledger), scored.item("A", -5.0, -9.0)
    history.score([known], "one")
    side_of(ledger, index)
    history.score([known, scored.item("B", -5.0, -6.0)], "two")
    best = side_of(ledger, index, "two").best

    assert best is not None
    assert best.label == "A"


def test_one_that_the_top_tier_rejects_is_the_best_of_no_run(
    ledger: Ledger, index: CandidateIndex
) -> None:
    bad = scored.item("A", -5.0, -9.0)
    bad = replace(bad, verdicts={**bad.verdicts, MEASURED: Verdict.reject("toxic")})
    History(ledger).score([bad])

    assert side_of(ledger, index, "one").best is None


def test_spend_is_told_apart_and_what_is_not_counted_is_not_zero(
    ledger: Ledger, index: CandidateIndex
) -> None:
    scored.record(ledger, 4)
    one, whole = side_of(ledger, index, "one"), side_of(ledger, index)

    assert one.failures is None
    assert whole.failures == {}
    assert whole.spent["cpu_seconds"] == pytest.approx(4 * (0.5 + 2.0 + 2.0))


class TestLadders:
    """What differs, in words."""

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({}, []),
            ({"audit": 0.1}, [Difference(("audit",), "0.05", "0.1")]),
            (
                {"policy": {"thresholds": {"high_fidelity": -5.0}}},
                [Difference(("policy", "thresholds", "high_fidelity"), "-4.0", "-5.0")],
            ),
        ],
    )
    def test_settings_are_named_by_the_way_to_them(
        self, change: dict[str, Any], told: list[Difference]
    ) -> None:
        one, other = ladder_spec(), ladder_spec()
        for name, value in change.items():
            other[name] = {**other[name], **value} if isinstance(value, dict) else value

        assert ladder_differences(one, other) == told

    def test_verifiers_are_told_apart_by_name_not_by_place(self) -> None:
        one, other = ladder_spec([GATE, XTB]), ladder_spec([MEASURED, XTB, GATE])
        other["verifiers"][1] |= {"version": "2", "settings": {"basis": "def2"}, "digest": "ff"}

        assert ladder_differences(one, other) == [
            Difference(("verifiers", XTB, "version"), "1", "2"),
            Difference(("verifiers", XTB, "settings", "basis"), None, "def2"),
            Difference(("verifiers", MEASURED), None, "version 1, world"),
        ]
