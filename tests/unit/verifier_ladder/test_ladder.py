"""Ladders, from Python and from TOML."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ladder import Ladder
from verifier_ladder.registry import REGISTRY
from verifier_ladder.resource import Resource
from verifier_ladder.reward import RewardRule, Scorer
from verifier_ladder.scheduler.policies import AllTiers, Thresholds
from verifier_ladder.target import Target
from verifier_ladder.tier import Tier
from verifier_ladder.verifiers import Verifier


def made(name: str, tier: str = "fast", **attributes: Any) -> Verifier:
    return FunctionVerifier(lambda _: 1.0, name=name, version="1", tier=tier, **attributes)


class Window(Verifier):
    """Has a setting."""

    name, version, tier = "window-of-a-test", "1", "fast"

    def __init__(self, *, width: float = 1.0) -> None:
        super().__init__(width=width)

    def verify(self, candidates: Sequence[Candidate]) -> Sequence[float]:
        return [1.0 for _ in candidates]


class WindowTwo(Window):
    """A newer version."""

    version = "2"


REGISTRY.add(Window())
REGISTRY.add(WindowTwo())
REGISTRY.add(made("relax-of-a-test", "simulation", unit="eV"))


# ---- Its verifiers


def test_verifiers_stand_in_the_order_of_their_tiers_gates_first() -> None:
    world, fast, gate = made("w", "world"), made("f"), made("g", role="gate")

    ladder = Ladder("mine", [world, fast, gate])

    assert (Tier.FAST, Tier.WORLD) == ladder.tiers
    assert ["g", "f", "w"] == [verifier.name for verifier in ladder.verifiers]
    assert (gate,) == ladder.rungs[0].gates
    assert (fast,) == ladder.rungs[0].primaries


def test_the_target_is_the_score_of_the_highest_tier() -> None:
    ladder = Ladder("mine", [made("cheap"), made("dear", "world", unit="kcal/mol")])

    assert Target("dear", "kcal/mol") == ladder.target


def test_names_are_looked_up() -> None:
    assert ["relax-of-a-test"] == [v.name for v in Ladder("mine", ["relax-of-a-test"]).verifiers]


def test_an_unknown_verifier_gets_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"did you mean .*relax-of-a-test"):
        Ladder("mine", ["relx-of-a-test"])


def test_a_tier_holds_two_scoring_verifiers() -> None:
    ladder = Ladder("mine", [made("a", unit="eV", weight=3.0), made("b", unit="eV")])

    assert ("a+b", "eV") == (ladder.target.name, ladder.target.unit)
    assert ((Scorer("a", 3.0), Scorer("b", 1.0)),) == ladder.scorers
    assert ladder.digest != Ladder("mine", [made("a", unit="eV"), made("b", unit="eV")]).digest


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), 1e7, True, "2"])
def test_a_weight_is_a_positive_number(weight: Any) -> None:
    with pytest.raises(ConfigError, match="weight"):
        made("a", weight=weight)


@pytest.mark.parametrize(
    "verifiers",
    [[made("relax", unit="eV", same_quantity=True), made("assay", "world", unit="kcal/mol")],
     [made("relax", unit="eV", deviation=0.1), made("assay", "world")],
     [made("relax"), made("assay", "world", unit="eV")]],
)  # fmt: skip
def test_an_estimate_of_the_target_in_another_unit_is_refused(verifiers: Any) -> None:
    with pytest.raises(ConfigError, match="in eV, and the target is in kcal/mol: give both one"):
        Ladder("mine", verifiers, target=Target("energy", unit="kcal/mol"))


def test_mixed_kinds_are_refused() -> None:
    with pytest.raises(ConfigError, match="crystal and molecule"):
        Ladder("mine", [made("a", kind="molecule"), made("b", "world", kind="crystal")])


def test_one_verifier_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="verifier a twice"):
        Ladder("mine", [made("a"), made("a", "world")])


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_ladder_needs_a_name(name: Any) -> None:
    with pytest.raises(ConfigError, match="needs a name"):
        Ladder(name, [made("a")])


@pytest.mark.parametrize("verifiers", ["relax-of-a-test", None, 3])
def test_verifiers_must_be_a_list(verifiers: Any) -> None:
    with pytest.raises(ConfigError, match="list of verifiers"):
        Ladder("mine", verifiers)


def test_one_verifier_without_a_list_is_refused() -> None:
    with pytest.raises(ConfigError, match="list of verifiers"):
        Ladder("mine", made("a"))  # type: ignore[arg-type]


def test_a_ladder_without_verifiers_is_refused() -> None:
    with pytest.raises(ConfigError, match="no verifiers"):
        Ladder("mine", [])


def test_a_bare_function_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"vl\.wrap"):
        Ladder("mine", [len])  # type: ignore[list-item]


# ---- Its numbers


@pytest.mark.parametrize("audit", [-0.1, 1.1, float("nan"), "5 %", True])
def test_a_share_that_is_none_is_refused(audit: Any) -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        Ladder("mine", [made("a")], audit=audit)


@pytest.mark.parametrize(
    "budget",
    [{"high_fidelity": "2 bananas"}, {"hi_fi": "2 h"}, {"fast": -1}, "2 h", 3, {"fast": None}],
    ids=repr,
)
def test_a_budget_in_nonsense_units_is_refused(budget: Any) -> None:
    with pytest.raises(ConfigError, match=r"amount|tier"):
        Ladder("mine", [made("a")], budget=budget)


def test_a_budget_is_kept_in_seconds() -> None:
    ladder = Ladder("mine", [made("a")], budget={"high_fidelity": "2 h"})

    assert {(Tier.HIGH_FIDELITY, Resource.CPU_SECONDS): 7200.0} == ladder.budget


@pytest.mark.parametrize(
    "prior",
    [(0.0,), (0.0, 0.0), (0.0, -1.0), (float("nan"), 1.0), (0.0, float("inf")), "ab", 3],
    ids=repr,
)
def test_a_prior_that_is_no_mean_and_deviation_is_refused(prior: Any) -> None:
    with pytest.raises(ConfigError, match="mean and the standard deviation"):
        Ladder("mine", [made("a")], prior=prior)


def test_how_much_is_audited_is_left_to_the_budget() -> None:
    assert Ladder("mine", [made("a")]).audit is None


def test_a_policy_may_be_named() -> None:
    assert "all_tiers" == Ladder("mine", [made("a")], policy="all_tiers").policy.name


@pytest.mark.parametrize("policy", [AllTiers, 7, {"name": "all_tiers"}, {}, 0])
def test_what_is_no_policy_is_refused(policy: Any) -> None:
    with pytest.raises(ConfigError, match="ladder mine takes a policy's name"):
        Ladder("mine", [made("a")], policy=policy)


def test_a_verifier_whose_init_was_not_called_is_refused() -> None:
    class Hasty(Verifier):
        name, version, tier, kind = "hasty", "1", Tier.FAST, "text"

        def __init__(self) -> None:
            """Forget the parent's."""

    with pytest.raises(ConfigError, match=r"Hasty.__init__ does not call super"):
        Ladder("mine", [Hasty()])


def test_a_policy_that_asks_every_tier_needs_no_audits() -> None:
    assert 0.25 == Ladder("mine", [made("a")], policy=AllTiers(), audit=0.25).audit


# ---- Its digest


@pytest.mark.parametrize(
    "change",
    [
        {"reward": RewardRule(reject=-1.0)}, {"policy": AllTiers()}, {"audit": 0.5},
        {"prior": (0.0, 1.0)}, {"target": Target(direction="minimise")},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_what_affects_rewards_affects_the_digest(change: dict[str, Any]) -> None:
    cheap = made("a")

    assert Ladder("mine", [cheap]).digest != Ladder("mine", [cheap], **change).digest


def test_a_budget_does_not_affect_the_digest() -> None:
    cheap = made("a")

    assert Ladder("mine", [cheap]).digest == Ladder("mine", [cheap], budget={"fast": 1}).digest


# ---- TOML

WHOLE = """
name = "mine"
kind = "text"
audit = 0.25
verifiers = ["relax-of-a-test", { name = "window-of-a-test", version = 1, settings.width = 2.5 }]
[target]
name = "gap"
unit = "eV"
direction = "minimise"
[reward]
low = 4.0
high = 0.5
reject = -1
[policy]
name = "thresholds"
thresholds = { simulation = 3.0 }
[budget]
simulation = "2 h"
[prior]
mean = 2
deviation = 1.5
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "ladder.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_ladder_in_toml_is_the_one_in_python(tmp_path: Path) -> None:
    again = Ladder(
        "mine", [Window(width=2.5), REGISTRY.get("relax-of-a-test")],
        target=Target("gap", "eV", "minimise"), reward=RewardRule(4.0, 0.5, reject=-1),
        policy=Thresholds(thresholds={"simulation": 3.0}), audit=0.25,
        budget={"simulation": 7200}, prior=(2.0, 1.5),
    )  # fmt: skip

    ladder = Ladder.from_toml(written(tmp_path, WHOLE))

    assert again.as_json() == ladder.as_json()
    assert again.digest == ladder.digest


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("name =", "nam ="), "no section nam"),
        (('name = "mine"', "name = 3"), "needs a name"),
        (('"relax-of-a-test"', '"relx-of-a-test"'), "did you mean"),
        (("settings.width", "setings.width"), "no setings"),
        (("settings.width", "settings.wdth"), "wdth"),
        (("version = 1", "version = 7"), "no version '7'"),
        (('"relax-of-a-test"', "3"), "no name: 3"),
        (("audit = 0.25", 'audit = "much"'), "between 0 and 1"),
        (("minimise", "down"), "write 'maximise'"),
        (("low = 4.0", "lwo = 4.0"), "no lwo"),
        (("high = 0.5", "high = 4.0"), "two different numbers"),
        (("2 h", "2 bananas"), "amount of time"),
        (('simulation = "2 h"', 'simulatoin = "2 h"'), "unknown tier"),
        (("deviation = 1.5", ""), "mean and the standard deviation"),
        (("deviation = 1.5", "deviation = 1.5\nmedian = 1"), "no median"),
        (('name = "thresholds"', 'name = "bandit"'), "no policy"),
        (("thresholds = {", "limits = {"), "limits"),
        (("simulation = 3.0", 'simulation = "high"'), "finite number"),
        (('kind = "text"', 'kind = "crystal"'), "for kind 'crystal'"),
        (("[prior]", "[[prior]]"), "must be a table"),
        (("name", "na me"), "not TOML"),
    ],
    ids=str,
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, change: tuple[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Ladder.from_toml(written(tmp_path, WHOLE.replace(*change, 1)))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"can't read ladder .*No such file"):
        Ladder.from_toml(tmp_path / "nowhere.toml")


def test_a_folder_is_not_a_ladder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't read ladder"):
        Ladder.from_toml(tmp_path)


def test_a_file_that_is_not_text_is_not_toml(tmp_path: Path) -> None:
    path = tmp_path / "ladder.toml"
    path.write_bytes(b"\xff\xfe\0")

    with pytest.raises(ConfigError, match="not TOML"):
        Ladder.from_toml(path)


@pytest.mark.parametrize("observed", ["inside", ""])
def test_a_ladder_that_demands_to_see_from_outside_takes_no_other_verifier(
    observed: str, tmp_path: Path
) -> None:
    found = made("seen", observed=observed)
    REGISTRY.add(found)
    file = tmp_path / "ladder.toml"
    file.write_text('name = "l"\nobserved = "outside"\nverifiers = ["seen"]\n')

    with pytest.raises(ConfigError, match=r'demands observed="outside", and verifier seen'):
        Ladder("l", [found], observed="outside")
    with pytest.raises(ConfigError, match=r'demands observed="outside", and verifier seen'):
        Ladder.from_toml(file)
    with pytest.raises(ConfigError, match='can demand "outside"'):
        Ladder("l", [found], observed="inside")


def test_a_ladder_records_what_it_demands_and_not_what_nobody_does() -> None:
    found = made("seen", observed="outside")
    strict, plain = Ladder("l", [found], observed="outside"), Ladder("l", [found])

    assert "outside" == strict.as_json()["observed"]
    assert "observed" not in plain.as_json()
    assert strict.digest != plain.digest
    with pytest.raises(ConfigError, match="write outside or inside"):
        made("seen", observed="above")
