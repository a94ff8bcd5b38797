"""Resources have a name for tables and one for sentences."""

import pytest

from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.resource import Resource


@pytest.mark.parametrize("resource", Resource)
def test_a_label_names_its_resource(resource: Resource) -> None:
    assert resource == Resource.parse(resource.label) == Resource.parse(resource)


def test_bare_seconds_are_those_of_a_cpu() -> None:
    assert Resource.CPU_SECONDS is Resource.parse("seconds")


def test_an_unknown_resource_gets_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="cpu_seconds, gpu_seconds, money, person_minutes"):
        Resource.parse("patience")


def test_a_cost_has_an_amount_for_every_resource() -> None:
    cost = Cost(seconds=1.0, gpu_seconds=2.0, money=3.0, person_minutes=4.0)

    assert {r.label: a for r, a in zip(Resource, cost.amounts, strict=True)} == {
        "cpu_seconds": 1.0, "gpu_seconds": 2.0, "money": 3.0, "person_minutes": 4.0
    }  # fmt: skip


def test_costs_add_up() -> None:
    assert Cost(3.0, money=4.0) == Cost(1.0, money=1.0) + Cost(1.0, money=1.5).times(2.0) + Cost()
