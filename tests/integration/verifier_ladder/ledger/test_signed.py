"""Whatever a campaign does, its ledger is signed for and fits what was signed."""

import json
import logging
import shutil
from pathlib import Path
from threading import Event, Thread

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.ledger.bundles import export_tiles
from verifier_ladder.ledger.merging import merge
from verifier_ladder.ledger.offline import check_export, check_proof, read_checkpoint
from verifier_ladder.ledger.offline import main as offline
from verifier_ladder.ledger.proof import prove
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.signer import Signer
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import key, score_block, verdict_row
from verifier_ladder.transcript import Transcript


@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline")
def vowels(candidate: vl.Candidate) -> float:
    return float(sum(letter in "aeiou" for letter in str(candidate.content)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ladder = vl.Ladder("words", [length, vowels])
    with vl.Campaign.open("signed", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign:
        for _ in range(3):
            campaign.score(["ant", "bee", "cow", "ant"], groups=["a", "a", "b", "b"])
        campaign.drain()
    return tmp_path / "ledger.db"


def test_a_closed_campaign_is_signed_whole(path: Path) -> None:
    with vl.open_ledger(path) as ledger:
        assert isinstance(ledger, SqlLedger)
        found = ledger.verify()

    assert ([], 0) == (found.problems, found.pending)
    assert found.entries >= 5
    assert found.records >= 6  # Verdicts of two verifiers on three words.


def test_the_key_is_beside_the_ledger(path: Path) -> None:
    assert 0o600 == Path(f"{path}.key").stat().st_mode & 0o777


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger is that many may write to."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgresql"))
    return str(tmp_path / "ledger.db")


def opened(place: str) -> SqlLedger:
    ledger = vl.open_ledger(place)
    assert isinstance(ledger, SqlLedger)
    return ledger


def test_many_writers_and_sequencers_make_one_log(place: str) -> None:
    def work(name: str) -> None:
        with opened(place) as ledger:
            for number in range(12):
                ledger.append(score_block([f"{name}{number}", f"{number}"], step=number))
                ledger.sequence()

    threads = [Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with opened(place) as ledger:
        while ledger.sequence():
            pass
        found = ledger.verify()
        assert ([], 48, 0) == (found.problems, found.entries, found.pending)
        assert list(range(48)) == [leaf.place for leaf in ledger.leaves()]


def test_a_ledger_is_intact_at_every_moment(place: str) -> None:
    ends = Event()

    def work() -> None:
        with opened(place) as ledger:
            for number in range(25):
                ledger.append(score_block([f"{number}"], step=number))
                ledger.sequence()
        ends.set()

    writer = Thread(target=work)
    with opened(place) as ledger:
        writer.start()
        while not ends.is_set():
            assert [] == ledger.verify().problems
        writer.join()
        assert 25 == ledger.verify().entries


def test_a_history_is_proven_merged_and_looked_back_at(place: str, tmp_path: Path) -> None:
    with opened(place) as ledger, opened(str(tmp_path / "theirs.db")) as theirs:
        entry = ledger.append(score_block(["a", "bb"]))
        ledger.sequence()
        then = ledger.size()
        saved = ledger.checkpoint()
        newer = verdict_row("a", vl.Verdict.accept(9.0))
        theirs.append(Block("review", "trial", (), [newer]))

        assert 1 == merge(ledger, theirs).entries
        (verdict,) = ledger.verdicts_as_of([key("check a")], then).values()
        assert (1.0, 9.0) == (
            verdict.score, ledger.verdicts([key("check a")])[key("check a")].score
        )  # fmt: skip
        records = check_proof(prove(ledger, entry, [("verdicts", 1)])).records
        assert [2.0] == [record["score"] for record in records]
        assert [] == ledger.verify(saved=saved).problems
        assert 2 == export_tiles(ledger, tmp_path / "log")
    assert 2 == check_export(tmp_path / "log", saved=saved)[0].size


def test_a_sealed_campaign_logs_no_content_whoever_writes(place: str, tmp_path: Path) -> None:
    with opened(place) as ledger:
        ledger.seal()
    ladder = vl.Ladder("words", [length, vowels], policy="all_tiers")
    with vl.Campaign.open("sealed", ladder=ladder, ledger=place, workers=1) as campaign:
        rewards = campaign.score(["antelope", "antelope", "bee"], deadline=300)
        campaign.keep([Transcript(step=0, position=0, group="g", prompt="Name an antelope.")])
    assert [4.0, 4.0, 2.0] == [reward.value for reward in rewards]

    with opened(place) as ledger:
        assert [] == ledger.verify().problems
        kinds = {entry.kind: entry for entry in ledger.entries()}
        assert {"score", "check", "revision", "transcript"} <= kinds.keys()
        proof = check_proof(prove(ledger, kinds["check"].id))
        export_tiles(ledger, tmp_path / "log")
    files = [path for path in (tmp_path / "log").rglob("*") if path.is_file()]
    assert not any(b"antelope" in path.read_bytes() for path in files)
    assert check_export(tmp_path / "log")[0].size == proof.checkpoint.size


def test_an_open_campaign_is_signed_in_the_background(tmp_path: Path) -> None:
    ladder = vl.Ladder("words", [length])
    with (
        vl.Campaign.open("open", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign,
        opened(str(tmp_path / "ledger.db")) as other,
    ):
        campaign.score(["ant"])
        signed = Event()
        while other.pending() and not signed.wait(0.05):
            pass

        assert other.size() == len(list(other.entries()))


def written(path: Path, name: str = "more") -> None:
    with opened(str(path)) as ledger:
        ledger.append(score_block([name]))


def told(*command: str) -> str:
    return CliRunner().invoke(app, list(command)).output


def doctor(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
    """What the doctor finds, by name; it takes any wait for a long one."""
    monkeypatch.setattr("verifier_ladder.doctor._LONG_WAIT", -1.0)
    monkeypatch.setattr("verifier_ladder.doctor._pool", lambda: iter(()))
    found = json.loads(told("doctor", "--json", "--ledger", str(path)))["findings"]
    return {finding["name"]: finding for finding in found}


def test_the_doctor_tells_why_nothing_is_signed(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "signed log" not in doctor(path, monkeypatch)
    shutil.copy(path, tmp_path / "older.db")
    written(path)
    shutil.copy(tmp_path / "older.db", path)
    fresh = doctor(path, monkeypatch)["signed log"]
    written(path, "other")

    found = doctor(path, monkeypatch)["signed log"]

    assert {"fail"} == {fresh["state"], found["state"]}
    assert found["text"].startswith("1 entries wait"), found
    assert "accept-restore" in found["text"]


def test_the_doctor_tells_of_entries_that_wait_though_nothing_keeps_them(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(str(path)) as ledger:
        ledger.append(score_block(["more"]))
        found = doctor(path, monkeypatch)["signed log"]

    assert "warn" == found["state"]
    assert found["text"].startswith("1 entries wait"), found


@pytest.mark.parametrize("cause", ["no note", "older backup"])
def test_what_may_be_accepted_is_told_so(path: Path, tmp_path: Path, cause: str) -> None:
    if cause == "no note":
        Path(f"{path}.key.signed").unlink()
    else:
        shutil.copy(path, tmp_path / "older.db")
        written(path)
        shutil.copy(tmp_path / "older.db", path)

    last = told("ledger", "verify", "--ledger", str(path)).partition("NOT INTACT")[2]

    assert "vladder ledger accept-restore" in last
    assert "vladder ledger restore" not in last
    told("ledger", "accept-restore", "--ledger", str(path))
    assert "NOT INTACT" not in told("ledger", "verify", "--ledger", str(path))


def test_a_new_key_of_an_old_log_is_told_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(str(path)) as ledger:
        (former,) = ledger.signers()
    Path(f"{path}.key").unlink()
    with caplog.at_level(logging.WARNING):
        written(path, "first")
        written(path, "second")

    with opened(str(path)) as ledger:
        assert former == ledger.signers()[0]
        new = str(ledger.signers()[1])
    assert 1 == sum(new in record.getMessage() for record in caplog.records)


def test_the_verifier_without_a_ledger_shows_a_terminal_nothing(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = Signer.at(tmp_path / "stranger.key", "a\x1b[2Jlog")
    with vl.open_ledger(path) as ledger:
        assert isinstance(ledger, SqlLedger)
        proof = prove(ledger, 1)
    checkpoint = read_checkpoint(proof["checkpoint"])._replace(origin=stranger.key.name)
    resigned = {**proof, "key": str(stranger.key), "checkpoint": stranger.sign(checkpoint)}
    (tmp_path / "proof.json").write_text(json.dumps(resigned))

    code = offline([str(tmp_path / "proof.json")])

    shown = capsys.readouterr().out
    assert 0 == code
    assert r"a\x1b[2Jlog" in shown
    assert "\x1b" not in shown
