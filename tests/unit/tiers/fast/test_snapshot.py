"""Snapshots: the files of one state of a repository."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.fast import snapshot
from verifier_ladder.tiers.fast.snapshot import read_snapshot, snapshot_digest

FILES = {"README": b"x\n", "kiosk/money.py": b"y\n", "docs/build/page.md": b"z\n"}
LEFT = (
    ".git/HEAD", "kiosk/__pycache__/money.pyc", ".pytest_cache/x", "kiosk.egg-info/PKG-INFO",
    "build/lib/money.py", "dist/x.whl", "kiosk/old.pyc", "x.pth", ".venv/bin/python",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    for path, held in {**FILES, **dict.fromkeys(LEFT, b"left\n")}.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_bytes(held)
    (made / "link").symlink_to("README")
    (made / "linked").symlink_to("kiosk")
    return made


def test_a_folder_is_read_without_what_programs_leave(folder: Path) -> None:
    assert read_snapshot(str(folder)) == FILES


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_an_archive_holds_the_same(folder: Path, tmp_path: Path, mode: str) -> None:
    place = tmp_path / "repository.tar"
    with tarfile.open(place, mode) as file:  # type: ignore[call-overload]
        file.add(folder, ".")

    assert read_snapshot(str(place)) == FILES
    assert snapshot_digest(FILES) == snapshot_digest(dict(reversed(FILES.items())))


def test_a_commit_holds_what_it_held(folder: Path) -> None:
    def git(*args: str) -> str:
        settings = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "gc.auto=0"]
        done = subprocess.run(
            ["git", *settings, *args], cwd=folder, capture_output=True, text=True, check=True  # noqa: S607
        )  # fmt: skip
        return done.stdout.strip()

    (folder / ".git" / "HEAD").unlink()
    git("init", "-q")
    git("add", "-f", *FILES)
    git("commit", "-q", "-m", "one")
    commit = git("rev-parse", "HEAD")
    (folder / "README").write_text("another")

    assert read_snapshot(f"{folder}@{commit}") == FILES
    with pytest.raises(ConfigError, match="git has no commit"):
        read_snapshot(f"{folder}@{'0' * 40}")


def test_what_is_no_snapshot_is_refused(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "no.tar").write_bytes(b"no archive")
    for place in ("empty", "no.tar", "missing"):
        with pytest.raises(ConfigError):
            read_snapshot(str(tmp_path / place))
    for name in ("MOST", "LARGEST"):
        with monkeypatch.context() as patched:
            patched.setattr(snapshot, name, 2)
            with pytest.raises(ConfigError, match="at most"):
                read_snapshot(str(folder))


def test_an_archive_names_no_file_outside(tmp_path: Path) -> None:
    place = tmp_path / "evil.tar"
    with tarfile.open(place, "w") as file:
        member = tarfile.TarInfo("../evil")
        member.size = 1
        file.addfile(member, io.BytesIO(b"x"))

    with pytest.raises(ConfigError, match="no file inside"):
        read_snapshot(str(place))


def test_a_digest_is_that_of_paths_and_contents() -> None:
    one = snapshot_digest(FILES)

    assert len(one) == 64
    assert one != snapshot_digest({**FILES, "README": b"x"})
    assert one != snapshot_digest({**FILES, "README.md": b"x\n"})
