"""Checkpoints of long calculations: whole, private, and never a reason to fail."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from verifier_ladder.tiers import checkpoints
from verifier_ladder.tiers.checkpoints import Checkpoint


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that hosts share; it is made when it is needed."""
    monkeypatch.setenv("VLADDER_CHECKPOINTS", str(tmp_path / "shared"))
    return tmp_path / "shared"


def test_what_was_saved_last_is_found_by_whoever_computes_the_same(folder: Path) -> None:
    one = Checkpoint(b"verifier", b"candidate")
    one.save(b"first")
    one.save(b"second")

    assert b"second" == Checkpoint(b"verifier", b"candidate").load()
    assert Checkpoint(b"verifier", b"other").load() is None
    assert Checkpoint(b"verifiercandidate").load() is None
    (file,) = folder.iterdir()
    assert 0o600 == file.stat().st_mode & 0o777


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-1], lambda data: data + b"x", lambda _: b""]
)
def test_what_is_not_whole_is_not_gone_on_with(
    folder: Path, spoil: Callable[[bytes], bytes]
) -> None:
    Checkpoint(b"a").save(b"half way")
    (file,) = folder.iterdir()
    file.write_bytes(spoil(file.read_bytes()))

    assert Checkpoint(b"a").load() is None


def test_nothing_is_kept_of_what_has_ended_or_was_left_for_a_month(folder: Path) -> None:
    left, recent, ended = (Checkpoint(name) for name in (b"left", b"recent", b"ended"))
    for each in (left, recent, ended):
        each.save(b"half way")
    os.utime(folder / left._name, (0, 0))
    foreign = folder / "weights.checkpoint"
    foreign.touch()
    os.utime(foreign, (0, 0))

    ended.clear()

    assert {folder / recent._name, foreign} == set(folder.iterdir())


def test_a_folder_that_can_not_be_written_to_is_told_and_costs_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("VLADDER_CHECKPOINTS", str(tmp_path / "file" / "folder"))
    checkpoint = Checkpoint(b"a")

    checkpoint.save(b"half way")
    checkpoint.clear()

    assert checkpoint.load() is None
    assert "no checkpoint is kept" in caplog.text


def test_a_default_folder_that_can_not_be_made_costs_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("VLADDER_CHECKPOINTS", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    checkpoint = Checkpoint(b"a")

    checkpoint.save(b"half way")
    checkpoint.clear()

    assert checkpoint.load() is None
    assert "no checkpoint is kept" in caplog.text


@pytest.mark.parametrize("put", ["link", "pipe", "open to others"])
def test_what_somebody_else_may_have_put_there_is_not_read(folder: Path, put: str) -> None:
    checkpoint = Checkpoint(b"a")
    checkpoint.save(b"half way")
    (file,) = folder.iterdir()
    if put == "link":
        file.symlink_to(file.rename(folder / "elsewhere"))
    elif put == "pipe":
        file.unlink()
        os.mkfifo(file)
    else:
        file.chmod(0o666)

    assert checkpoint.load() is None


def test_a_folder_that_others_can_write_to_is_not_used(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir()
    folder.chmod(0o777)

    Checkpoint(b"a").save(b"half way")

    assert [] == list(folder.iterdir())
    assert "give it to the workers' user alone" in caplog.text


def test_without_a_setting_they_lie_in_a_private_folder_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLADDER_CHECKPOINTS", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    Checkpoint(b"a").save(b"half way")

    (own,) = tmp_path.iterdir()
    assert 0o700 == own.stat().st_mode & 0o777


def test_one_is_due_when_the_last_is_old_enough(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    checkpoint = Checkpoint(b"a")

    assert not checkpoint.is_due
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    assert checkpoint.is_due
