"""What a budget has left when nobody follows is spent, however the cheap answers come."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate, SampleId
from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.keys import content_key
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Account
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.beliefs import create_model
from verifier_ladder.scheduler.climb import Climb, Scene
from verifier_ladder.scheduler.draws import Lot
from verifier_ladder.scheduler.knowledge import Knowledge
from verifier_ladder.scheduler.samples import StepSamples
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

DEAR, TAKES = 1, 5.0
LADDER = Ladder(
    "two",
    [
        FunctionVerifier(len, name="cheap", version="1", tier="simulation"),
        FunctionVerifier(len, name="dear", version="1", tier="high_fidelity", cost=Cost(TAKES)),
    ],
)
CALL = 100


def number(text: object, salt: str) -> float:
    """Between 0 and 1, and another one for each text."""
    return int(sha256(f"{text} {salt}".encode()).hexdigest()[:8], 16) / 2**32


def standing(text: str) -> Standing:
    made = Standing(Candidate("text", text), content_key("text", text), text)
    made.keys = tuple(made.key_of(verifier, place) for verifier, place in LADDER.askings)
    return made


@dataclass
class Calls:
    """Calls of one campaign, whose answers come in groups of any size."""

    cap: float
    seed: bytes
    spent: float = 0.0
    step: int = -1
    waiting: dict[bytes, tuple[SampleId, Standing, Lot | None]] = field(default_factory=dict)
    asked: dict[bytes, Standing] = field(default_factory=dict)
    told: list[Standing] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.knowledge = Knowledge(LADDER, create_model(LADDER))
        self.climb = Climb(self.knowledge, self.seed)

    def score(self, more: int) -> None:
        """A call, after which so many samples follow."""
        self.step += 1
        texts = [f"{self.step} {place} {self.seed.hex()}" for place in range(CALL)]
        samples = StepSamples("run", self.step, range(CALL))
        self._decide(samples, list(map(standing, texts)), None, CALL, more)

    def cheap(self, count: int) -> None:
        """The next so many answers of the cheap tier come together."""
        keys = list(self.waiting)[:count]
        samples, standings, lots = zip(*map(self.waiting.pop, keys), strict=True)
        for key, one in zip(keys, standings, strict=True):
            took = Cost(1e-5 * 50.0 ** number(one.given, "time"))
            one.learn("cheap", Verdict.accept(10.0 * number(one.given, "a"), cost=took))
            self.knowledge.prices.settle(key)
        self._learn_costs("cheap", standings)
        self._decide(samples, standings, lots, 0)
        self.told.extend(standings)

    def dear(self) -> None:
        """All answers of the dear tier come."""
        for key, one in self.asked.items():
            score = 10.0 * number(one.given, "a") + number(one.given, "b")
            one.learn("dear", Verdict.accept(score, cost=Cost(TAKES)))
            self.knowledge.prices.settle(key)
        self.spent += TAKES * len(self.asked)
        standings = list(self.asked.values())
        self.knowledge.learn(self.knowledge.lessons(standings, [None] * len(standings)))
        self._learn_costs("dear", standings)
        self.asked.clear()

    def left(self) -> float:
        """How many checks of the dear tier the budget still pays, as far as can be foreseen."""
        self.knowledge.prices.balance([self._account])
        shares = self.knowledge.shares([self.told[-1].in_group()], np.zeros((2, len(Resource))))
        return float(1.0 / shares[0])

    @property
    def _account(self) -> Account:
        place = int(Tier.HIGH_FIDELITY), Resource.CPU_SECONDS
        return Account(*place, self.cap, self.spent, 0.0, 0.0, 0)

    def _learn_costs(self, verifier: str, standings: Sequence[Standing]) -> None:
        self.knowledge.costs.learn(self.knowledge.costs.lessons(verifier, standings))

    def _decide(
        self,
        samples: Sequence[SampleId],
        standings: Sequence[Standing],
        lots: Sequence[Lot | None] | None,
        new: int,
        more: int | None = None,
    ) -> None:
        scene = Scene(samples, standings, [self._account], new, CALL, lots=lots, more=more)
        prices = self.knowledge.prices
        for asked in self.climb.step(scene).escalate:
            one = standings[asked.place]
            key = one.keys[asked.column]
            cost = self.knowledge.costs.predict([one])[0, asked.column]
            prices.commit(key, asked.column, cost.tolist())
            if asked.column == DEAR:
                self.asked[key] = one
                continue
            self.waiting[key] = samples[asked.place], one, asked.lot
            if asked.lot is not None:
                self.knowledge.promise(key, one, asked.lot)


@settings(max_examples=4)
@given(
    calls=st.sampled_from([1, 2]),
    groups=st.lists(st.tuples(st.integers(1, CALL), st.booleans()), max_size=6),
    seed=st.binary(max_size=4),
)
@example(calls=1, groups=[(1, True), (37, False), (2, True)], seed=b"a")
def test_what_is_left_is_spent_however_the_cheap_answers_come(
    calls: int, groups: list[tuple[int, bool]], seed: bytes
) -> None:
    assert left_of(calls, groups, seed) <= 1.5


def left_of(calls: int, groups: list[tuple[int, bool]], seed: bytes) -> float:
    """How many checks could still be paid when all have been decided."""
    run, coming = Calls(240.0, seed), iter(groups)
    for call in range(calls):
        run.score(CALL * (calls - call - 1))
        while run.waiting:
            count, is_answered = next(coming, (CALL, True))
            run.cheap(count)
            left = run.left()
            if is_answered or not run.waiting:
                run.dear()
    return left
