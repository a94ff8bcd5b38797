"""Content at which a program or tool fails is rejected, unless the tool may be at fault."""

import errno
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.command import CommandVerifier
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines.inline import judge_inline
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.scheduler.engines.retry import retry_at
from verifier_ladder.verdict import Outcome, Verdict

pytestmark = pytest.mark.usefixtures("forked_workers")

PROGRAM = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    content = asked["content"]
    if content == "exit":
        sys.exit(3)
    if content == "leave":
        sys.exit(0)
    if content in ("crash", "killed"):
        os.kill(os.getpid(), 11 if content == "crash" else 9)
    said = {
        "garbage": "what?", "two": "1\\n2", "long": "1" * 3_000_000,
        "other": '{"id": 99, "outcome": "accept"}',
    }.get(content, "1")
    print(said, flush=True)
"""
FINE, CONTROL = Candidate("text", "fine"), Candidate("text", "harmless")


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1, name="tools") as shared:
        yield shared


def of_program(pool: WorkerPool, folder: Path, deed: str, control: Candidate | None) -> Verdict:
    (folder / "program.py").write_text(PROGRAM)
    verifier = CommandVerifier(
        name="program", version="1", command=[sys.executable, "-S", "program.py"],
        folder=str(folder), timeout=20.0, control=control,
    )  # fmt: skip
    said = pool.verify(verifier, [FINE, Candidate("text", deed), FINE]).result().verdicts
    assert [1.0, 1.0] == [said[0].score, said[2].score]
    return said[1]


@pytest.mark.parametrize("deed", ["leave", "crash", "garbage", "long", "other", "two"])
def test_content_at_which_only_a_program_crashes_or_talks_nonsense_is_rejected(
    pool: WorkerPool, tmp_path: Path, deed: str
) -> None:
    said = of_program(pool, tmp_path, deed, None)

    assert (Outcome.REJECT, None) == (said.outcome, said.failed_at)


def test_an_exit_code_may_tell_of_an_outage_unless_a_control_is_declared(
    pool: WorkerPool, tmp_path: Path
) -> None:
    assert "tool" == of_program(pool, tmp_path, "exit", None).failed_at
    assert Outcome.REJECT is of_program(pool, tmp_path, "exit", CONTROL).outcome


def test_a_program_that_somebody_has_killed_is_nobodys_fault(
    pool: WorkerPool, tmp_path: Path
) -> None:
    assert "tool" == of_program(pool, tmp_path, "killed", CONTROL).failed_at


ECHOING = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    words = asked["content"].split("|")
    for word in words[1:]:
        print(word, flush=True)  # As a program does that runs what a candidate says.
    said = {"id": asked["id"], "outcome": "accept", "score": len(words[0])}
    print(json.dumps(said) if REPEATS else len(words[0]), flush=True)
    if words[0] == "after":
        print(99, flush=True)
"""
FORGED = ["x|99", 'x|{"outcome": "accept", "score": 99}', "x|99|98", "x||99", "x|{}", "x|null"]


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("how", [{}, {"per_batch": True}, {"control": CONTROL}], ids=str)
def test_a_line_too_many_is_nobodys_reward(
    pool: WorkerPool, tmp_path: Path, how: dict[str, Any], *, repeats: bool
) -> None:
    (tmp_path / "echoing.py").write_text(ECHOING.replace("REPEATS", str(repeats)))
    verifier = CommandVerifier(
        name=f"echoing {repeats} {how}", version="1",
        command=[sys.executable, "-S", str(tmp_path / "echoing.py")], timeout=60.0, **how,
    )  # fmt: skip
    contents = [text for forged in FORGED for text in ("honest", forged)]

    said = pool.verify(verifier, [Candidate("text", text) for text in contents]).result().verdicts

    assert [6.0] * len(FORGED) == [each.score for each in said[::2]]
    assert {(Outcome.REJECT, None)} == {(each.outcome, each.failed_at) for each in said[1::2]}


class ServiceError(Exception):
    """A library's own error."""


def of_system(candidate: Candidate) -> float:
    if candidate.content == "away":
        raise ServiceError("the service is away") from ConnectionRefusedError("refused")
    if candidate.content == "long":
        raise OSError(errno.E2BIG, "Argument list too long")
    return 1.0


@pytest.mark.parametrize(
    "attributes",
    [{}, {"control": CONTROL, "network": True}, {"control": Candidate("text", "away")}],
    ids=["no control", "network", "control away too"],
)
def test_a_librarys_error_about_a_connection_is_a_tools_failure(
    pool: WorkerPool, attributes: dict[str, Any]
) -> None:
    verifier = FunctionVerifier(of_system, name="system", version="1", **attributes)

    (said,) = pool.verify(verifier, [Candidate("text", "away")]).result().verdicts

    assert (Outcome.ABSTAIN, "tool") == (said.outcome, said.failed_at)


def test_content_too_long_for_an_argument_is_rejected(pool: WorkerPool) -> None:
    verifier = FunctionVerifier(of_system, name="system", version="1")

    _, said = pool.verify(verifier, [FINE, Candidate("text", "long")]).result().verdicts

    assert (Outcome.REJECT, "data") == (said.outcome, said.evidence.get("cause"))


def refuse(code: int) -> NoReturn:
    raise OSError(code, "said by the system")


def of_errno(candidate: Candidate) -> float:
    how, _, code = str(candidate.content).partition(" ")
    if not code:
        return 1.0
    try:
        refuse(int(code))
    except OSError as error:
        if how == "itself":
            raise
        if how == "from":
            raise ServiceError("failed") from error
        raise KeyError("no answer to read")  # noqa: B904 - as authors write it


HOST = [errno.EMFILE, errno.ENOSPC, errno.ENOMEM, errno.EIO, errno.ECONNREFUSED, errno.ETIMEDOUT]


@pytest.mark.parametrize("isolation", ["process", "inline"])
@pytest.mark.parametrize("how", ["itself", "from", "beside"])
def test_trouble_of_the_host_is_never_held_against_a_candidate(
    pool: WorkerPool, how: str, isolation: str
) -> None:
    verifier = FunctionVerifier(
        of_errno, name=f"errno {isolation}", version="1", control=CONTROL, isolation=isolation
    )
    asked = [FINE, *(Candidate("text", f"{how} {code}") for code in HOST)]

    said = judge_inline(verifier, asked)[0] if isolation == "inline" else (
        pool.verify(verifier, asked).result().verdicts
    )  # fmt: skip

    assert 1.0 == said[0].score
    assert [(Outcome.ABSTAIN, "tool", "host")] * len(HOST) == [
        (each.outcome, each.failed_at, each.evidence.get("cause")) for each in said[1:]
    ]


def deep() -> dict[str, Any]:
    evidence: dict[str, Any] = {}
    for _ in range(3_000):
        evidence = {"below": evidence}
    return evidence


def changed(**fields: Any) -> Verdict:
    verdict = Verdict.accept(1.0)
    for name, value in fields.items():
        object.__setattr__(verdict, name, value)
    return verdict


CHANGED: dict[str, dict[str, Any]] = {
    "score": {"score": "x"}, "outcome": {"outcome": 7}, "turns": {"turns": 5},
    "items": {"turns": (1,)}, "evidence": {"evidence": [1]}, "cost": {"cost": 3},
}  # fmt: skip


def of_shape(candidate: Candidate) -> Verdict:
    if candidate.content == "deep":
        return Verdict.accept(1.0, evidence=deep())
    return changed(**CHANGED.get(str(candidate.content), {}))


@pytest.mark.parametrize("isolation", ["process", "inline"])
@pytest.mark.parametrize("deed", CHANGED)
def test_a_verdict_that_cannot_be_read_costs_only_its_own_candidate(
    pool: WorkerPool, deed: str, isolation: str
) -> None:
    verifier = FunctionVerifier(
        of_shape, name=f"shape {isolation}", version="1", isolation=isolation,
        control=Candidate("text", deed),
    )  # fmt: skip
    asked = [FINE, Candidate("text", deed), Candidate("text", "deep")]

    said = judge_inline(verifier, asked)[0] if isolation == "inline" else (
        pool.verify(verifier, asked).result().verdicts
    )  # fmt: skip

    assert [1.0, 1.0] == [said[0].score, said[2].score]
    assert {"dropped": "below was too large, or too deep"} == said[2].evidence
    assert (Outcome.ABSTAIN, "verifier") == (said[1].outcome, said[1].failed_at)
    assert "verdict" in said[1].reason


def test_content_that_ends_a_service_is_rejected_where_a_control_passes(pool: WorkerPool) -> None:
    verifier = FunctionVerifier(of_errno, name="errno", version="1", control=CONTROL)

    (said,) = pool.verify(verifier, [Candidate("text", f"itself {errno.EPIPE}")]).result().verdicts

    assert Outcome.REJECT is said.outcome


class Torch(ModuleType):
    """Stands in for PyTorch, on a GPU that is lost to this process once an assertion fails."""

    is_lost = False

    @property
    def cuda(self) -> "Torch":
        return self

    def is_initialized(self) -> bool:
        return True

    def synchronize(self) -> None:
        if self.is_lost:
            raise RuntimeError("CUDA error: device-side assert triggered")


def of_gpu(candidate: Candidate) -> float:
    torch: Any = sys.modules.setdefault("torch", Torch("torch"))
    torch.is_lost |= "asserts" in str(candidate.content)
    if "unseen" not in str(candidate.content):
        torch.synchronize()
    return 1.0


@pytest.mark.parametrize(
    ("deed", "control"), [("asserts", None), ("asserts", CONTROL), ("asserts unseen", None)]
)
def test_a_worker_that_has_lost_its_gpu_is_ended_and_nobody_is_blamed(
    deed: str, control: Candidate | None
) -> None:
    verifier = FunctionVerifier(of_gpu, name="gpu", version="1", control=control)
    asked = [FINE, Candidate("text", deed), FINE]

    with WorkerPool(1, name="gpus") as gpus:
        said = gpus.verify(verifier, asked).result().verdicts
        (later,) = gpus.verify(verifier, [FINE]).result().verdicts

    assert [1.0, None, 1.0, 1.0] == [each.score for each in (*said, later)]
    assert (Outcome.ABSTAIN, "tool") == (said[1].outcome, said[1].failed_at)
    assert "verifier gpu lost its GPU: CUDA error: device-side assert" in said[1].reason
    assert retry_at(said[1], attempt=1, now=0.0) is not None
