"""Untrusted code in a verifier: a campaign with real workers, under each class of sandbox."""

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread

import psutil
import pytest

import verifier_ladder as vl
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.registry import Registry
from verifier_ladder.scheduler.engines.catalog import Catalog
from verifier_ladder.scheduler.engines.host import WorkerHost
from verifier_ladder.tiers.sandbox import (
    Backend,
    Ending,
    Input,
    Limits,
    Program,
    Result,
    Sandbox,
    Warmth,
)

CLASSES = ("namespaces", "landlock")
LIMITS = Limits(cpu=1.0, wall=20.0, memory=256 << 20, processes=8)


@pytest.fixture(params=CLASSES)
def kind(
    request: pytest.FixtureRequest,
    require: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """A class of sandbox that works on this machine, chosen by the setting."""
    found = str(request.param)
    why = Backend(found).problem()
    require(f"the sandbox {found}", not why, why)
    monkeypatch.setenv("VLADDER_SANDBOX", found)
    return found


def judged(results: Sequence[Result]) -> vl.Verdict:
    """The expected values stay out here."""
    for result, wanted in zip(results, (9, 16), strict=True):
        if result.ended is not Ending.FINISHED:
            return vl.Verdict.reject(f"it {result.ended}", evidence={"cpu": result.cpu})
        if (type(result.value), result.value) != (int, wanted):
            return vl.Verdict.reject("it gives another value")
    return vl.Verdict.accept(1.0)


def square(candidate: vl.Candidate, sandbox: Sandbox) -> vl.Verdict:
    program = Program({"main.py": str(candidate.content)})
    return judged(sandbox.run(program, [Input((3,)), Input((4,))], LIMITS))


def function() -> vl.Verifier:
    return vl.verifier(name="square", kind="python", version="1", sandbox=Sandbox())(square)


HONEST = "def solve(n): return n * n"


@pytest.mark.usefixtures("kind")
def test_what_is_warm_is_part_of_the_key() -> None:
    def digest(warmth: Warmth | None) -> bytes:
        made = vl.verifier(name="w", version="1", sandbox=Sandbox(warmth))
        return made(square).digest

    assert digest(None) == digest(Warmth())
    assert digest(None) != digest(Warmth(modules=["json"]))  # type: ignore[arg-type]


def zygotes() -> list[psutil.Process]:
    """Processes that sandboxes of this program's workers fork from."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "verifier-ladder-sandbox" in process.cmdline():
                found.append(process)
    return found


@pytest.mark.usefixtures("kind")
def test_a_killed_zygote_rejects_nobody_and_the_next_check_is_done() -> None:
    slow = "import time\ndef solve(n):\n    time.sleep(0.3)\n    return n * n"
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [function()]), workers=1) as campaign:
        campaign.score([vl.Candidate("python", HONEST)])
        killed: list[int] = []

        def strike() -> None:
            while not killed:
                for process in zygotes():
                    with suppress(psutil.Error):
                        if process.children(recursive=True):
                            process.kill()
                            killed.append(process.pid)

        thread = Thread(target=strike)
        thread.start()
        (reward,) = campaign.score([vl.Candidate("python", slow)])
        thread.join()
        assert killed
        assert reward.value in {None, 1.0}
        assert reward.failed_at in {None, "sandbox"}
        (again,) = campaign.score([vl.Candidate("python", HONEST + "\n")])
        assert 1.0 == again.value


@pytest.mark.usefixtures("kind")
def test_the_sandbox_ends_with_its_worker() -> None:
    hangs = "def solve(n):\n    while True: pass"
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [function()]), workers=1) as campaign:
        campaign.score([vl.Candidate("python", HONEST)])
        first = zygotes()
        assert first
        workers = {p.pid: p for z in first for p in z.parents() if p.pid != os.getpid()}
        worker = next(p for p in workers.values() if p.ppid() == os.getpid())
        family = worker.children(recursive=True)
        worker.send_signal(signal.SIGKILL)
        _, alive = psutil.wait_procs(family, timeout=60)
        assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]
        (reward,) = campaign.score([vl.Candidate("python", hangs)])
        assert 0.0 == reward.value


def test_files_under_landlock_are_an_abstention_that_names_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def writes(candidate: vl.Candidate, sandbox: Sandbox) -> vl.Verdict:
        limits = Limits(files=4, file_bytes=1 << 20)
        return judged(sandbox.run(Program({"main.py": str(candidate.content)}), [], limits))

    monkeypatch.setenv("VLADDER_SANDBOX", "landlock")
    for needs in ((), ("files",)):
        made = vl.verifier(
            name=f"w{len(needs)}", kind="python", version="1", sandbox=Sandbox(needs=needs)
        )(writes)
        with vl.Campaign.open("c", ladder=vl.Ladder("l", [made])) as campaign:
            (reward,) = campaign.score([vl.Candidate("python", HONEST)])
        assert (None, "sandbox") == (reward.value, reward.failed_at)
        assert "(files)" in reward.reason


def test_a_campaign_is_not_opened_again_in_another_sandbox(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for kind in CLASSES:
        monkeypatch.setenv("VLADDER_SANDBOX", kind)
        ladder = vl.Ladder("l", [function()])
        if kind == CLASSES[0]:
            vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "l.db").close()
            continue
        with pytest.raises(vl.ConfigError, match="set VLADDER_SANDBOX=namespaces to go on"):
            vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "l.db")


def test_a_host_runs_a_check_in_the_sandbox_that_its_campaign_chose(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Both classes work here: the host's own choice is another one."""
    for each in CLASSES:
        if why := Backend(each).problem():
            pytest.skip(why)
    made = partial(
        FunctionVerifier, square, name="far", kind="python", version="1", tier="simulation"
    )
    first = vl.verifier(name="any", kind="python", version="1", isolation="inline")(lambda _: 1.0)
    monkeypatch.setenv("VLADDER_SANDBOX", "landlock")
    ladder = vl.Ladder("l", [first, made(sandbox=Sandbox())], policy="all_tiers")
    place = tmp_path / "ledger.db"
    with vl.Campaign.open("c", ladder=ladder, ledger=place, engine="workers") as campaign:
        campaign.score([vl.Candidate("python", HONEST)])
        monkeypatch.setenv("VLADDER_SANDBOX", "namespaces")
        assert "differ" in missing(campaign, made(sandbox=Sandbox()))
        monkeypatch.setenv("VLADDER_SANDBOX", "auto")
        catalog = Catalog(campaign.ledger, offered=[made(sandbox=Sandbox())], registry=Registry())
        host = WorkerHost(campaign.ledger, workers=1, catalog=catalog)
        host.wake()
        assert campaign.drain("300 s")
        host.close()
        ended = campaign.ledger.checks(states=[CheckState.DONE])
        verdicts = campaign.ledger.verdicts([check.check_key for check in ended])
    assert ["landlock/2"] == [verdict.evidence["sandbox"] for verdict in verdicts.values()]


def missing(campaign: vl.Campaign, verifier: vl.Verifier) -> str:
    """Why a host does not run it."""
    catalog = Catalog(campaign.ledger, offered=[verifier], registry=Registry())
    catalog.refresh()
    return " ".join(catalog.missing.values())


def test_what_is_declared_wrongly_is_told() -> None:
    with pytest.raises(vl.ConfigError, match=r"declare sandbox=Sandbox\(\)"):
        vl.verifier(name="old", version="1", isolation="sandbox")(square)
    with pytest.raises(vl.ConfigError, match=r"give Sandbox\(\)"):
        vl.verifier(name="yes", version="1", sandbox=True)(square)
    with pytest.raises(vl.ConfigError, match="leave out isolation"):
        vl.verifier(name="inside", version="1", sandbox=Sandbox(), isolation="inline")(square)
    with pytest.raises(vl.ConfigError, match="needs="):
        Sandbox(needs=("wings",))
    with pytest.raises(vl.ConfigError, match="no parameter sandbox"):
        vl.wrap(lambda completions: [len(completions)], name="no", version="1", sandbox=Sandbox())


@pytest.mark.usefixtures("kind")
def test_an_existing_reward_function_is_given_the_sandbox() -> None:
    def squares(completions: list[str], sandbox: Sandbox) -> list[float]:
        return [
            float(sandbox.run(Program({"main.py": c}), [Input((3,))], LIMITS)[0].value == 9)
            for c in completions
        ]

    made = vl.wrap(squares, version="1", sandbox=Sandbox())
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [made])) as campaign:
        assert [1.0, 0.0] == [r.value for r in campaign.score([HONEST, "def solve(n): return n"])]
