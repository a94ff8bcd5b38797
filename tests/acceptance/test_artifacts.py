"""Files beside verdicts: a log and a structure are kept, proven, handed on and erased.

1. A verifier hands over a log of two megabytes and a structure of one; the entry signs their
   digests, and the bytes are in the ledger's database.
2. `verify` tells bytes that are missing or were erased from bytes that were changed; a proof of
   the verdict holds in all three cases.
3. An export, a backup and a merge carry them.
4. No learner gets them, nothing that a verifier hides is in them, and their names are its own.
5. Evidence that is too large is cut field by field.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import verifier_ladder as vl
from verifier_ladder.ledger.audit import SqlAudit
from verifier_ladder.ledger.backup import backup
from verifier_ladder.ledger.bundles import export_tiles
from verifier_ladder.ledger.merging import merge
from verifier_ladder.ledger.offline import check_artifacts, check_proof
from verifier_ladder.ledger.proof import find_records, prove
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.server.app import create_app

LOG = b"".join(b"step %08d energy -4.70\n" % step for step in range(80_000))
STRUCTURE = b"ATOM 1.000 2.000 3.000\n" * 45_000


@vl.verifier(tier="fast", kind="text", version="1")
def relax(candidate: vl.Candidate) -> vl.Verdict:
    """Relax a structure, and hand over what it did."""
    from tempfile import mkdtemp

    log = Path(mkdtemp(), "relax.log")
    log.write_bytes(LOG)
    return vl.Verdict.accept(
        float(len(candidate.content)), artifacts={"relax.log": log, "relaxed.cif": STRUCTURE}
    )


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def score(place: str | Path, *texts: str) -> None:
    with vl.Campaign.open("c", ladder=vl.Ladder("relax", [relax]), ledger=place) as campaign:
        rewards = campaign.score(texts)
        campaign.ledger.sequence()

    assert all(reward.value is not None for reward in rewards)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    score(tmp_path / "l.db", "CCO")
    return tmp_path / "l.db"


def opened(place: str | Path) -> SqlLedger:
    ledger = vl.open_ledger(place)
    assert isinstance(ledger, SqlLedger)
    return ledger


def entry_of(ledger: SqlAudit) -> int:
    return next(entry.id for entry in ledger.entries() if ledger.read(entry).verdicts)


def proven(ledger: SqlAudit) -> dict[str, list[object]]:
    """What a proof says of the verdict's artifacts, checked without the ledger."""
    entry = entry_of(ledger)
    (verdict,) = ledger.read(ledger.entry(entry)).verdicts  # type: ignore[arg-type]
    records = find_records(ledger, entry, check=verdict.check_key.hex(), position=None)
    found = check_proof(json.loads(json.dumps(prove(ledger, entry, records))))
    (told,) = [record["artifacts"] for record in found.records if "artifacts" in record]
    return dict(told)


def kept(ledger: vl.Ledger) -> tuple[bytes | None, bytes | None]:
    return ledger.artifact(digest(LOG)), ledger.artifact(digest(STRUCTURE))


def test_a_log_and_a_structure_are_kept_and_proven(place: Path) -> None:
    assert len(LOG) > 2_000_000
    assert len(STRUCTURE) > 1_000_000
    with opened(place) as ledger:
        found = ledger.verify()

        assert (LOG, STRUCTURE) == kept(ledger)
        assert {
            "relax.log": [digest(LOG), len(LOG), "application/octet-stream", ""],
            "relaxed.cif": [digest(STRUCTURE), len(STRUCTURE), "application/octet-stream", ""],
        } == {name: [*told[:2], "application/octet-stream", told[3]]
              for name, told in proven(ledger).items()}  # fmt: skip
        assert found.is_intact
        assert (2, 0, 0) == (found.artifacts, found.artifacts_missing, found.artifacts_erased)


def test_bytes_in_memory_are_let_go(place: Path) -> None:
    with vl.Campaign.open("c", ladder=vl.Ladder("relax", [relax]), ledger=place) as campaign:
        campaign.score(["CCO", "CCC"])
        (row,) = [
            row for entry in campaign.ledger.entries()
            for row in campaign.ledger.read(entry).verdicts if row.verdict.score == 3.0
        ][:1]  # fmt: skip

    assert {None} == {one.data for one in row.verdict.files.values()}


def test_verify_tells_missing_and_erased_from_changed(place: Path) -> None:
    with opened(place) as ledger:
        before = proven(ledger)
        assert 1 == ledger.erase_artifacts([digest(LOG)])
        erased = ledger.verify()
    with sqlite3.connect(place) as connection:
        connection.execute(
            "DELETE FROM artifact_chunk WHERE digest = ?", (bytes.fromhex(digest(STRUCTURE)),)
        )
    with opened(place) as ledger:
        missing = ledger.verify()

        assert (True, 1, 1, 0) == (
            erased.is_intact, erased.artifacts, erased.artifacts_erased, erased.artifacts_missing
        )  # fmt: skip
        assert (True, 0, 1, 1) == (
            missing.is_intact, missing.artifacts, missing.artifacts_erased,
            missing.artifacts_missing,
        )  # fmt: skip
        assert (None, None) == kept(ledger)
        assert before == proven(ledger)


def test_verify_tells_changed_bytes_and_bytes_of_nobody(place: Path) -> None:
    with sqlite3.connect(place) as connection:
        key = bytes.fromhex(digest(STRUCTURE))
        connection.execute(
            "UPDATE artifact_chunk SET data = x'00' WHERE digest = ? AND place = 1", (key,)
        )
        connection.execute("INSERT INTO artifact_chunk VALUES (?, 0, x'01')", (b"\1" * 32,))
    with opened(place) as ledger:
        found = ledger.verify()

        assert ledger.artifact(digest(STRUCTURE)) is None
        assert (LOG, None) == kept(ledger)
        assert proven(ledger)
    assert [
        f"artifact {digest(STRUCTURE)}: its bytes were changed",
        f"table artifact_chunk, {'01' * 32}: no entry bears it out",
    ] == found.problems


@pytest.mark.parametrize("written", [999_999_999_999, 1.5, "text"])
def test_verify_tells_a_row_whose_digest_is_none(place: Path, written: object) -> None:
    with sqlite3.connect(place) as connection:
        connection.execute("INSERT INTO artifact VALUES (?, 'c', 1, '')", (written,))
    with opened(place) as ledger:
        (problem,) = ledger.verify().problems
    assert f"table artifact, {written!a}: no entry bears it out" == problem


@pytest.mark.parametrize("change", ["UPDATE artifact SET note = 'erased'", "DELETE FROM artifact"])
def test_verify_tells_bytes_that_are_there_and_whose_row_says_they_are_not(
    place: Path, change: str
) -> None:
    with sqlite3.connect(place) as connection:
        connection.execute(f"{change} WHERE digest = ?", (bytes.fromhex(digest(LOG)),))
    with opened(place) as ledger:
        (problem,) = ledger.verify().problems
    assert f"artifact {digest(LOG)}: its bytes are there, and its row says they are not" == problem


def test_an_export_carries_them_and_is_checked_alone(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    with opened(place) as ledger:
        export_tiles(ledger, folder)

    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "verify.py", "."],
            cwd=folder, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    whole = check()
    file = folder / "artifacts" / digest(LOG)[:2] / digest(LOG)
    there = file.read_bytes()
    file.unlink()
    without = check()
    file.write_bytes(there[:-1])
    changed = check()

    assert there == LOG
    assert (0, True) == (whole.returncode, "2 artifacts are what" in whole.stdout)
    assert (0, True) == (without.returncode, "1 are not here" in without.stdout)
    assert (1, True) == (changed.returncode, "was changed" in changed.stderr)


def test_a_backup_and_a_merge_carry_them(place: Path, tmp_path: Path) -> None:
    backup(place, tmp_path / "copy.db")
    with opened(tmp_path / "copy.db") as copy:
        assert (LOG, STRUCTURE) == kept(copy)
    score(tmp_path / "other.db", "another one")
    with opened(tmp_path / "new.db") as new, opened(place) as one:
        one.erase_artifacts([digest(STRUCTURE)])
        merge(new, one)

        assert (LOG, None) == kept(new)
        assert new.verify().is_intact


@pytest.mark.parametrize("where", ["l.db", ":memory:"])
def test_what_was_erased_does_not_come_back(where: str, tmp_path: Path) -> None:
    @vl.verifier(kind="text", version="1", isolation="inline")
    def leaves(_: vl.Candidate) -> vl.Verdict:
        return vl.Verdict.accept(1.0, artifacts={"run.log": b"about a person"})

    ledger = where if where == ":memory:" else tmp_path / where
    with vl.Campaign.open("c", ladder=vl.Ladder("t", [leaves]), ledger=ledger) as campaign:
        campaign.score(["one"])
        told = sha256(b"about a person").hexdigest()
        assert 1 == campaign.ledger.erase_artifacts([told])

        campaign.score(["two"])

        assert campaign.ledger.artifact(told) is None


@pytest.mark.parametrize("limit", ["LARGEST_ARTIFACT", "VERDICT_ARTIFACTS", "CAMPAIGN_ARTIFACTS"])
def test_above_a_limit_the_digest_is_kept_and_it_is_said(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"VLADDER_{limit}", "1500000")
    score(tmp_path / "l.db", "CCO")
    with opened(tmp_path / "l.db") as ledger:
        told, found = proven(ledger), ledger.verify()

        assert (None, STRUCTURE) == kept(ledger)
        assert digest(LOG) == told["relax.log"][0]
        is_of_campaign = limit == "CAMPAIGN_ARTIFACTS"
        assert is_of_campaign == (told["relax.log"][3] == "")
        assert is_of_campaign == found.artifacts_left_out
        assert found.is_intact


def test_no_learner_gets_them_and_readers_do(place: Path) -> None:
    with (
        vl.Campaign.open("c", ladder=vl.Ladder("relax", [relax]), ledger=place) as campaign,
        TestClient(create_app(campaign), base_url="http://127.0.0.1") as client,
    ):
        (reward,) = campaign.score(["CCO"])
        told = client.post("/v1/score", json={"samples": ["CCO"]}).text
        read = client.get(f"/v1/artifacts/{digest(STRUCTURE)}")
        other = client.get(f"/v1/artifacts/{'0' * 64}")

    assert not any("artifact" in name for name in reward._fields)
    assert digest(LOG) not in told
    assert (200, STRUCTURE) == (read.status_code, read.content)
    assert 404 == other.status_code


def test_what_is_hidden_is_in_no_artifact(tmp_path: Path) -> None:
    @vl.verifier(
        tier="fast", kind="text", version="1", isolation="inline",
        task_fields=["answer"], hidden=["answer"],
    )  # fmt: skip
    def exam(candidate: vl.Candidate) -> vl.Verdict:
        answer = dict(candidate.task or {})["answer"]
        told = {"trace.txt": f"expected {answer}".encode(), "clean.txt": b"nothing of it"}
        return vl.Verdict.accept(1.0, artifacts=told)

    with vl.Campaign.open("c", ladder=vl.Ladder("e", [exam]), ledger=tmp_path / "l.db") as c:
        c.score([vl.Candidate("text", "x", {"answer": "lighthouse"})])
        (row,) = [row for entry in c.ledger.entries() for row in c.ledger.read(entry).verdicts]
        files = row.verdict.files

        assert "it held what its verifier hides" == files["trace.txt"].note
        assert c.ledger.artifact(files["trace.txt"].digest) is None
        assert b"nothing of it" == c.ledger.artifact(files["clean.txt"].digest)


@pytest.mark.parametrize("name", ["../key", "a b", "", "/etc/passwd", "x" * 65, "naïve"])
def test_names_are_identifiers(name: str) -> None:
    with pytest.raises(vl.VerifierError, match="can't name an artifact"):
        vl.Verdict.accept(1.0, artifacts={name: b""})


def test_no_link_leads_out_of_the_worker(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/etc")
    for path in (
        tmp_path / "link", tmp_path / "folder" / "passwd", tmp_path, Path("/etc/passwd"),
        Path("/dev/zero"), tmp_path / "nothing",
    ):  # fmt: skip
        with pytest.raises(vl.VerifierError, match="artifact"):
            vl.Verdict.accept(1.0, artifacts={"a": path})


def test_evidence_is_cut_field_by_field(tmp_path: Path) -> None:
    @vl.verifier(tier="fast", kind="text", version="1")
    def talker(candidate: vl.Candidate) -> vl.Verdict:
        del candidate
        evidence = {
            "log": "x" * 1_000_000,
            "energy": -4.7,
            "odd": object(),
            "table": [0.5] * 10**6,
        }
        return vl.Verdict.accept(1.0, evidence=evidence)

    with vl.Campaign.open("c", ladder=vl.Ladder("t", [talker]), ledger=tmp_path / "l.db") as c:
        c.score(["a"])
        (row,) = [row for entry in c.ledger.entries() for row in c.ledger.read(entry).verdicts]

    told = row.verdict.evidence
    assert -4.7 == told["energy"]
    assert 10_000 < len(told["log"]) < 65_536
    assert told["log"].endswith("[cut]")
    assert {"log", "energy", "dropped"} == told.keys()
    for said in ("log was cut", "odd was not JSON", "table was too large"):
        assert said in told["dropped"]


def test_postgresql_keeps_them_too(postgresql: str, tmp_path: Path) -> None:
    score(postgresql, "CCO")
    with opened(postgresql) as ledger:
        assert (LOG, STRUCTURE) == kept(ledger)
        assert 1 == ledger.erase_artifacts([digest(LOG)])
        found = ledger.verify()
        export_tiles(ledger, tmp_path / "log")

        assert proven(ledger)
    assert (True, 1, 1) == (found.is_intact, found.artifacts, found.artifacts_erased)
    assert (1, 1) == check_artifacts(tmp_path / "log")
