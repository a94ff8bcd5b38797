"""A verifier sees the secrets that it declares, and they are seen nowhere else."""

from __future__ import annotations

import base64
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import verifier_ladder as vl
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.scheduler.policies import AllTiers

KEY = "open/sesame+42"
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")


@pytest.fixture(autouse=True)
def _set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SERVICE_API_KEY", KEY)
    monkeypatch.setenv("A_PLAIN_SETTING", "blue")


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    """One worker, which all verifiers of a test share."""
    with WorkerPool(1, name="secrets") as one:
        yield one


def ask(pool: WorkerPool, verifier: vl.Verifier, content: str = "a") -> vl.Verdict:
    (verdict,) = pool.verify(verifier, [vl.Candidate("text", content)]).result().verdicts
    return verdict


@vl.verifier(tier="fast", kind="text", version="1")
def undeclared(candidate: vl.Candidate) -> vl.Verdict:
    del candidate
    return vl.Verdict.accept(1.0, evidence={"names": sorted(os.environ)})


@vl.verifier(kind="text", version="1", secrets=["A_SERVICE_API_KEY"], env=["A_PLAIN_SETTING"])
def declared(candidate: vl.Candidate) -> vl.Verdict:
    del candidate
    return vl.Verdict.accept(
        float(len(os.environ["A_SERVICE_API_KEY"])), feedback=os.environ["A_PLAIN_SETTING"]
    )


def test_a_verifier_sees_only_the_secrets_it_declares() -> None:
    @vl.verifier(tier="fast", kind="text", version="1")
    def looks(candidate: vl.Candidate) -> float:
        return float(os.environ.get(str(candidate.content)) == KEY)

    with vl.Campaign.open("secrets", ladder=vl.Ladder("secrets", [looks]), workers=1) as campaign:
        (reward,) = campaign.score(["A_SERVICE_API_KEY"])

    assert 0.0 == reward.value


def test_verifiers_that_share_a_worker_see_their_own_only(pool: WorkerPool) -> None:
    before, first = ask(pool, undeclared), ask(pool, declared)
    pids, after = pool.pids(), ask(pool, undeclared)

    assert (float(len(KEY)), "blue") == (first.score, first.feedback)
    assert pids == pool.pids()
    for said in (before, after):
        assert not {"A_SERVICE_API_KEY", "A_PLAIN_SETTING"} & set(said.evidence["names"])


def test_set_up_and_expected_cost_see_them_too() -> None:
    class Client(vl.Verifier):
        name, version, kind, secrets = "client", "1", "text", ("A_SERVICE_API_KEY",)
        cost = vl.Cost(seconds=1.0)

        def setup(self) -> None:
            self.length = len(os.environ["A_SERVICE_API_KEY"])

        def expected_cost(self, candidate: vl.Candidate) -> vl.Cost:
            del candidate
            return vl.Cost(float(len(os.environ["A_SERVICE_API_KEY"])))

        def verify(self, candidates: Any) -> list[float]:
            return [float(self.length)] * len(candidates)

    client = Client()
    with WorkerPool(1) as pool:
        assert float(len(KEY)) == ask(pool, client).score
        (amounts,) = pool.expect(client, [vl.Candidate("text", "a")]).result()

    assert float(len(KEY)) == amounts[0]


@vl.verifier(kind="text", version="1", secrets=["A_SERVICE_API_KEY"], timeout=60.0)
def chatty(candidate: vl.Candidate) -> vl.Verdict:
    key = os.environ["A_SERVICE_API_KEY"]
    encoded = base64.b64encode(f"user:{key}".encode()).decode()
    sys.stdout.write(f"Authorization: Basic {encoded}, {key}\n")
    match candidate.content:
        case "raises":
            raise RuntimeError(f"GET /?key={quote(key, safe='')} failed for {key}")
        case "crashes":
            os.abort()
        case "rejects":
            return vl.Verdict.reject(f"{key} was refused")
    words = {"plain": key, "quoted": quote(key), "base64": [encoded], key: 1}
    return vl.Verdict.accept(1.0, feedback=key, evidence=words)


@pytest.mark.parametrize("content", ["tells", "raises", "crashes", "rejects"])
def test_nothing_that_leaves_a_worker_holds_a_secret(pool: WorkerPool, content: str) -> None:
    said = ask(pool, chatty, content)

    assert "[A_SERVICE_API_KEY]" in repr(said)
    inside = base64.b64encode(b"123" + KEY.encode())[4:-4].decode()
    for form in (KEY, quote(KEY), quote(KEY, safe=""), inside):
        assert form not in repr(said)


def test_a_log_that_another_verifier_left_behind_is_masked(pool: WorkerPool) -> None:
    @vl.verifier(kind="text", version="1")
    def crashes(candidate: vl.Candidate) -> float:
        del candidate
        os.abort()

    ask(pool, chatty)
    said = pool.verify(crashes, [vl.Candidate("text", "a")]).result().verdicts[0]

    assert KEY not in repr(said)


def test_the_ledger_holds_no_secret(tmp_path: Path) -> None:
    ladder = vl.Ladder("chatty", [chatty])
    with vl.Campaign.open("chatty", ladder=ladder, ledger=str(tmp_path / "l.db")) as campaign:
        campaign.score(["tells", "raises", "rejects"])

    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()


@vl.verifier(tier="simulation", kind="text", version="1", secrets=["A_LATE_SECRET"])
def late(candidate: vl.Candidate) -> float:
    del candidate
    return float(len(os.environ["A_LATE_SECRET"]))


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def first(candidate: vl.Candidate) -> float:
    del candidate
    return 1.0


def test_a_name_that_is_not_set_is_told_and_asked_again_once_it_is(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("A_LATE_SECRET", raising=False)
    said = ask(pool, late)

    assert (vl.Outcome.ABSTAIN, "config") == (said.outcome, said.failed_at)
    assert "late needs A_LATE_SECRET; set it in the environment" in said.reason

    ladder = vl.Ladder("late", [first, late], policy=AllTiers())
    with vl.Campaign.open("late", ladder=ladder, workers=1) as campaign:
        campaign.score(["a"])
        campaign.drain("300 s")
        (failed,) = list(campaign.revisions())[-1:]
        monkeypatch.setenv("A_LATE_SECRET", "eight888")
        campaign.score(["a"])
        campaign.drain("300 s")
        (reward,) = campaign.score(["a"])

    assert "config" == failed.reward.failed_at
    assert "A_LATE_SECRET" in failed.reward.reason
    assert 8.0 == reward.value


def test_inline_verifiers_see_all_and_are_masked() -> None:
    @vl.verifier(kind="text", version="1", isolation="inline", secrets=["A_SERVICE_API_KEY"])
    def inline(candidate: vl.Candidate) -> vl.Verdict:
        del candidate
        told = f"{os.environ['A_SERVICE_API_KEY']} {os.environ['A_PLAIN_SETTING']}"
        return vl.Verdict.reject(told)

    with vl.Campaign.open("inline", ladder=vl.Ladder("inline", [inline])) as campaign:
        (reward,) = campaign.score(["a"])

    assert "[A_SERVICE_API_KEY] blue" == reward.reason


PROGRAM = """
import json, os, sys
found = json.load(open(int(os.environ["VLADDER_SECRETS_FD"])))
initial = open("/proc/self/environ").read()
for line in sys.stdin:
    key = found["A_SERVICE_API_KEY"]
    answer = {"id": json.loads(line)["id"], "outcome": "accept"}
    answer["evidence"] = {"length": len(key), "initial": initial, "said": [key]}
    print(json.dumps(answer), flush=True)
"""


def test_a_program_reads_its_secrets_from_a_descriptor(pool: WorkerPool) -> None:
    program = vl.CommandVerifier(
        name="program", version="1", command=[sys.executable, "-c", PROGRAM],
        secrets=["A_SERVICE_API_KEY"], env=["A_PLAIN_SETTING"],
    )  # fmt: skip

    said = ask(pool, program)

    assert (len(KEY), ["[A_SERVICE_API_KEY]"]) == (said.evidence["length"], said.evidence["said"])
    initial = said.evidence["initial"].split("\0")
    assert "A_PLAIN_SETTING=blue" in initial
    assert not [entry for entry in initial if entry.startswith("A_SERVICE")]


def test_an_endpoint_declares_the_variables_of_its_headers() -> None:
    judge = vl.EndpointVerifier(
        name="judge", version="1", url="http://127.0.0.1:1/",
        headers={"Authorization": "Bearer $A_SERVICE_API_KEY"}, secrets=["ANOTHER"],
    )  # fmt: skip

    assert ("ANOTHER", "A_SERVICE_API_KEY") == judge.secrets


TRAIN = """
import json, os, sys
import psutil
import verifier_ladder as vl

@vl.verifier(kind="text", version="1", secrets=["A_SERVICE_API_KEY"])
def judge(candidate):
    return float(len(os.environ["A_SERVICE_API_KEY"]))

with vl.Campaign.open("processes", ladder=vl.Ladder("processes", [judge]), workers=2) as campaign:
    (reward,) = campaign.score(["a"])
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    initial = [open(f"/proc/{one.pid}/environ").read() for one in family]
    print(json.dumps([reward.value, len(family), initial]))
"""


def test_no_process_begins_with_a_secret_or_the_ledgers_address(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", TRAIN], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "VLADDER_LEDGER": f"{tmp_path}/l.db", "PGPASSWORD": "word-of-pg"},
    )  # fmt: skip

    assert 0 == ran.returncode, ran.stderr
    value, count, initial = json.loads(ran.stdout)
    assert float(len(KEY)) == value
    assert count >= 2
    for environment in initial:
        for hidden in (KEY, f"{tmp_path}/l.db", "word-of-pg"):
            assert hidden not in environment


HOSTED = """
import os
import verifier_ladder as vl
from verifier_ladder.scheduler.policies import AllTiers

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def first(candidate):
    return 1.0

@vl.verifier(tier="simulation", kind="text", version="1", secrets=["A_SERVICE_API_KEY"])
def judge(candidate):
    parent = open(f"/proc/{os.getppid()}/environ").read()
    own = open("/proc/self/environ").read()
    key = os.environ["A_SERVICE_API_KEY"]
    return len(key) + 1000.0 * (key in parent + own)

ladder = vl.Ladder("hosted", [first, judge], policy=AllTiers())
"""


def start_host(folder: Path, environment: dict[str, str]) -> str:
    """What a host says that works until there is nothing left to do."""
    vladder = [sys.executable, "-m", "verifier_ladder.cli"]
    ended = subprocess.run(
        [*vladder, "worker", "start", "--import", "hosted.py", "--until-idle", "--workers", "1"],
        cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return ended.stdout + ended.stderr


def test_a_worker_host_lends_its_secrets_and_leaves_what_it_lacks_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hosted.py").write_text(HOSTED)
    monkeypatch.syspath_prepend(tmp_path)
    ladder = importlib.import_module("hosted").ladder
    given = {**os.environ, "VLADDER_LEDGER": f"sqlite:///{tmp_path}/l.db"}
    lacks = {name: value for name, value in given.items() if name != "A_SERVICE_API_KEY"}

    with vl.Campaign.open(
        "hosted", ladder=ladder, ledger=given["VLADDER_LEDGER"], engine="workers"
    ) as campaign:
        campaign.score(["a"])
        left, done = start_host(tmp_path, lacks), start_host(tmp_path, given)
        campaign.drain("300 s")
        (reward,) = campaign.score(["a"])

    assert "left to others: verifier judge needs A_SERVICE_API_KEY" in left
    assert "1 checks done" in done
    assert float(len(KEY)) == reward.value  # 1000 more where its process or its parent showed it


def test_what_a_verifier_declares_is_shown(tmp_path: Path) -> None:
    (tmp_path / "hosted.py").write_text(HOSTED)
    vladder = [sys.executable, "-m", "verifier_ladder.cli"]
    environment = {n: v for n, v in os.environ.items() if n != "A_SERVICE_API_KEY"}
    shown = subprocess.run(
        [*vladder, "verifier", "info", "hosted.py:judge", "--json"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert 0 == shown.returncode, shown.stderr
    facts = json.loads(shown.stdout)
    assert (["A_SERVICE_API_KEY"], ["A_SERVICE_API_KEY"]) == (facts["secrets"], facts["not_set"])
