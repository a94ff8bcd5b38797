"""The place of a ledger file."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import place
from verifier_ladder.ledger.place import check_place, file_system

MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /data rw shared:2 master:1 - nfs4 server:/data rw
31 30 0:27 / /data/local rw - xfs /dev/sdb1 rw
32 22 0:28 / /my\040share rw - cifs //server/share rw
33 22 0:29 / /over rw - ext4 /dev/sdc1 rw
34 33 0:30 / /over rw - fuse.sshfs host: rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/home/me", "ext4"), ("/data", "nfs4"), ("/data/runs/1", "nfs4"),
        ("/data/local/x", "xfs"), ("/database", "ext4"), ("/my share/x", "cifs"),
        ("/over/x", "fuse.sshfs"),
    ],
)  # fmt: skip
def test_the_nearest_mount_counts(folder: str, kind: str) -> None:
    assert file_system(Path(folder), MOUNTS) == kind


@given(st.text())
def test_any_table_of_mounts_can_be_read(mounts: str) -> None:
    file_system(Path("/data"), mounts)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "lustre"])
def test_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"22 1 8:1 / / rw - {kind} server:/ rw\n")
    monkeypatch.setattr(place, "_MOUNTS", table)
    with pytest.raises(ConfigError, match=r"network file system.*local disk"):
        check_place(tmp_path / "ledger.db")


def test_a_system_without_a_table_of_mounts_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "_MOUNTS", tmp_path / "missing")
    assert check_place(tmp_path / "ledger.db") == tmp_path.resolve() / "ledger.db"


def test_a_pipe_is_no_ledger(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="not a regular file"):
        check_place(tmp_path / "pipe")


_AS_NOBODY = """
import os, sys
from pathlib import Path
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.place import check_place
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    check_place(Path(sys.argv[1]))
except ConfigError as error:
    print(error)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user reads: pytest shuts its own ones each time that it starts."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize(
    ("name", "said"), [("old.db", "can't be written"), ("new.db", "can't be written")]
)
def test_what_cannot_be_written_is_named(open_folder: Path, name: str, said: str) -> None:
    """Root may write everywhere, so an unprivileged process asks."""
    folder = open_folder / "locked"
    folder.mkdir()
    (folder / "old.db").touch()
    (folder / "old.db").chmod(0o444)
    folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, str(folder / name)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    folder.chmod(0o755)
    assert said in done.stdout
