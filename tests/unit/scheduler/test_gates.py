"""Gates."""

import json
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.gates import GateAudit

COUNTS = st.integers(0, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def at_most(count: int, size: int, share: float) -> float:
    """The binomial tail, by adding up all its terms."""
    return sum(comb(size, k) * share**k * (1 - share) ** (size - k) for k in range(count + 1))


@given(COUNTS, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_bound_is_where_so_few_good_ones_become_too_unlikely(
    counts: tuple[int, int], confidence: float
) -> None:
    audited, good = counts
    upper = GateAudit(audited, good).upper(confidence)

    if good == audited:
        assert 1.0 == upper
    else:
        assert at_most(good, audited, upper) == pytest.approx(1.0 - confidence, rel=1e-6)


@given(COUNTS)
def test_a_good_one_raises_the_bound_and_a_bad_one_lowers_it(counts: tuple[int, int]) -> None:
    audited, good = counts
    upper = GateAudit(audited, good).upper()

    assert GateAudit(audited + 1, good + 1).upper() >= upper
    assert GateAudit(audited + 1, good).upper() <= upper


def test_large_counts_keep_their_bound() -> None:
    # The normal approximation, which holds there.
    assert GateAudit(1_000_000, 10_000).upper() == pytest.approx(0.01 + 1.645 * 1e-4, rel=1e-3)


def test_without_audits_nothing_is_proven() -> None:
    assert 1.0 == GateAudit().upper()
    assert not GateAudit().is_proven()


def test_the_rule_of_three_hundred() -> None:
    assert GateAudit(298, 0).upper() > 0.01 >= GateAudit(299, 0).upper()


def test_a_gate_is_proven_by_many_audits_without_a_good_one() -> None:
    assert not GateAudit(396, 0).is_proven()
    assert GateAudit(397, 0).is_proven()
    assert not GateAudit(397, 1).is_proven()
    assert GateAudit(582, 1).is_proven()


@given(COUNTS, st.sampled_from([0.01, 0.05, 0.3]))
def test_what_is_proven_also_has_a_low_bound(counts: tuple[int, int], epsilon: float) -> None:
    gate = GateAudit(*counts)

    assert not gate.is_proven(epsilon) or gate.upper() <= epsilon


def test_looking_after_every_audit_proves_a_bad_gate_in_one_of_twenty_cases_at_most() -> None:
    """At exactly ε, the worst case that must not pass."""
    random = np.random.default_rng(0)
    good = (random.random((8000, 1000)) < 0.05).cumsum(axis=1, dtype=np.int32)
    proven = np.zeros(len(good), dtype=bool)
    for count in range(40):
        least = next(n for n in range(count, 9999) if GateAudit(n, count).is_proven(0.05))
        if least <= good.shape[1]:
            proven |= good[:, least - 1] <= count

    # One twentieth, and two standard deviations of this simulation.
    assert 0.03 < proven.mean() < 0.055


def test_answers_are_counted() -> None:
    gate = GateAudit()
    for is_good in (True, False, False):
        gate.add(is_good=is_good)

    assert GateAudit(3, 1) == gate
    assert gate == GateAudit.restore(json.loads(json.dumps(gate.snapshot())))


@pytest.mark.parametrize(("audited", "good"), [(0, 1), (-1, -1), (3, -1)])
def test_counts_that_can_not_be_are_refused(audited: int, good: int) -> None:
    with pytest.raises(ConfigError, match="can't be"):
        GateAudit(audited, good)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_shares_that_are_none_are_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="confidence must be"):
        GateAudit(10, 0).upper(share)
    with pytest.raises(ConfigError, match="epsilon must be"):
        GateAudit(10, 0).is_proven(share)
