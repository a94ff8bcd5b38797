"""One quantity has one name and one source: numbers that stand in two places are the same there.

The campaign sleeps, spends money, fails, rejects, repeats candidates and runs out of budget.
"""

import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.analysis.overview import overview
from verifier_ladder.analysis.totals import campaign_counts
from verifier_ladder.cli.app import app
from verifier_ladder.report import render_report
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.summary import Summary, print_summary, summarise
from verifier_ladder.summary.amounts import duration
from verifier_ladder.summary.terminal import everything_text

PAUSE = 0.15
"""Seconds that the judge sleeps for each candidate: wall time, and next to no cpu time."""
JUDGED = 6


@vl.verifier(tier="fast", version="1")
def quick(candidate: vl.Candidate) -> vl.Verdict:
    text = str(candidate.content)
    return vl.Verdict.reject("it says bad") if "bad" in text else vl.Verdict.accept(len(text) / 9)


@vl.verifier(tier="simulation", version="1", cost=vl.Cost(seconds=0.01, money=0.5))
def judge(candidate: vl.Candidate) -> float:
    sleep(PAUSE)
    if "broken" in str(candidate.content):
        raise vl.VerifierError("the judge is out")
    return 1.0


@vl.verifier(tier="high_fidelity", version="1", cost=vl.Cost(gpu_seconds=2.0))
def dear(candidate: vl.Candidate) -> float:
    return float(len(str(candidate.content)) + 1)


class Run:
    """The campaign as its ledger tells it, in every way that a user can look at it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.texts = [f"text {n}" for n in range(JUDGED)] + ["text 0", "bad", "bad too", "broken"]
        ladder = vl.Ladder("l", [quick, judge, dear], policy=Thresholds())
        began = monotonic()
        budget: Any = {"simulation": {"money": 3.5}, "high_fidelity": {"gpu_seconds": 6.0}}
        with vl.Campaign.open(
            "agree", ladder=ladder, ledger=place, budget=budget, workers=2, run="r"
        ) as campaign:
            campaign.score(self.texts)
            campaign.drain("300 s")
        self.took = monotonic() - began
        with vl.open_ledger(place) as ledger:
            self.summary: Summary = summarise(ledger, "agree")
            self.page = render_report(ledger, "agree")
        console = Console(file=StringIO(), width=200, color_system=None)
        print_summary(self.summary, console)
        assert isinstance(console.file, StringIO)
        self.terminal = console.file.getvalue()

    def command(self, *arguments: str) -> Any:
        done = CliRunner().invoke(app, [*arguments, "--json", "--ledger", str(self.place)])
        assert 0 == done.exit_code, done.output
        return json.loads(done.stdout.splitlines()[0] if "watch" in arguments else done.stdout)

    def row(self, table: str, tier: str) -> dict[str, str]:
        """One tier's row of a table of the terminal, by the names of its columns."""
        lines = self.terminal[self.terminal.index(f"\n{table} ") + 1 :].splitlines()
        split: Callable[[str], list[str]] = lambda line: re.split(r" {2,}", line.strip())  # noqa: E731
        cells = next(line for line in lines if line.startswith(tier))
        return dict(zip(split(lines[0])[1:], split(cells)[1:], strict=True))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("agree") / "ledger.db")


def spin(candidate: vl.Candidate) -> float:
    return float(sum(range(200_000)) % 2 + len(str(candidate.content)))


def render_report_of(place: Path, name: str) -> str:
    with vl.open_ledger(place) as ledger:
        return render_report(ledger, name)


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def test_a_judge_that_sleeps_is_told_with_its_wall_time_latency_and_money(run: Run) -> None:
    tier = run.summary.tiers[1]
    row = run.row("cost", "simulation")

    assert tier.wall is not None
    assert tier.latency is not None
    assert JUDGED * PAUSE / 2 <= tier.wall <= run.took
    assert PAUSE <= tier.latency.median <= tier.latency.high <= run.took
    assert tier.spent < tier.wall
    assert duration(tier.wall) == row["wall time"]
    assert duration(tier.latency.median) in row["median answer"]
    assert f"{tier.resources[Resource.MONEY]:.2f}" == row["money"]
    assert f"{tier.resources[Resource.MONEY]:.2f} of money" in run.terminal
    for told in (
        duration(tier.wall) + " of wall time",
        f"half answered in {duration(tier.latency.median)}",
        "of money",
    ):
        assert told in words(run.page)


def test_scores_and_report_cards_tell_the_same_wall_time_and_money(run: Run) -> None:
    tier = run.summary.tiers[1]
    card = run.command("run", "report", "r")
    place = ["--ledger", str(run.place)]
    markdown = CliRunner().invoke(app, ["run", "report", "r", *place]).stdout

    costs = {cost["resource"]: cost for cost in card["costs"] if cost["tier"] == "simulation"}
    assert costs["cpu_seconds"]["wall"] == pytest.approx(tier.wall)
    assert costs["money"]["spent"] == pytest.approx(tier.resources[Resource.MONEY])
    assert f"| {duration(tier.wall)} |" in markdown


def test_gpu_time_is_told_where_it_was_spent(run: Run) -> None:
    tier = run.summary.tiers[2]

    assert 0.0 < tier.resources[Resource.GPU_SECONDS] <= 6.0
    assert f"{duration(tier.resources[Resource.GPU_SECONDS])} of gpu time" in words(run.page)
    assert "gpu time" in run.terminal


def test_what_the_fast_tier_took_is_known_too(run: Run) -> None:
    fast = run.summary.tiers[0]

    assert fast.latency is not None
    assert fast.checks == fast.latency.checks
    assert "–" not in run.row("cost", "fast")["wall time"]


def test_the_json_is_the_summary(run: Run) -> None:
    assert json.loads(json.dumps(run.summary.as_json())) == run.command("campaign", "show")


def known(told: Any, of: Any) -> Any:
    """What stands in `of` wherever something is told: null is not known."""
    if isinstance(told, dict):
        return {name: known(told[name], of[name]) for name in told if told[name] is not None}
    if isinstance(told, list):
        return [known(*pair) for pair in zip(told, of, strict=True)]
    return pytest.approx(of, rel=1e-9) if isinstance(of, float) else of


def test_an_overview_tells_nothing_else_than_the_summary(run: Run) -> None:
    with vl.open_ledger(run.place) as ledger:
        told = json.loads(json.dumps(overview(ledger, "agree").as_json()))
    counted, best = told.pop("counted"), told.pop("best")
    full = json.loads(json.dumps(run.summary.as_json()))

    assert told.keys() == full.keys() - {"best"}
    assert known(told, told) == known(told, full)
    assert {"entries", "samples", "rewards", "tiers", "runs", "spent", "checks"} <= {
        name for name, part in told.items() if part is not None
    }  # fmt: skip
    assert counted["failures"] == {f.boundary: f.attempts for f in run.summary.failures}
    scores = [c.scores[vl.Tier.HIGH_FIDELITY] for c in run.summary.best
              if vl.Tier.HIGH_FIDELITY in c.scores]  # fmt: skip
    assert sorted((s.value for s in scores), reverse=True) == [one["known"] for one in best] != []


def test_counters_tell_how_every_check_ended(run: Run) -> None:
    with vl.open_ledger(run.place) as ledger:
        counts = campaign_counts(ledger, "agree")

    for tier in run.summary.tiers:
        (one,) = (v for v in counts.verifiers if v.tier is tier.tier)
        assert (one.answered, one.rejected) == (tier.checks, tier.rejected)
        assert (one.accepted, one.abstained) == (tier.accepted, tier.abstained)
    assert counts.samples - (counts.known or 0) == run.summary.rewards.unknown
    assert counts.rewards.mean == pytest.approx(run.summary.rewards.mean)
    assert (counts.revised, counts.waiting) == (run.summary.rewards.revised, 0)


def test_every_count_of_the_terminal_stands_in_the_summary(run: Run) -> None:
    for tier in run.summary.tiers:
        row = {name: 0 if cell == "·" else int(cell)
               for name, cell in run.row("candidates", tier.tier.label).items()}  # fmt: skip
        told = {"asked": tier.asked, "passed": tier.accepted, "rejected": tier.rejected,
                "no opinion": tier.abstained, "failed": tier.failed, "parked": tier.parked,
                "queued": tier.queued + tier.running, "waiting": tier.waiting,
                "expired": tier.expired}  # fmt: skip
        assert {name: told[name] for name in row} == row
        assert tier.asked == tier.answered + tier.failed + tier.open
        assert str(tier.checks or "·") == run.row("cost", tier.tier.label)["checks"]


def test_the_page_says_of_every_tier_what_the_summary_says(run: Run) -> None:
    page = words(run.page)

    for tier in run.summary.tiers:
        name = tier.tier.label.replace("_", " ")
        assert re.search(rf"{name} .*?{tier.asked} asked", page)
        assert f"{tier.checks} check" in page
    answered = {t.tier.label: t.answered for t in run.summary.tiers}
    assert f"{answered['simulation']} got an answer from simulation" in page
    assert f"{answered['high_fidelity']} got an answer from high fidelity" in page
    assert "climbed to" not in page


def test_cpu_time_is_one_number_wherever_it_is_told(run: Run) -> None:
    summary, spent = run.summary, duration(run.summary.spent)
    lines = run.command("campaign", "spend", "--by", "tier")
    rows = lines["lines"] if isinstance(lines, dict) else lines
    paid = sum(sum(row[what].get("cpu_seconds", 0.0) for what in ("settled", "failed"))
               for row in rows)  # fmt: skip
    status = run.command("campaign", "watch", "--once")

    assert summary.spent == pytest.approx(paid, abs=1e-5)
    assert summary.spent == pytest.approx(summary.curve[-1].seconds, abs=1e-5)
    assert summary.spent == pytest.approx(
        sum(tier["settled"] + tier["failed"] for tier in status["tiers"]), abs=1e-9
    )
    assert f"Spent {spent} of cpu time" in run.terminal
    assert f"It took {spent} of cpu time" in words(run.page)


def test_a_tier_that_has_spent_something_has_measured_something(run: Run) -> None:
    for tier in run.summary.tiers:
        assert (tier.settled > 0.0) == (tier.mean_seconds is not None)


def test_inline_checks_are_measured_too(tmp_path: Path) -> None:
    inline = vl.verifier(tier="fast", version="1", isolation="inline")(spin)
    with vl.Campaign.open("in", ladder=vl.Ladder("in", [inline]), ledger=tmp_path / "l.db") as c:
        c.score(["a", "b"])
        summary = summarise(c.ledger, "in")

    assert summary.spent > 0.0
    (tier,) = summary.tiers
    assert tier.everything[Resource.CPU_SECONDS] == pytest.approx(summary.spent)
    assert "not known" not in words(render_report_of(tmp_path / "l.db", "in"))


def test_failed_attempts_cost_what_their_tier_says(run: Run) -> None:
    by_reason = sum(f.seconds for f in run.summary.failures)

    assert by_reason == pytest.approx(sum(t.failed_seconds for t in run.summary.tiers), abs=1e-5)


def test_samples_candidates_and_duplicates_add_up(run: Run) -> None:
    summary = run.summary

    assert len(run.texts) == summary.samples == summary.candidates + summary.duplicates
    assert summary.rewards.count == summary.samples == sum(r.samples for r in summary.runs)
    assert f"{summary.samples} outputs" in run.terminal
    assert f"{summary.samples} outputs" in words(run.page)


def test_a_killed_attempt_is_charged_what_was_reserved_and_the_chart_says_so(
    tmp_path: Path,
) -> None:
    """A check that runs out of budget costs less by the accounts than what was measured."""

    @vl.verifier(tier="simulation", version="1", cost=vl.Cost(seconds=0.02), timeout=20.0)
    def endless(candidate: vl.Candidate) -> float:
        x = len(str(candidate.content))
        while True:
            x += 1

    ladder = vl.Ladder("l", [quick, endless], policy=Thresholds())
    with vl.Campaign.open(
        "burnt", ladder=ladder, ledger=tmp_path / "l.db", budget={"simulation": 0.3}, workers=1
    ) as campaign:
        campaign.score(["abc"])
        campaign.drain("300 s")
        summary = summarise(campaign.ledger, "burnt")

    assert summary.spent <= 0.3 + summary.tiers[0].spent + 1e-6
    assert summary.failures
    assert summary.curve[-1].seconds == pytest.approx(summary.spent, abs=1e-5)
    assert sum(f.seconds for f in summary.failures) == pytest.approx(
        summary.tiers[1].failed_seconds, abs=1e-5
    )


def test_climbing_everything_is_told_alike_for_each_resource(run: Run) -> None:
    everything = run.summary.everything
    text = everything_text(run.summary)

    # Seven candidates pass the first tier, and three were paid for on the dearest.
    assert everything[Resource.GPU_SECONDS] == pytest.approx(7 * 2.0)
    assert everything[Resource.MONEY] > run.summary.resources[Resource.MONEY]
    assert f"would have cost about {text}" in " ".join(run.terminal.split())
    assert f"would have taken about {text}" in words(run.page)
    for part in text.replace(" and ", ", ").split(", "):
        assert f"≈ {part}" in words(run.page)
    shown = run.command("campaign", "show", "agree")["everything"]
    assert {resource.label: amount for resource, amount in everything.items()} == shown
