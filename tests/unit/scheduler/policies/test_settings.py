"""Numbers as a person wrote them."""

from math import inf, nan

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.policies.settings import number


@pytest.mark.parametrize("value", [0, 0.5, 1])
def test_limits_belong_to_the_range(value: float) -> None:
    assert value == number("share", value, least=0, most=1)


@pytest.mark.parametrize("value", [-0.1, 1.1, nan, inf, "half", None])
def test_what_is_no_number_of_the_range_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r"share is .*at least 0 and at most 1"):
        number("share", value, least=0, most=1)


@pytest.mark.parametrize("value", [nan, -inf, "high"])
def test_without_limits_it_has_to_be_finite(value: object) -> None:
    with pytest.raises(ConfigError, match=r"give a finite number$"):
        number("threshold", value)
