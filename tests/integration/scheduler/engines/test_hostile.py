"""Verifiers that do their worst: their own candidate abstains, all others get their verdicts."""

import ctypes
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.campaign import Campaign
from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ladder import Ladder
from verifier_ladder.scheduler.engines import process
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict
from verifier_ladder.verifiers import Verifier

pytestmark = pytest.mark.usefixtures("forked_workers")

MEGABYTE = 1024**2


def crash() -> None:
    ctypes.string_at(0)


def die() -> None:
    os._exit(0)


def hang() -> None:
    time.sleep(60)


def hang_holding_the_lock() -> None:
    re.match(r"(a+)+$", "a" * 64 + "b")


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def devour() -> None:
    bytearray(4096 * MEGABYTE)


def overflow_the_stack() -> None:
    sys.setrecursionlimit(10**9)
    overflow_the_stack()


def close_everything() -> None:
    os.closerange(0, 1024)
    time.sleep(60)


def leave_a_child_that_holds_the_pipes() -> None:
    if os.fork() == 0:
        time.sleep(60)
    os._exit(1)


def throw() -> None:
    raise ValueError("bad luck")


def leave() -> None:
    sys.exit(3)


def interrupt() -> None:
    raise KeyboardInterrupt


def tell() -> None:
    raise RuntimeError("bad luck")


BY_ENGINE: dict[str, Callable[[], Any]] = {
    "crash": crash,
    "die": die,
    "hang": hang,
    "lock": hang_holding_the_lock,
    "stop": stop,
    "devour": devour,
    "overflow": overflow_the_stack,
    "close": close_everything,
    "orphan": leave_a_child_that_holds_the_pipes,
}
UNKNOWN: dict[str, Callable[[], Any]] = {"leave": leave, "interrupt": interrupt, "tell": tell}
"""Errors that need not come from what a candidate says."""
BY_VERIFIER: dict[str, Callable[[], Any]] = {
    "throw": throw,
    "nan": lambda: nan,
    "infinity": lambda: -((1e308 * 10.0 - 3.0) ** 2),
    "overflow in Python": lambda: (1e308 - 3.0) ** 2,
    "nothing to divide by": lambda: 1 / 0,
    "no such field": lambda: json.loads("{}")["answer"],
    "no match": lambda: re.match("a", "b").group(),  # type: ignore[union-attr]
    "digits": lambda: int("9" * 5000),
    "depth": lambda: json.loads("[" * 100_000),
    "half a character": "\ud800".encode,
    "complex": lambda: 1j,
    "decimal": lambda: Decimal("NaN"),
    "numpy": lambda: np.float64("-inf"),
    "array": lambda: np.zeros(3),
    "fraction": lambda: Fraction(10**400),
    "verdict": lambda: Verdict.accept(10**400),
    "uncertainty": lambda: Verdict.accept(1.0, uncertainty=nan),
    "turns": lambda: Verdict.accept(1.0, turns=(TurnVerdict(0, nan),)),
    "type": object,
    "text": lambda: "1.0",
    "list": lambda: [1.0],
    "huge": lambda: 10**400,
}
DEEDS_AT = {True: "engine", False: "verifier"}
DEEDS = BY_ENGINE | BY_VERIFIER | UNKNOWN


def misbehave(candidate: Candidate) -> Any:
    deed = DEEDS.get(str(candidate.content))
    return deed() if deed else float(len(candidate.content))


class InBatches(Verifier):
    """Reads all candidates first, so that marks mislead."""

    name, version, timeout = "in-batches", "1", 0.3

    def verify(self, candidates: Sequence[Candidate]) -> Sequence[Any]:
        contents = [str(candidate.content) for candidate in candidates]
        if "short" in contents:
            return [1.0] * (len(contents) - 1)
        return [DEEDS[c]() if c in DEEDS else float(len(c)) for c in contents]


ONE_BY_ONE = FunctionVerifier(
    misbehave, name="misbehaving", version="1", timeout=0.3, memory=256 * MEGABYTE
)


def texts(*contents: str) -> list[Candidate]:
    return [Candidate("text", content) for content in contents]


def judged(pool: WorkerPool, verifier: Verifier, *contents: str) -> list[Verdict]:
    return pool.verify(verifier, texts(*contents)).result().verdicts


@pytest.mark.parametrize("deed", BY_ENGINE)
def test_a_lost_worker_costs_only_its_own_candidate(pool: WorkerPool, deed: str) -> None:
    first, culprit, last = judged(pool, ONE_BY_ONE, "a", deed, "ccc")

    assert [1.0, 3.0] == [first.score, last.score]
    assert (Outcome.REJECT, "resource") == (culprit.outcome, culprit.evidence["cause"])


@pytest.mark.parametrize("deed", BY_VERIFIER)
def test_content_that_makes_a_verifier_fail_is_rejected(pool: WorkerPool, deed: str) -> None:
    first, culprit, last = judged(pool, ONE_BY_ONE, "a", deed, "ccc")

    assert [1.0, 3.0] == [first.score, last.score]
    assert (Outcome.REJECT, None) == (culprit.outcome, culprit.score)
    assert culprit.evidence["cause"] in ("numeric", "data")
    assert culprit.cost is not None


@pytest.mark.parametrize("deed", UNKNOWN)
def test_an_error_that_may_be_anybodys_costs_only_its_own_candidate(
    pool: WorkerPool, deed: str
) -> None:
    first, culprit, last = judged(pool, ONE_BY_ONE, "a", deed, "ccc")

    assert [1.0, 3.0] == [first.score, last.score]
    assert (Outcome.ABSTAIN, "verifier") == (culprit.outcome, culprit.failed_at)


@pytest.mark.parametrize("deed", [*BY_VERIFIER, *UNKNOWN])
def test_with_a_control_every_error_of_one_candidate_alone_is_its_own(
    pool: WorkerPool, deed: str
) -> None:
    (culprit,) = judged(pool, Guarded(), deed)

    assert (Outcome.REJECT, None) == (culprit.outcome, culprit.failed_at)


@pytest.mark.parametrize("deed", ["die", "hang", "throw", "nan"])
def test_where_nothing_has_passed_nobody_is_blamed(deed: str) -> None:
    with WorkerPool(1, name="new") as pool:
        (culprit,) = judged(pool, ONE_BY_ONE, deed)

    assert (Outcome.ABSTAIN, DEEDS_AT[deed in BY_ENGINE]) == (culprit.outcome, culprit.failed_at)


def test_a_candidate_that_passed_before_stands_in_for_a_control() -> None:
    with WorkerPool(1, name="new") as pool:
        (before,) = judged(pool, ONE_BY_ONE, "a")
        culprits = [judged(pool, ONE_BY_ONE, deed)[0] for deed in ("die", "nan")]

    assert 1.0 == before.score
    assert [Outcome.REJECT] * 2 == [culprit.outcome for culprit in culprits]


def needs_an_answer(candidate: Candidate) -> float:
    task = candidate.task or {}
    if task["answer"] == "crash":
        crash()
    return -((float(str(candidate.content)) - float(task["answer"])) ** 2)


@pytest.mark.parametrize("task", [{}, {"answer": "nan"}, {"answer": None}, {"answer": "crash"}])
@pytest.mark.parametrize("control", [None, Candidate("text", "1", {"answer": "1"})])
def test_what_a_task_brings_about_is_not_held_against_the_candidate(
    pool: WorkerPool, task: dict[str, Any], control: Candidate | None
) -> None:
    verifier = FunctionVerifier(
        needs_an_answer, name="answers", version="1", task_fields=["answer"], control=control
    )
    good, bad = Candidate("text", "1", {"answer": "1"}), Candidate("text", "1", task)

    first, second, absurd = pool.verify(
        verifier, [good, bad, Candidate("text", "1e308", {"answer": "1"})]
    ).result().verdicts  # fmt: skip

    assert (Outcome.ACCEPT, Outcome.REJECT) == (first.outcome, absurd.outcome)
    assert Outcome.ABSTAIN == second.outcome
    assert second.failed_at in ("verifier", "engine")


def unplug(candidate: Candidate) -> float:
    del candidate
    raise ConnectionResetError("the service hung up")


def test_what_the_system_refuses_is_a_tools_failure(pool: WorkerPool) -> None:
    verifier = FunctionVerifier(
        unplug, name="unplugged", version="1", control=Candidate("text", "a")
    )

    (verdict,) = judged(pool, verifier, "b")

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)


@pytest.mark.parametrize("deed", ["crash", "hang", "throw", "leave", "type", "short"])
def test_the_culprit_of_a_batch_is_found_without_marks(pool: WorkerPool, deed: str) -> None:
    verdicts = judged(pool, InBatches(), "a", "bb", deed, "dddd")

    assert [1.0, 2.0, None, 4.0] == [verdict.score for verdict in verdicts]
    assert (verdicts[2].outcome is Outcome.ABSTAIN) == (deed in UNKNOWN)


@given(
    st.lists(
        st.sampled_from(["crash", "die", "hang", "throw", "nan"]) | st.text("xyz", max_size=5),
        max_size=12,
    ).filter(lambda batch: sum(content in BY_ENGINE for content in batch) <= 2),
    st.booleans(),
)
@settings(max_examples=5)
def test_wherever_culprits_stand_all_others_are_judged(
    pool: WorkerPool,
    batch: list[str],
    marked: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    verdicts = judged(pool, ONE_BY_ONE if marked else InBatches(), *batch)

    expected = [None if content in DEEDS else float(len(content)) for content in batch]
    assert expected == [verdict.score for verdict in verdicts]
    assert [c not in DEEDS for c in batch] == [v.outcome is Outcome.ACCEPT for v in verdicts]


@pytest.mark.parametrize(
    ("deed", "message"),
    [
        ("crash", "crashed with SIGSEGV"),
        ("die", "ended its process with exit code 0"),
        ("hang", "ran longer than 0.3 s"),
        ("devour", "used more than 256 MiB"),
    ],
)
def test_the_reason_names_what_happened(pool: WorkerPool, deed: str, message: str) -> None:
    (verdict,) = judged(pool, ONE_BY_ONE, deed)

    assert f"verifier misbehaving {message} on this candidate, each time" in verdict.reason


def be_killed(candidate: Candidate) -> float:
    if candidate.content == "large":
        os.kill(os.getpid(), signal.SIGKILL)
    return 1.0


@pytest.mark.parametrize("memory", [None, 512 * MEGABYTE])
def test_a_worker_that_is_killed_for_want_of_memory_is_told_apart_from_a_crash(
    monkeypatch: pytest.MonkeyPatch, memory: int | None
) -> None:
    monkeypatch.setattr(process, "memory_kills", itertools.count().__next__)
    verifier = FunctionVerifier(be_killed, name="large", version="1", memory=memory)
    with WorkerPool(1, name="small") as small:
        fine, large = judged(small, verifier, "fine", "large")

    assert 1.0 == fine.score
    assert "had no memory left" in large.reason
    # What has a limit of its own has not used up the machine's memory.
    assert large.outcome is (Outcome.REJECT if memory is None else Outcome.ABSTAIN)


def test_a_killed_attempt_costs_what_it_ran(pool: WorkerPool) -> None:
    answer = pool.verify(ONE_BY_ONE, texts("a", "lock")).result()

    innocent, culprit = (verdict.cost for verdict in answer.verdicts)
    assert innocent is not None
    assert culprit is not None
    assert innocent.seconds < 0.3
    assert 0.5 <= culprit.seconds <= answer.seconds


def breed(candidate: Candidate) -> None:
    child = os.fork()
    if not child:
        time.sleep(60)
    Path(str(candidate.content)).write_text(str(child))
    time.sleep(60)


def test_children_of_a_killed_worker_die_with_it(
    pool: WorkerPool, tmp_path: Path, until: Callable[[Callable[[], object]], None]
) -> None:
    verifier = FunctionVerifier(breed, name="breed", version="1", timeout=0.3)

    judged(pool, verifier, str(tmp_path / "child"))

    child = int((tmp_path / "child").read_text())
    until(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie")


def shout(candidate: Candidate) -> float:
    for _ in range(200):
        os.write(1, b"x" * MEGABYTE)
    print("last words of", candidate.content)  # noqa: T201
    if candidate.content == "die":
        os._exit(1)
    return 1.0


def test_output_without_end_is_kept_short(
    pool: WorkerPool, capfd: pytest.CaptureFixture[str]
) -> None:
    shouting = FunctionVerifier(shout, name="shouting", version="1", timeout=20.0)

    fine, dead = judged(pool, shouting, "fine", "die")

    assert 1.0 == fine.score
    assert dead.evidence["log"].endswith("last words of die")
    assert len(dead.evidence["log"]) <= 2048
    assert "" == "".join(capfd.readouterr())


def bulky(candidate: Candidate) -> Verdict:
    return Verdict.accept(1.0, evidence={"all": "x" * int(candidate.content)})


def test_a_huge_answer_is_cut(pool: WorkerPool) -> None:
    verifier = FunctionVerifier(bulky, name="bulky", version="1")

    small, large = judged(pool, verifier, "10", str(100 * MEGABYTE))

    assert {"all": "x" * 10} == small.evidence
    assert (1.0, "all was cut") == (large.score, large.evidence["dropped"])
    assert {"all", "dropped"} == large.evidence.keys()
    assert len(large.evidence["all"]) <= 64 * 1024


class Guarded(InBatches):
    """Declares a candidate that is certainly harmless."""

    name, control = "guarded", Candidate("text", "harmless")


def test_a_culprit_is_rejected_when_a_control_passes(pool: WorkerPool) -> None:
    good, bad = judged(pool, Guarded(), "a", "die")

    assert 1.0 == good.score
    assert (Outcome.REJECT, "resource") == (bad.outcome, bad.evidence["cause"])


class Broken(InBatches):
    """Fails on its control, too."""

    name, control = "broken", Candidate("text", "die")


def test_a_culprit_abstains_when_the_control_fails_too(pool: WorkerPool) -> None:
    (verdict,) = judged(pool, Broken(), "die")

    assert (Outcome.ABSTAIN, "engine") == (verdict.outcome, verdict.failed_at)


def run(candidate: Candidate) -> Any:
    """Run what the candidate says: it may raise what it likes, and leave the worker spoiled."""
    names: dict[str, Any] = {}
    exec(str(candidate.content), names)  # noqa: S102 - this is what hostile candidates are for
    return names["x"]


HARMLESS = Candidate("text", "x = 7.0")
RUNS = FunctionVerifier(run, name="runs", version="1", timeout=5.0, control=HARMLESS)
FORKS = {
    "fork": "import os; os.fork(); x = 1.5",
    "fork and raise": "import os\nif not os.fork(): raise ValueError\nx = 1.5",
    "native fork": "import ctypes; ctypes.CDLL(None).fork(); x = 1.5",
}
SPOILS = {
    "float": "import builtins; builtins.float = lambda *a: 99.0; x = 1.5",
    "clock": "import time; time.process_time = lambda: -99.0; x = 1.5",
    "len": "import builtins; builtins.len = lambda _: 0; x = 1.5",
}
RAISES = {
    "ConfigError": "from verifier_ladder.errors import ConfigError as E",
    "PluginError": "from verifier_ladder.errors import PluginError as E",
    "VerifierError": "from verifier_ladder.errors import VerifierError as E",
    "LedgerError": "from verifier_ladder.errors import LedgerError as E",
    "ToolError": "from verifier_ladder.errors import ToolError as E",
    "EngineError": "from verifier_ladder.errors import EngineError as E",
    "OSError": "E = OSError",
}


def rewards(campaign: Campaign, *contents: str) -> list[tuple[float | None, str | None]]:
    return [(reward.value, reward.failed_at) for reward in campaign.score(contents)]


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Campaign]:
    ladder = Ladder("runs", [RUNS])
    with Campaign.open("runs", ladder=ladder, ledger=tmp_path / "db", workers=1) as opened:
        yield opened


@pytest.mark.parametrize("deed", FORKS)
def test_a_candidate_that_forks_costs_nobody_a_reward(campaign: Campaign, deed: str) -> None:
    batches = [[f"x = {n}.0", FORKS[deed] + f" + {n}", f"x = {n}.25"] for n in range(3)]

    said = [rewards(campaign, *batch) for batch in batches]

    honest = [[value for value, _ in (first, last)] for first, _, last in said]
    assert [[n, n + 0.25] for n in range(3)] == honest


@pytest.mark.parametrize("deed", SPOILS)
def test_a_candidate_that_spoils_its_worker_costs_nobody_a_reward(
    campaign: Campaign, deed: str
) -> None:
    first, _, last = rewards(campaign, "x = 1.0", SPOILS[deed], "x = 2.0")
    later = rewards(campaign, "x = 3.0", "x = 4.0")

    assert [(1.0, None), (2.0, None)] == [first, last]
    assert [(3.0, None), (4.0, None)] == later


@pytest.mark.parametrize("kind", RAISES)
def test_no_candidate_chooses_what_its_error_is_taken_for(campaign: Campaign, kind: str) -> None:
    alone = rewards(campaign, f"{RAISES[kind]}\nraise E('x')")

    assert [(0.0, None)] == alone


def test_without_a_control_no_candidate_stops_the_trainer(tmp_path: Path) -> None:
    bare = FunctionVerifier(run, name="bare", version="1", timeout=5.0)
    with Campaign.open("bare", ladder=Ladder("bare", [bare]), ledger=tmp_path / "db") as campaign:
        said = [
            *rewards(campaign, "x = 1.0"),
            *rewards(campaign, f"{RAISES['ConfigError']}\nraise E"),
        ]

    assert [(1.0, None), (0.0, None)] == said


def needs_a_model(candidate: Candidate) -> float:
    del candidate
    raise ConfigError("set the path of the model")


def test_a_set_up_that_fails_on_the_control_too_is_told_to_the_caller(tmp_path: Path) -> None:
    unset = FunctionVerifier(needs_a_model, name="unset", version="1", control=HARMLESS)
    with (
        Campaign.open(
            "unset", ladder=Ladder("unset", [unset]), ledger=tmp_path / "db"
        ) as campaign,
        pytest.raises(ConfigError, match="set the path"),
    ):
        campaign.score(["a", "b"])


class Upper(Canonicaliser):
    """Brings text to capitals, or the worker down."""

    kind, name, timeout = "text", "upper", 0.3

    def canonicalise(self, content: str | bytes) -> str | bytes:
        if content in BY_ENGINE:
            BY_ENGINE[str(content)]()
        if content == "odd":
            raise CandidateError("odd")
        if content == "tool":
            raise ToolError("no tool")
        return 5 if content == "type" else content.upper()  # type: ignore[return-value]


def test_canonicalising_is_as_safe_as_verifying(pool: WorkerPool) -> None:
    contents: list[str | bytes] = ["a", "crash", "odd", "hang", "tool", "type", b"b", "\ud800"]

    forms = pool.canonicalise(Upper(), contents).result().forms

    said = [(f.outcome.value, f.failed_at) if isinstance(f, Verdict) else f for f in forms]
    assert [
        "A", ("reject", None), ("reject", None), ("reject", None), ("abstain", "tool"),
        ("reject", None), b"B", "\ud800",
    ] == said  # fmt: skip


LEARNER = """
import struct
from verifier_ladder.candidate import Candidate
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines.pool import WorkerPool

REST = b"NN" + b"\\x8c\\x00" * 3 + b"N]C\\x00"
DEEP = b")" + b"\\x85" * 300_000
WIDE = b")\\x94" + b"".join(b"h" + bytes([n]) + b"\\x86\\x94" for n in range(23))
PACKED = b"\\x9a" + b"\\x91" * 300_000

def pickled(outcome, cost=b"N"):
    return b"\\x80\\x05(\\x8c\\x06refuse(" + outcome + REST + cost + b"tG" + bytes(8) + b"t."

DEEDS = {
    "an outcome of tuples, one in the other": pickled(DEEP),
    "an outcome that doubles": pickled(WIDE),
    "a cost that doubles": pickled(b"\\x8c\\x06accept", b"(NNN" + WIDE + b"t"),
    "lists, one in the other": b"\\x93\\xa6refuse\\xc6" + struct.pack(">I", len(PACKED)) + PACKED
    + b"\\xcb" + bytes(8),
}

def answer(candidate):
    from verifier_ladder.scheduler.engines import wire
    if candidate.content in DEEDS:
        wire.pack = lambda *_: DEEDS[candidate.content]
    return 1.0

verifier = FunctionVerifier(answer, name="odd", version="1")
with WorkerPool(1) as pool:
    for deed in ["good", *DEEDS, "good"]:
        (said,) = pool.verify(verifier, [Candidate("text", deed)]).result().verdicts
        print(said.outcome.value, said.score, len(repr(said)) < 1000, "be read" in said.reason)
"""


def test_no_answer_of_a_worker_brings_down_the_learner() -> None:
    learner = [sys.executable, "-c", LEARNER]

    said = subprocess.run(learner, capture_output=True, text=True, check=False, timeout=300)

    odd, good = "reject None True True", "accept 1.0 True False"
    lines = [good, *[odd] * 4, good]
    assert (lines, 0) == (said.stdout.splitlines(), said.returncode), said.stderr
