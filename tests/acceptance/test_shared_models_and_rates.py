"""Workers share what a machine or a service has once: a model's process, its GPU, a rate.

A service's process is one for all workers of the machine; its crash is nobody's reject. Rates
hold for all that ask under one name, and no more workers are at work than a verifier declares.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import verifier_ladder as vl

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
LONG = 300.0
"""Seconds of a deadline that is not reached."""


class Model(vl.Service):
    """Notes its processes in a folder."""

    name, version, grace = "model", "1", 1.0

    def __init__(self, notes: str) -> None:
        self.notes = Path(notes)
        super().__init__(notes=notes)

    def setup(self) -> None:
        with (self.notes / "begun").open("a") as file:
            print(os.getpid(), file=file)

    def pid(self) -> int:
        return os.getpid()

    def dies(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Large(vl.Service):
    """Notes whether the other one is alive when it begins."""

    version, gpu_memory, grace = "1", 8 * 2**30, 600.0

    def __init__(self, name: str, notes: str) -> None:
        self.name, self.notes = name, Path(notes)
        super().__init__(name=name)

    def setup(self) -> None:
        for path in self.notes.glob("large-*"):
            if not has_ended(int(path.read_text())):
                (self.notes / "both").touch()
        (self.notes / f"large-{self.name}").write_text(f"{os.getpid()}")

    def device(self) -> float:
        return float(os.environ["CUDA_VISIBLE_DEVICES"])


def asking(notes: Path) -> vl.Verifier:
    """A verifier that asks the model what a candidate says, and tells which processes it were."""

    def asks(candidate: vl.Candidate, services: Any) -> vl.Verdict:
        told = services["model"].call(str(candidate.content).split()[0])
        return vl.Verdict.accept(1.0, scores={"model": told, "worker": os.getpid()})

    return vl.verifier(
        name="asks", kind="text", version="1", services={"model": Model(str(notes))}, timeout=LONG
    )(asks)


def large(name: str, notes: Path) -> vl.Verifier:
    def asks(candidate: vl.Candidate, services: Any) -> float:
        return float(services["model"].call("device")) + len(candidate.content)

    return vl.verifier(
        name=name, kind="text", version="1", tier="simulation",
        services={"model": Large(name, str(notes))},
    )(asks)  # fmt: skip


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.01)


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of its own: no other test's services, and no GPU but those that it sets."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path


def test_workers_of_two_campaigns_ask_one_process_and_it_ends_with_them(notes: Path) -> None:
    ladder = vl.Ladder("l", [asking(notes)])
    with (
        vl.Campaign.open("one", ladder=ladder, ledger=notes / "one.db", workers=1) as one,
        vl.Campaign.open("two", ladder=ladder, ledger=notes / "two.db", workers=1) as two,
    ):
        told = [campaign.score(["pid"])[0].scores for campaign in (one, two)]
        (service,) = (int(pid) for pid in (notes / "begun").read_text().split())
        os.kill(int(told[0]["worker"]), signal.SIGKILL)
        told.append(one.score(["pid again"])[0].scores)
        for each in told[1:]:
            os.kill(int(each["worker"]), signal.SIGKILL)
        until(lambda: has_ended(service))

    assert {service} == {each["model"] for each in told}
    assert 3 == len({each["worker"] for each in told})


def test_a_candidate_that_ends_every_process_is_not_rejected(notes: Path) -> None:
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [asking(notes)]), workers=1) as campaign:
        (bad,) = campaign.score(["dies"])
        (other,) = campaign.score(["pid"])

    assert (None, "tool") == (bad.value, bad.failed_at)
    assert "died 2 times at this call" in bad.reason
    assert 1.0 == other.value


def test_services_that_do_not_fit_together_run_one_after_the_other(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @vl.verifier(kind="text", version="1", isolation="inline")
    def reads(_: vl.Candidate) -> float:
        return 1.0

    monkeypatch.setenv("VLADDER_GPU_MEMORY", "10GiB")
    ladder = vl.Ladder("l", [reads, large("one", notes), large("two", notes)], policy="all_tiers")
    with vl.Campaign.open("c", ladder=ladder, workers=2) as campaign:
        campaign.score(["a", "bc"])
        assert campaign.drain(LONG)
        checks = campaign.ledger.checks()

    assert 4 == len(checks)
    assert {("DONE", 1)} == {(check.state.name, check.attempt) for check in checks}
    assert {"large-one", "large-two"} == {path.name for path in notes.glob("large-*")}
    assert not (notes / "both").exists()


def test_verifiers_that_ask_one_service_share_its_rate(tmp_path: Path) -> None:
    rate = vl.Rate("20/s", name="service")
    polite, correct = (
        vl.verifier(name=name, kind="text", version="1", isolation="inline", rate=rate)(
            lambda _: 1.0
        )
        for name in ("polite", "correct")
    )
    ladder = vl.Ladder("rated", [polite, correct])
    with vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign:
        begun = campaign.ledger.clock()
        rewards = campaign.score([f"{number}" for number in range(12)])
        took = campaign.ledger.clock() - begun

    assert [1.0] * 12 == [reward.value for reward in rewards]
    assert (took + 0.5) * 20 >= 23  # 24 checks, of which half a second's worth may begin at once.


@pytest.mark.parametrize("tier", ["fast", "simulation"])
def test_no_more_workers_are_at_work_than_a_verifier_declares(tmp_path: Path, tier: str) -> None:
    lock = tmp_path / "lock"

    @vl.verifier(kind="text", version="1", tier=tier, batch_size=1, max_processes=1)
    def alone(_: vl.Candidate) -> bool:
        """Say no where another worker is at work too."""
        try:
            lock.mkdir()
        except FileExistsError:
            return False
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        lock.rmdir()
        return True

    ladder = vl.Ladder("narrow", [alone], policy="all_tiers")
    with vl.Campaign.open("c", ladder=ladder, workers=2) as campaign:
        rewards = campaign.score([f"{number}" for number in range(8)], deadline=LONG)

    assert [1.0] * 8 == [reward.value for reward in rewards]
