"""A verifier sees the secrets that it declares, and they are seen nowhere else.

Of the environment it sees by itself only what every program needs. No process begins with a
secret or the ledger's address, and what a verifier says, logs or leaves in a file is masked.
(Processes of one user can read each other's memory: this stops accidents, not malice.)
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import verifier_ladder as vl
from verifier_ladder.resource import Resource
from verifier_ladder.tiers.generic.nemogym import NemoGymVerifier

KEY = "open/sesame+42"
FORMS = (
    KEY, quote(KEY), quote(KEY, safe=""),
    base64.b64encode(b"123" + KEY.encode())[4:-4].decode(),  # Inside of a longer text.
)  # fmt: skip
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")


@pytest.fixture(autouse=True)
def _set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SERVICE_API_KEY", KEY)
    monkeypatch.setenv("A_PLAIN_SETTING", "blue")


def opened(*verifiers: vl.Verifier, **options: Any) -> vl.Campaign:
    """A campaign with one worker, which all its verifiers share."""
    ladder = vl.Ladder("secrets", list(verifiers), policy="all_tiers")
    return vl.Campaign.open("secrets", ladder=ladder, workers=1, **options)


def said(campaign: vl.Campaign, verifier: vl.Verifier) -> list[vl.Verdict]:
    """What the ledger keeps of a verifier's verdicts, oldest first."""
    blocks = [campaign.ledger.read(entry) for entry in campaign.ledger.entries()]
    rows = [row for block in blocks for row in block.verdicts]
    return [row.verdict for row in rows if row.verifier == verifier.name]


@vl.verifier(tier="fast", kind="text", version="1")
def undeclared(candidate: vl.Candidate) -> vl.Verdict:
    del candidate
    return vl.Verdict.accept(1.0, evidence={"names": sorted(os.environ), "worker": os.getpid()})


@vl.verifier(kind="text", version="1", secrets=["A_SERVICE_API_KEY"], env=["A_PLAIN_SETTING"])
def declared(candidate: vl.Candidate) -> vl.Verdict:
    del candidate
    length, setting = float(len(os.environ["A_SERVICE_API_KEY"])), os.environ["A_PLAIN_SETTING"]
    return vl.Verdict.accept(length, feedback=setting, evidence={"worker": os.getpid()})


def test_a_verifier_sees_only_the_secrets_it_declares() -> None:
    @vl.verifier(tier="fast", kind="text", version="1")
    def looks(candidate: vl.Candidate) -> float:
        return float(os.environ.get(str(candidate.content)) == KEY)

    with opened(looks) as campaign:
        (reward,) = campaign.score(["A_SERVICE_API_KEY"])

    assert 0.0 == reward.value


def test_verifiers_that_share_a_worker_see_their_own_only() -> None:
    with opened(undeclared, declared) as campaign:
        campaign.score(["before"])
        campaign.score(["after"])
        others, own = said(campaign, undeclared), said(campaign, declared)

    assert [(float(len(KEY)), "blue")] * 2 == [(each.score, each.feedback) for each in own]
    assert 1 == len({each.evidence["worker"] for each in (*others, *own)})
    assert 2 == len(others)
    for each in others:
        assert not {"A_SERVICE_API_KEY", "A_PLAIN_SETTING"} & set(each.evidence["names"])


def test_set_up_and_expected_cost_see_them_too() -> None:
    class Client(vl.Verifier):
        name, version, kind, secrets = "client", "1", "text", ("A_SERVICE_API_KEY",)
        tier, cost = vl.Tier.SIMULATION, vl.Cost(seconds=1.0, money=1.0)

        def setup(self) -> None:
            self.length = len(os.environ["A_SERVICE_API_KEY"])

        def expected_cost(self, candidate: vl.Candidate) -> vl.Cost:
            del candidate
            return vl.Cost(1.0, money=float(len(os.environ["A_SERVICE_API_KEY"])))

        def verify(self, candidates: Any) -> list[float]:
            return [float(self.length)] * len(candidates)

    with opened(undeclared, Client(), budget={"simulation": "unlimited"}) as campaign:
        (reward,) = campaign.score(["a"], deadline="300 s")
        accounts = campaign.ledger.accounts("secrets")

    assert float(len(KEY)) == reward.value
    spent = sum(each.spent for each in accounts if each.resource is Resource.MONEY)
    assert float(len(KEY)) == pytest.approx(spent)


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
def test_nothing_that_leaves_a_worker_holds_a_secret(content: str) -> None:
    with opened(chatty) as campaign:
        told = repr(campaign.score([content])) + repr(said(campaign, chatty))

    assert "[A_SERVICE_API_KEY]" in told
    for form in FORMS:
        assert form not in told


def test_a_log_that_another_verifier_left_behind_is_masked() -> None:
    @vl.verifier(kind="text", version="1", network=True, timeout=0.5)
    def waits(candidate: vl.Candidate) -> float:
        if candidate.content == "for ever":
            threading.Event().wait()
        return 1.0

    with opened(chatty, waits) as campaign:
        campaign.score(["tells"])
        campaign.score(["for ever"])
        silent = said(campaign, waits)[-1]

    assert "tool" == silent.failed_at
    assert "[A_SERVICE_API_KEY]" in silent.evidence["log"]
    for form in FORMS:
        assert form not in repr(silent)


@vl.verifier(kind="text", version="1", secrets=["A_SERVICE_API_KEY"])
def logs(candidate: vl.Candidate) -> vl.Verdict:
    """Keep what it has sent: bytes that are no text, and the secret in each form."""
    del candidate
    key = os.environ["A_SERVICE_API_KEY"].encode()
    sent = [b"PUT", key, *(quote(key, safe=safe).encode() for safe in ("/", ""))]
    log = b"\xff\n".join([*sent, base64.b64encode(b"me:" + key)])
    return vl.Verdict.accept(1.0, artifacts={"sent.log": log})


def test_the_bytes_of_an_artifact_hold_no_secret_and_have_the_digest_of_what_is_kept(
    tmp_path: Path,
) -> None:
    with opened(logs, ledger=tmp_path / "l.db") as campaign:
        campaign.score(["a"])
        (verdict,) = said(campaign, logs)
        digest = verdict.files["sent.log"].digest
        kept = campaign.ledger.artifact(digest)

    assert kept is not None
    assert kept.startswith(b"PUT\xff\n" + b"[A_SERVICE_API_KEY]\xff\n" * 3)
    assert b"[A_SERVICE_API_KEY]" in kept.split(b"\xff\n")[-1]
    for form in FORMS:
        assert form.encode() not in kept
    assert sha256(kept).hexdigest() == digest


def test_the_ledger_holds_no_secret(tmp_path: Path) -> None:
    with opened(chatty, logs, ledger=tmp_path / "l.db") as campaign:
        campaign.score(["tells", "raises", "rejects"])

    for file in tmp_path.iterdir():
        for form in FORMS:
            assert form.encode() not in file.read_bytes()


@vl.verifier(tier="simulation", kind="text", version="1", secrets=["A_LATE_SECRET"])
def late(candidate: vl.Candidate) -> float:
    del candidate
    return float(len(os.environ["A_LATE_SECRET"]))


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def first(candidate: vl.Candidate) -> float:
    del candidate
    return 1.0


def test_a_name_that_is_not_set_is_told_and_asked_again_once_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("A_LATE_SECRET", raising=False)
    with opened(first, late) as campaign:
        campaign.score(["a"])
        campaign.drain("300 s")
        (failed,) = list(campaign.revisions())[-1:]
        monkeypatch.setenv("A_LATE_SECRET", "eight888")
        campaign.score(["a"])
        campaign.drain("300 s")
        (reward,) = campaign.score(["a"])

    assert "config" == failed.reward.failed_at
    assert "late needs A_LATE_SECRET; set it in the environment" in failed.reward.reason
    assert 8.0 == reward.value


def test_inline_verifiers_see_all_and_are_masked() -> None:
    @vl.verifier(kind="text", version="1", isolation="inline", secrets=["A_SERVICE_API_KEY"])
    def inline(candidate: vl.Candidate) -> vl.Verdict:
        del candidate
        told = f"{os.environ['A_SERVICE_API_KEY']} {os.environ['A_PLAIN_SETTING']}"
        return vl.Verdict.reject(told)

    with opened(inline) as campaign:
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


def test_a_program_reads_its_secrets_from_a_descriptor() -> None:
    program = vl.CommandVerifier(
        name="program", version="1", command=[sys.executable, "-c", PROGRAM],
        secrets=["A_SERVICE_API_KEY"], env=["A_PLAIN_SETTING"],
    )  # fmt: skip

    with opened(program) as campaign:
        campaign.score(["a"])
        (verdict,) = said(campaign, program)

    told = verdict.evidence
    assert (len(KEY), ["[A_SERVICE_API_KEY]"]) == (told["length"], told["said"])
    initial = told["initial"].split("\0")
    assert "A_PLAIN_SETTING=blue" in initial
    assert not [entry for entry in initial if entry.startswith("A_SERVICE")]


def test_an_endpoint_declares_the_variables_of_its_headers() -> None:
    judge = vl.EndpointVerifier(
        name="judge", version="1", url="http://127.0.0.1:1/",
        headers={"Authorization": "Bearer $A_SERVICE_API_KEY"}, secrets=["ANOTHER"],
    )  # fmt: skip

    assert ("ANOTHER", "A_SERVICE_API_KEY") == judge.secrets


def nemo_gym(**options: Any) -> vl.Verifier:
    return NemoGymVerifier(name="judge", version="1", **options)


def endpoint(**options: Any) -> vl.Verifier:
    return vl.EndpointVerifier(name="judge", version="1", **options)


@pytest.mark.parametrize("make", [endpoint, nemo_gym])
@pytest.mark.parametrize(
    "options",
    [
        {"url": f"http://ann:{quote(KEY, safe='')}@127.0.0.1:1/"},
        {"url": f"http://127.0.0.1:1/?sig={KEY}"},
        {"url": "http://127.0.0.1:1/", "headers": {"X-Auth-Token": KEY}},
    ],
)  # fmt: skip
def test_a_secret_that_is_written_out_is_refused_and_not_repeated(
    make: Callable[..., vl.Verifier], options: dict[str, Any]
) -> None:
    with pytest.raises(vl.ConfigError, match="set it in the environment") as told:
        make(**options)
    for form in FORMS:
        assert form not in str(told.value)

    plain = {"X-Team": "blue", "X-Token-Count": "5", "Authorization": "$A_SERVICE_API_KEY"}
    judge = make(url="http://127.0.0.1:1/?tokens=5", headers=plain)
    assert ("A_SERVICE_API_KEY",) == tuple(judge.secrets)


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

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def first(candidate):
    return 1.0

@vl.verifier(tier="simulation", kind="text", version="1", secrets=["A_SERVICE_API_KEY"])
def judge(candidate):
    parent = open(f"/proc/{os.getppid()}/environ").read()
    own = open("/proc/self/environ").read()
    key = os.environ["A_SERVICE_API_KEY"]
    return len(key) + 1000.0 * (key in parent + own)

ladder = vl.Ladder("hosted", [first, judge], policy="all_tiers")
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
