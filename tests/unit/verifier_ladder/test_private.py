"""A link that somebody has put in a file's place leads nowhere."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.backup import backup
from verifier_ladder.ledger.export import export_csv, export_jsonl
from verifier_ladder.private import beside, cache_folder, replacing, write_private
from verifier_ladder.report.page import write_report


@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    (tmp_path / "other").mkdir()
    victim = tmp_path / "other" / "victim"
    victim.write_text("kept")
    victim.chmod(0o644)
    return victim


def score(path: Path) -> None:
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [length]), ledger=path) as campaign:
        campaign.score(["a"])


def link(place: Path, victim: Path) -> None:
    place.symlink_to(victim)


def pipe(place: Path, _victim: Path) -> None:
    os.mkfifo(place)


@pytest.mark.parametrize("put", [link, pipe])
def test_what_lies_in_the_place_of_a_ledgers_lock_is_not_written_to(
    path: Path, victim: Path, put: Callable[[Path, Path], None]
) -> None:
    put(Path(f"{path}.lock"), victim)

    with pytest.raises(ConfigError, match=r"ledger\.db\.lock is not a plain file"):
        score(path)
    assert "kept" == victim.read_text()


def test_a_lock_that_was_removed_is_made_again(path: Path) -> None:
    score(path)
    Path(f"{path}.lock").unlink()

    score(path)


def jsonl(ledger: Any, target: Path) -> None:
    export_jsonl(ledger, target)


def csv(ledger: Any, target: Path) -> None:
    export_csv(ledger, target)


def report(ledger: Any, target: Path) -> None:
    write_report(ledger, "c", target)


@pytest.mark.parametrize("write", [jsonl, csv, report])
def test_a_file_in_the_place_of_a_link_is_for_its_owner_alone(
    path: Path, victim: Path, tmp_path: Path, write: Callable[[Any, Path], None]
) -> None:
    score(path)
    target = tmp_path / "out"
    target.symlink_to(victim)

    with open_ledger(path) as ledger:
        write(ledger, target)

    assert "kept" == victim.read_text()
    assert not target.is_symlink()
    assert 0o600 == target.stat().st_mode & 0o777


@pytest.mark.parametrize("write", [jsonl, csv, report])
def test_a_file_that_is_replaced_keeps_its_mode(
    path: Path, tmp_path: Path, write: Callable[[Any, Path], None]
) -> None:
    score(path)
    target = tmp_path / "out"
    target.touch()
    target.chmod(0o640)

    with open_ledger(path) as ledger:
        write(ledger, target)

    assert 0o640 == target.stat().st_mode & 0o777
    assert not list(tmp_path.glob("*.part"))


def test_a_backup_goes_through_no_link(path: Path, victim: Path, tmp_path: Path) -> None:
    score(path)
    victim.write_text("")
    (tmp_path / "copy.db.part").symlink_to(victim)

    backup(path, tmp_path / "copy.db")

    assert "" == victim.read_text()
    assert 0o600 == (tmp_path / "copy.db").stat().st_mode & 0o777


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127])
def test_a_file_may_have_the_longest_name_that_the_disk_allows(tmp_path: Path, name: str) -> None:
    with replacing(tmp_path / name) as part:
        part.write_text("whole")
    write_private(tmp_path / name, b"whole again")

    assert [name] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["pipe", "link", "/dev/null", "/dev/stdout"])
def test_nothing_takes_the_place_of_a_device_or_a_pipe(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    place = tmp_path / name
    before = place.lstat()

    with pytest.raises(OSError, match="that is a device or a pipe; name a file"), beside(place):
        pass

    assert before.st_mode == place.lstat().st_mode


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_users_cache_is_used_only_where_nobody_else_can_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "verifier-ladder").mkdir()
    (tmp_path / "verifier-ladder").chmod(mode)
    if mode == 0o700:
        assert cache_folder() == tmp_path / "verifier-ladder"
        return

    with pytest.raises(ConfigError, match="XDG_CACHE_HOME"):
        cache_folder()


def test_without_a_place_for_a_cache_one_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert cache_folder().stat().st_mode & 0o777 == 0o700
    assert cache_folder().parent == tmp_path / ".cache"
