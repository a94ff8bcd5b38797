"""An exported log is checked by one file, alone, and no changed byte gets past it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.bundles import export_tiles
from verifier_ladder.ledger.offline import RejectedError, check_export, main, read_checkpoint
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.signer import Signer
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import CAMPAIGN, score_block

ENTRIES = 515
EARLIEST = Path(__file__).parent / "ledger-0001.sql"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of a log with two full tiles and some."""
    place = tmp_path_factory.mktemp("export")
    with open_ledger(place / "ledger.db") as ledger:
        assert isinstance(ledger, SqlLedger)
        ledger.append(score_block(["a", "b", "c"]))
        ledger.sequence()
        (place / "saved").write_text(str(ledger.checkpoint()))
        with ledger._writing() as connection:
            for number in range(ENTRIES - 1):
                write(connection, Draft(Block("retry", CAMPAIGN, facts={"n": number})))
        assert ENTRIES == export_tiles(ledger, place / "log")
    return place / "log"


def test_the_files_lie_where_the_specification_says(folder: Path) -> None:
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    assert {
        "checkpoint", "keys", "verify.py", "tile/0/000", "tile/0/001", "tile/0/002.p/3",
        "tile/1/000.p/2", "tile/entries/000", "tile/entries/001", "tile/entries/002.p/3",
        "tile/records/000", "tile/records/001", "tile/records/002.p/3",
    } == names  # fmt: skip
    assert 256 * 32 == (folder / "tile/0/000").stat().st_size


def test_an_export_is_checked_without_the_project(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "verify.py", "."],
        check=False, capture_output=True, text=True, cwd=folder, timeout=300,
    )  # fmt: skip

    assert (0, "") == (done.returncode, done.stderr)
    assert f"{ENTRIES} entries" in done.stdout


def test_the_verifier_imports_nothing_of_the_project(folder: Path) -> None:
    assert "verifier_ladder" not in [
        word
        for line in (folder / "verify.py").read_text().splitlines()
        if line.strip().startswith(("import ", "from "))
        for word in line.replace(".", " ").split()
    ]


def test_an_export_continues_a_saved_checkpoint(folder: Path) -> None:
    saved = (folder.parent / "saved").read_text()

    assert ENTRIES == check_export(folder, saved=saved)[0].size


FALSE = "2020-01-01T00:00:00.000000+00:00"


def with_time(key: Path, checkpoint: Path, time: str) -> str:
    """A checkpoint with another time, as the holder of its key can sign it."""
    return Signer.read(key).sign(read_checkpoint(checkpoint.read_text())._replace(time=time))


def test_who_holds_the_key_gets_no_false_time_past_the_verifier(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    key, saved = folder.parent / "ledger.db.key", tmp_path / "saved"

    saved.write_text(with_time(key, folder.parent / "saved", FALSE))
    assert 1 == main([str(folder), "--checkpoint", str(saved)])
    assert f"the last of the 1 entries was not recorded at {FALSE}" in capsys.readouterr().err
    (tmp_path / "copy/checkpoint").write_text(with_time(key, folder / "checkpoint", FALSE))
    assert 1 == main([str(tmp_path / "copy")])
    assert f"the last of the {ENTRIES} entries was not recorded at" in capsys.readouterr().err
    (tmp_path / "copy/checkpoint").write_text(with_time(key, folder / "checkpoint", ""))
    assert 0 == main([str(tmp_path / "copy")])  # As checkpoints of older versions are.


@given(data=st.data())
@settings(max_examples=60)
def test_no_changed_byte_of_an_export_goes_unnoticed(
    folder: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.getbasetemp() / "changed"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    files = sorted(p for p in copy.rglob("*") if p.is_file() and p.name != "verify.py")
    path = data.draw(st.sampled_from(files))
    body = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(body)

    try:
        check_export(copy)
    except (RejectedError, UnicodeDecodeError):
        return
    assert "keys" == path.name  # A line's end.
    assert (folder / "keys").read_text().split() == body.decode().split()


@pytest.mark.parametrize("kind", ["0", "entries", "records"])
def test_a_lost_file_is_noticed(folder: Path, tmp_path: Path, kind: str) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "tile" / kind / "001").unlink()

    assert 2 == main([str(tmp_path / "copy")])


def test_a_longer_bundle_is_noticed(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    with (tmp_path / "copy/tile/records/002.p/3").open("ab") as file:
        file.write(bytes(8))

    assert 1 == main([str(tmp_path / "copy")])


def test_another_key_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stranger = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"

    assert 1 == main([str(folder), "--key", stranger])
    assert "not signed by the given key" in capsys.readouterr().err


def test_entries_of_the_first_format_are_exported_too(tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.executescript(EARLIEST.read_text(encoding="utf-8"))
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert isinstance(ledger, SqlLedger)
        count = export_tiles(ledger, tmp_path / "log")

    assert count == check_export(tmp_path / "log")[0].size > 0
    checkpoint = tmp_path / "log" / "checkpoint"
    assert read_checkpoint(checkpoint.read_text()).time
    checkpoint.write_text(with_time(tmp_path / "ledger.db.key", checkpoint, FALSE))
    with pytest.raises(RejectedError, match="was not recorded at"):
        check_export(tmp_path / "log")


def test_a_long_entry_of_the_first_format_stands_in_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verifier_ladder.ledger import bundles, offline

    monkeypatch.setattr(bundles, "LONGEST", 100)
    monkeypatch.setattr(offline, "LONGEST", 100)
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert isinstance(ledger, SqlLedger)
        ledger.append(score_block(["a"]))
        export_tiles(ledger, tmp_path / "log")

    assert bytes(2) == (tmp_path / "log/tile/entries/000.p/1").read_bytes()
    assert 1 == check_export(tmp_path / "log")[0].size


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert isinstance(ledger, SqlLedger)
        with pytest.raises(LedgerError, match="holds nothing"):
            export_tiles(ledger, tmp_path / "log")
        ledger.append(score_block(["a"]))
        (tmp_path / "log").mkdir()
        with pytest.raises(ConfigError, match="exists already"):
            export_tiles(ledger, tmp_path / "log")
        with pytest.raises(ConfigError, match="can't be written"):
            export_tiles(ledger, tmp_path / "ledger.db" / "log")
