"""The public interface as typed code uses it. Never run: `mypy --strict` must accept it.

A `type: ignore` marks a mistake that the types must catch; mypy complains if it no longer does.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import assert_type

import verifier_ladder as vl
from verifier_ladder.learners.trl import RewardFunction, reward_function

# ---- Nouns

candidate = vl.Candidate("molecule", "CCO", {"target": -4.7}, (vl.Turn("look up", "found"),))
sample = vl.Sample(candidate, run="mine", step=3, group="prompt 1", weight=0.5)
assert_type(candidate.content, str | bytes)
assert_type(vl.SampleId("mine", 3, 0).position, int)

vl.Candidate("molecule", 3)  # type: ignore[arg-type]
candidate.kind = "crystal"  # type: ignore[misc]

# ---- Verdicts

verdict = vl.Verdict.accept(-4.7, uncertainty=0.6, unit="kcal/mol", evidence={"method": "xTB"})
assert_type(verdict.score, float | None)
assert_type(verdict.outcome, vl.Outcome)
vl.Verdict.reject("not a molecule", feedback="close the ring")
vl.Verdict.abstain("did not converge", failed_at="tool")

vl.Verdict.abstain()  # type: ignore[call-arg]

# ---- Verifiers


@vl.verifier(tier="fast", kind="molecule", version="1", cost=vl.Cost(seconds=2e-5), role="gate")
def short(one: vl.Candidate) -> bool:
    """A function of one candidate."""
    return len(one.content) < 80


@vl.verifier(kind="molecule", batch=True)
def lengths(many: Sequence[vl.Candidate]) -> list[float]:
    """A function of many."""
    return [float(len(one.content)) for one in many]


@vl.verifier
async def judge(one: vl.Candidate) -> vl.Verdict:
    """An async function."""
    return vl.Verdict.accept(float(len(one.content)))


class Relaxation(vl.Verifier):
    """A class with a model to load."""

    name = "relaxation"
    version = "2"
    tier = vl.Tier.SIMULATION
    kind = "molecule"

    def __init__(self, steps: int = 200) -> None:
        """Take a setting that affects results."""
        super().__init__(steps=steps)

    def setup(self) -> None:
        """Load the model."""
        self.model = "model"

    def verify(self, candidates: Sequence[vl.Candidate]) -> Sequence[vl.Verdict]:
        """Judge a batch."""
        return [vl.Verdict.accept(0.0, unit=self.unit) for _ in candidates]


def accuracy(completions: list[str], answer: list[str]) -> list[float]:
    """An existing reward function."""
    return [float(c == a) for c, a in zip(completions, answer, strict=True)]


wrapped = vl.wrap(accuracy, version="1", columns=["answer"], timeout=5.0)
assert_type(wrapped.judge([candidate]), list[vl.Verdict])

# ---- Ladders and campaigns

ladder = vl.Ladder(
    "mine",
    [short, lengths, Relaxation(steps=50), "registered-elsewhere"],
    target=vl.Target("energy", unit="eV", direction="minimise"),
    reward=vl.RewardRule(low=0.0, high=-10.0),
    audit=0.05,
    budget={"simulation": "2 h"},
)
assert_type(ladder.tiers, tuple[vl.Tier, ...])
assert_type(vl.Ladder.from_toml(Path("mine.toml")), vl.Ladder)

vl.Ladder("mine", [accuracy])  # type: ignore[list-item]
vl.Target("energy", direction="up")  # type: ignore[arg-type]

with vl.Campaign.open(
    "try", ladder=ladder, ledger="ledger.db", budget={"simulation": 60}
) as open_:
    assert_type(open_, vl.Campaign)
    rewards = open_.score(["CCO", candidate, sample], deadline="30 s")
    assert_type(rewards, list[vl.Reward])
    assert_type(rewards[0].value, float | None)
    assert_type(open_.revisions(after=open_.cursor, wait=1.0), Iterator[vl.Revision])
    rewards[0].value + 1.0  # type: ignore[operator]  # None means unknown.


def late(campaign: vl.Campaign) -> list[float | None]:
    """Old scores, a shadow's report, and what late answers change."""
    report = campaign.import_verdicts([{"content": "CCO", "short": True}], source="last year")
    assert_type(report.taught, int)
    assert_type(campaign.shadow_report().flip_rate, float | None)
    assert_type(next(campaign.revisions()).advantage_change, float | None)
    return [sample.change for sample in campaign.advantages("mine", 3, since=7)]


async def from_a_loop(campaign: vl.Campaign) -> list[float | None]:
    """Score without holding up an event loop."""
    return [reward.value for reward in await campaign.ascore(["CCO"])]


# ---- Over HTTP


def asked(client: vl.Client) -> bool:
    """A client is asked as a campaign is."""
    assert_type(client.score(["CCO", sample], deadline=30, prompts={"g": "?"}), list[vl.Reward])
    client.score(["CCO"], patience=30)  # type: ignore[call-arg]
    (case,) = client.cases()
    assert_type(case, vl.Case)
    return client.answer(case, -4.7, source="lab")


async def asked_from_a_loop(client: vl.AsyncClient) -> list[float | None]:
    """The same without holding up an event loop."""
    assert_type(await client.cases(), list[vl.Case])
    return [reward.value for reward in await client.score(["CCO"], run="train", step=3)]


# ---- Learners

reward = reward_function(
    wrapped, ledger="ledger.db", deadline=30, run=vl.Run("mine", project="p"), on_abstain=None
)
assert_type(reward, RewardFunction)
assert_type(reward.__name__, str)
reward_function(accuracy)  # type: ignore[arg-type]

# ---- Errors


def told(error: vl.LadderError) -> str:
    """Every error knows the boundary that was crossed."""
    return error.boundary


for kind in (vl.CandidateError, vl.ToolError, vl.ConfigError, vl.PluginError):
    told(kind("what to do"))
