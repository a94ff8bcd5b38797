"""What a budget has left when nobody follows is spent, however the cheap answers come."""

from dataclasses import dataclass, field
from hashlib import sha256

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

CHEAP, DEAR = 0, 1
LADDER = Ladder(
    "two",
    [
        FunctionVerifier(len, name="cheap", version="1", tier="simulation"),
        FunctionVerifier(
            len, name="dear", version="1", tier="high_fidelity", cost=Cost(money=1.0)
        ),
    ],
)
CALL = 60


def number(text: str, salt: str) -> float:
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
            one.learn("cheap", Verdict.accept(10.0 * number(one.given, "a")))
            self.knowledge.prices.settle(key)
        self._decide(samples, standings, lots, 0)

    def dear(self) -> None:
        """All answers of the dear tier come."""
        for key, one in self.asked.items():
            score = 10.0 * number(one.given, "a") + number(one.given, "b")
            one.learn("dear", Verdict.accept(score, cost=Cost(money=1.0)))
            self.knowledge.prices.settle(key)
        self.spent += len(self.asked)
        standings = list(self.asked.values())
        self.knowledge.learn(self.knowledge.lessons(standings, [None] * len(standings)))
        self.asked.clear()

    def _decide(self, samples, standings, lots, new, more=None):  # type: ignore[no-untyped-def]
        account = Account(int(Tier.HIGH_FIDELITY), Resource.MONEY, self.cap, self.spent, 0, 0, 0)
        scene = Scene(samples, standings, [account], new, CALL, lots=lots, more=more)
        prices = self.knowledge.prices
        for asked in self.climb.step(scene).escalate:
            one = standings[asked.place]
            key = one.keys[asked.column]
            prices.commit(key, asked.column, [0.0, 0.0, float(asked.column), 0.0])
            if asked.column == DEAR:
                self.asked[key] = one
                continue
            self.waiting[key] = samples[asked.place], one, asked.lot
            if asked.lot is not None:
                self.knowledge.promise(key, one, asked.lot)


@settings(max_examples=15)
@given(
    calls=st.sampled_from([1, 2]),
    groups=st.lists(st.tuples(st.integers(1, CALL), st.booleans()), max_size=12),
    seed=st.binary(min_size=4, max_size=4),
)
@example(calls=2, groups=[], seed=b"seed")
@example(calls=1, groups=[(1, True), (2, True), (8, True)], seed=b"seed")
def test_what_is_left_is_spent_however_the_cheap_answers_come(
    calls: int, groups: list[tuple[int, bool]], seed: bytes
) -> None:
    run, coming = Calls(0.4 * CALL * calls, seed), iter(groups)
    for call in range(calls):
        run.score(CALL * (calls - call - 1))
        while run.waiting:
            count, is_answered = next(coming, (CALL, True))
            run.cheap(count)
            if is_answered or not run.waiting:
                run.dear()

    assert run.cap - 2.0 <= run.spent <= run.cap
