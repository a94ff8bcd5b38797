"""The conformance kit for escalation policies: what every one of them must do.

Importing it needs pytest and hypothesis.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from verifier_ladder.decision import Action, Decisions, EscalationPolicy, Situation, impossible
from verifier_ladder.scheduler.policies import POLICIES, create_policy
from verifier_ladder.testing.situations import situation, situations, subset

_of_a_class = settings(
    deadline=None,  # A limit per example would only report the machine's load.
    suppress_health_check=[
        HealthCheck.differing_executors,  # Each kit runs the same test for another policy.
        HealthCheck.function_scoped_fixture,  # Policies keep no state.
        HealthCheck.too_slow,
    ],
)


class PolicyTestCase:
    """Tests that every policy must pass. Subclass it and override `policy`.

    For example::

        class TestCautious(PolicyTestCase):
            @pytest.fixture
            def policy(self):
                return Cautious()

    Override `again` if a policy of your own is not made from the settings in its JSON.
    """

    @pytest.fixture
    def policy(self) -> EscalationPolicy:
        """The policy under test; override this."""
        raise NotImplementedError("override the fixture `policy` with one that returns yours")

    def again(self, policy: EscalationPolicy) -> EscalationPolicy:
        """Make the policy from its JSON, as a campaign that is opened again does."""
        spec = json.loads(json.dumps(dict(policy.as_json())))
        own = {key: value for key, value in spec.items() if key not in ("name", "version")}
        if spec["name"] in POLICIES:
            return create_policy(spec["name"], own)
        made: EscalationPolicy = type(policy)(**own)
        return made

    def test_it_keeps_the_contract(self, policy: EscalationPolicy) -> None:
        assert isinstance(policy, EscalationPolicy)
        assert policy.name
        assert policy.version
        assert isinstance(policy.is_sequential, bool)

    def test_its_json_names_it_and_makes_it_again(self, policy: EscalationPolicy) -> None:
        spec = policy.as_json()
        again = self.again(policy)
        rows = situation([0.0, 1.0, 2.0], spread=1.0, best=0.5)

        assert (spec["name"], spec["version"]) == (policy.name, policy.version)
        assert dict(again.as_json()) == dict(spec)
        assert_same(policy.decide(rows), again.decide(rows))

    def test_an_empty_batch_is_decided(self, policy: EscalationPolicy) -> None:
        check(policy.decide(situation([])), situation([]))

    @_of_a_class
    @given(rows=situations(is_odd=True))
    def test_every_decision_can_be_carried_out(
        self, policy: EscalationPolicy, rows: Situation
    ) -> None:
        check(decided(policy, rows), rows)

    @_of_a_class
    @given(rows=situations(is_odd=True))
    def test_the_same_situation_gets_the_same_decisions(
        self, policy: EscalationPolicy, rows: Situation
    ) -> None:
        before = subset(rows, np.arange(len(rows)))
        for field in fields(rows):
            value = getattr(rows, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

        once, again = decided(policy, rows), decided(policy, before)

        assert_same(once, again)

    @_of_a_class
    @given(rows=situations())
    def test_a_group_is_decided_as_if_it_were_alone(
        self, policy: EscalationPolicy, rows: Situation
    ) -> None:
        if policy.is_sequential:
            pytest.skip("a sequential policy compares all candidates")
        together = policy.decide(rows)
        for number in np.unique(rows.group):
            of_group = rows.group == number

            alone = policy.decide(subset(rows, of_group))

            assert alone.action.tolist() == together.action[of_group].tolist()
            assert alone.to.tolist() == together.to[of_group].tolist()
            np.testing.assert_allclose(alone.verify, together.verify[of_group], atol=1e-6)

    @_of_a_class
    @given(rows=situations())
    def test_reasons_can_be_told(self, policy: EscalationPolicy, rows: Situation) -> None:
        decisions = policy.decide(rows)
        numbers = {"mean": 1.0, "deviation": 1.0, "benefit": 1.0, "limit": 1.0, "tier": "world"}

        for code in set(decisions.reason.tolist()):
            assert decisions.reasons[code].format_map(numbers).strip()


def decided(policy: EscalationPolicy, rows: Situation) -> Decisions:
    """Decide, where a warning is a failure: logs of a campaign would be full of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return policy.decide(rows)


def check(decisions: Decisions, rows: Situation) -> None:
    """Hold decisions to the contract.

    Raises:
        AssertionError: If one of them can't be carried out or recorded.
    """
    _check_columns(decisions, len(rows))
    wrong = impossible(decisions, rows)
    assert not wrong, wrong
    asks = np.flatnonzero(decisions.action != Action.STOP)
    to = decisions.to[asks]
    escalates = decisions.action[asks] == Action.ESCALATE
    assert rows.affordable[asks, to][escalates].all(), "it escalates past a spent budget"
    assert not decisions.verify[asks].any(), "verify is only for climbs that stop"


def _check_columns(decisions: Decisions, size: int) -> None:
    kinds = {"action": "i", "to": "i", "reason": "i", "verify": "f", "benefit": "f", "limit": "f"}
    for name, kind in kinds.items():
        column = getattr(decisions, name)
        if name == "limit" and column is None:
            continue
        assert isinstance(column, np.ndarray), f"{name} is no array"
        assert column.shape == (size,), f"{name} has shape {column.shape} for {size} rows"
        assert column.dtype.kind == kind, f"{name} holds {column.dtype}"


def assert_same(one: Decisions, other: Decisions) -> None:
    """Hold two decisions to be the same, bit for bit.

    Raises:
        AssertionError: If they differ.
    """
    for field in fields(one):
        values: tuple[Any, Any] = getattr(one, field.name), getattr(other, field.name)
        np.testing.assert_array_equal(*values, err_msg=field.name)
