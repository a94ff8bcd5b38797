"""The hull of competing phases: the best mixture with a composition."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ToolError
from verifier_ladder.tiers.simulation.hull import Phase, hull_energy

energy = st.floats(-10, 10)
count = st.integers(1, 6)


@given(energy, energy, count, count)
def test_two_elements_side_by_side_are_a_straight_line(
    one: float, other: float, a: int, b: int
) -> None:
    phases = [Phase(["Cu"], one), Phase(["Au"], other)]

    expected = (a * one + b * other) / (a + b)
    assert expected == pytest.approx(hull_energy(["Cu"] * a + ["Au"] * b, phases), abs=1e-8)


@given(energy, energy, energy, count, count)
def test_a_phase_lowers_the_hull_or_leaves_it(
    one: float, other: float, between: float, a: int, b: int
) -> None:
    symbols = ["Cu"] * a + ["Au"] * b
    elements = [Phase(["Cu"], one), Phase(["Au"], other)]
    more = [*elements, Phase(symbols, between)]

    without, with_it = hull_energy(symbols, elements), hull_energy(symbols, more)
    assert without is not None
    assert min(without, between) == pytest.approx(with_it, abs=1e-8)


def test_a_ternary_is_mixed_of_what_is_lowest() -> None:
    phases = [
        Phase(["A"], 0.0), Phase(["B"], 0.0), Phase(["C"], 0.0),
        Phase(["A", "B"], -1.0), Phase(["B", "C"], -0.1),
    ]  # fmt: skip

    assert -2 / 3 == pytest.approx(hull_energy(["A", "B", "C"], phases))


@pytest.mark.parametrize("symbols", [["Cu"], ["Cu", "Ni"], ["Cu", "Au", "Au"]])
def test_a_composition_that_no_mixture_has_is_not_known(symbols: list[str]) -> None:
    assert hull_energy(symbols, [Phase(["Ni"], 0.0), Phase(["Cu", "Au"], -1.0)]) is None


def test_a_programme_that_is_not_solved_says_nothing_of_the_composition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = SimpleNamespace(status=4, message="numerical difficulties", fun=None, success=False)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: failed)

    with pytest.raises(ToolError, match="numerical difficulties"):
        hull_energy(["Cu"], [Phase(["Cu"], 0.0)])
