"""Plots of a campaign: what they draw is what the ledger says, and it can be printed."""

import io
import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import pytest
import viewed
from histories import ESTIMATE, GATE, History, Item, cost

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.notebook.plots import CampaignPlots
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

KINDS = ("funnel", "reward", "agreement", "cost")


@pytest.fixture(autouse=True)
def _no_screen() -> Iterator[None]:
    from matplotlib import pyplot as plt

    mpl.use("agg")
    yield
    plt.close("all")


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(None) as store:
        yield store


@pytest.fixture
def plots(ledger: Ledger) -> CampaignPlots:
    history = viewed.record(ledger)
    viewed.score(history, [viewed.METHANOL], viewed.GROUP)
    return CampaignPlots(ledger, "try")


def bars(ax: Any, label: str) -> list[float]:
    """Lengths of the bars of this name, from above."""
    (found,) = [bars for bars in ax.containers if bars.get_label() == label]
    return [bar.get_width() for bar in found]


def line(ax: Any, label: str) -> list[tuple[float, float]]:
    (found,) = [line for line in ax.get_lines() if line.get_label() == label]
    return [*zip(found.get_xdata(), found.get_ydata(), strict=True)]


def test_the_steps_of_a_training_are_drawn_and_not_those_of_its_evaluation(
    ledger: Ledger,
) -> None:
    history = History(ledger)
    for run in ("one", "one/eval"):
        ledger.add_run("try", {"name": run})
        history.score([viewed.METHANOL], run)

    assert [step.run for step in CampaignPlots(ledger, "try").steps()] == ["one"]


def test_the_funnel_has_a_bar_for_each_tier(plots: CampaignPlots) -> None:
    ax = plots.funnel()

    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "fast", "simulation", "high fidelity", "world",
    ]  # fmt: skip
    assert bars(ax, "passed") == [2, 1, 0, 1]
    assert bars(ax, "rejected") == [1, 0, 0, 0]
    assert bars(ax, "open") == [0, 0, 1, 0]
    assert ax.get_xlabel() == "distinct candidates"


def test_rewards_stand_beside_what_audits_say_and_alarms_are_marked(plots: CampaignPlots) -> None:
    ax = plots.reward()
    first, second = plots.steps()

    assert line(ax, "told to the learner") == [(0, first.told), (1, second.told)]
    assert line(ax, "true, by audits") == [(0, first.truth)]
    assert [x for x, _ in line(ax, "alarm")] == [0, 0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "mean reward (learner's scale)")
    assert plots.steps("nobody") == []


def test_the_cheapest_tier_stands_against_the_top(plots: CampaignPlots) -> None:
    ax = plots.agreement()
    point: Any = next(line for line in ax.get_lines() if line.get_marker() == "o")

    assert [[*point.get_xdata()], [*point.get_ydata()]] == [[-5.0], [-4.2]]
    assert ax.get_xlabel() == "score of the fast tier (kcal/mol)"
    assert ax.get_ylabel() == "score of the world tier (kcal/mol)"
    assert "n = 1" in ax.get_title("left")


def test_what_was_spent_stands_against_everything(plots: CampaignPlots) -> None:
    ax, summary = plots.cost(), plots.summary

    assert bars(ax, "spent") == [tier.spent for tier in summary.tiers]
    assert bars(ax, "everything (estimate)") == [
        t.everything.get(Resource.CPU_SECONDS) or 0 for t in summary.tiers
    ]
    assert ax.get_xlabel() == "cpu-seconds"
    with pytest.raises(ConfigError, match="unknown resource 'gold'"):
        plots.cost(resource="gold")


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_drawn_into_axes_that_are_given_and_holds_no_pixels(
    plots: CampaignPlots, kind: str
) -> None:
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots()
    out = io.StringIO()

    assert getattr(plots, kind)(ax) is ax
    figure.savefig(out, format="svg")
    assert "<image" not in out.getvalue()
    with pytest.raises(ConfigError, match=f"{kind}: ax='axes': give an Axes"):
        getattr(plots, kind)("axes")


@pytest.mark.parametrize("kind", KINDS)
def test_what_there_is_not_is_said(ledger: Ledger, kind: str) -> None:
    History(ledger, "try")
    ax = getattr(CampaignPlots(ledger, "try"), kind)()

    assert said(ax)
    ax.figure.canvas.draw()


def said(ax: Any) -> list[str]:
    """What stands in the drawing in words."""
    return [text.get_text() for text in ax.texts if text.get_style() == "italic"]


def test_units_are_no_formulas(ledger: Ledger) -> None:
    history = History(ledger, "try")
    verdicts = {GATE: Verdict.accept(), ESTIMATE: cost(Verdict.accept(1.0, unit=r"$\oops$"), 1.0)}
    item = Item("A", "A", verdicts, Reward(0.5, None, Tier.FAST))
    history.score([item])
    history.check(item, "xtb", Verdict.accept(2.0, unit=r"$\oops$"))
    ax = CampaignPlots(ledger, "try").agreement()

    ax.figure.canvas.draw()
    assert "oops" in ax.get_xlabel()


def test_without_matplotlib_it_says_what_to_install(
    plots: CampaignPlots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(ConfigError, match=r"pip install '\.\[plots\]'"):
        plots.funnel()
