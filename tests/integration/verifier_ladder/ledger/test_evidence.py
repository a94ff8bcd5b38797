"""Reading a ledger changes no byte of it, whoever may write it and whatever lies beside it."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import forked
import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.ledger.opening import open_evidence
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import CAMPAIGN, key, score_block

NOBODY = 65534
OLDER = Path(__file__).parents[3] / "unit/verifier_ladder/ledger/ledger-0005.sql"


@vl.verifier(kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a ledger that nobody has open."""
    made = tmp_path / "evidence"
    made.mkdir()
    ladder = vl.Ladder("words", [length])
    with vl.Campaign.open("words", ladder=ladder, ledger=made / "ledger.db") as campaign:
        campaign.score(["ant", "bee", "cow"])
    yield made
    made.chmod(0o700)


def state(folder: Path) -> dict[str, Any]:
    """All that can be seen of a folder's files."""
    return {
        path.name: (
            sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
            path.stat().st_mode,
        )
        for path in sorted(folder.iterdir())
    }


def close_down(folder: Path) -> None:
    """Take the right to write away from everybody."""
    for path in folder.iterdir():
        path.chmod(0o444 if path.name == "ledger.db" else stat.S_IMODE(path.stat().st_mode))
    folder.chmod(0o555)


COMMANDS = (
    ("ledger", "verify"), ("ledger", "ls"), ("ledger", "show", "ant"), ("ledger", "show", "1"),
    ("ledger", "export"), ("ledger", "prove", "1"), ("ledger", "checkpoint"),
    ("ledger", "diff", "0"), ("ledger", "replay"), ("campaign", "ls"), ("campaign", "show"),
    ("campaign", "spend", "--by", "run"), ("run", "ls"), ("run", "report"), ("check", "ls"),
)  # fmt: skip


@pytest.mark.parametrize("closed", [False, True], ids=["writable", "read-only"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_that_reads_changes_nothing(
    command: tuple[str, ...], folder: Path, *, closed: bool
) -> None:
    if closed:
        close_down(folder)
    before = state(folder)

    done = CliRunner().invoke(app, [*command, "--ledger", str(folder / "ledger.db")])

    assert 0 == done.exit_code, done.output
    assert before == state(folder)


def test_somebody_without_rights_verifies_it(folder: Path) -> None:
    """Root may write whatever the modes say, so another user is asked."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        there = Path(made) / "evidence"
        shutil.copytree(folder, there)
        (there / "ledger.db").chmod(0o444)
        there.chmod(0o755)
        before = state(there)
        done = _as_nobody(there / "ledger.db")
        assert "[] False\n" == done.stdout, done.stderr[-2000:]
        assert before == state(there)


def _as_nobody(path: Path) -> "subprocess.CompletedProcess[str]":
    """Verify a ledger as a user who may do nothing but read it."""
    program = (
        f"import os, sys, importlib; sys.path[:] = {sys.path!r}\n"
        "from verifier_ladder.ledger.opening import open_evidence\n"
        "import verifier_ladder.ledger.sql, verifier_ladder.ledger.evidence\n"
        "import sqlalchemy.dialects.sqlite, cryptography.hazmat.primitives.asymmetric.ed25519\n"
        "import verifier_ladder.ledger.upgrade\n"
        f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        f"with open_evidence({str(path)!r}) as ledger:\n"
        "    found = ledger.verify()\n"
        "    print(found.problems, found.is_compared_with_note)\n"
    )
    return forked.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, cwd="/"
    )


_CLI = """
import os, sys
sys.path[:] = {path!r}
from typer.testing import CliRunner
from verifier_ladder.cli.app import app
import verifier_ladder.doctor
verifier_ladder.doctor._pool = lambda: iter(())
def run(folder, command):
    command = [part.format(folder) for part in command]
    return CliRunner().invoke(app, command).output
run({scratch!r}, {command!r})  # Imports all, for others may not read this installation.
os.setgid({nobody}); os.setuid({nobody})
os.environ["HOME"] = {folder!r}
print(run({folder!r}, {command!r}))
"""


@pytest.fixture
def asks(folder: Path) -> Iterator[Callable[..., str]]:
    """Runs a command, `{}` in it being the folder, as somebody who may only read `{}/closed`."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with TemporaryDirectory() as made:
        Path(made).chmod(0o777)
        for name in ("mine", "others"):
            shutil.copytree(folder, Path(made) / name / "closed")
            (Path(made) / name).chmod(0o777)
            (Path(made) / name / "closed").chmod(0o755)
            (Path(made) / name / "closed/ledger.db").chmod(0o444)

        def ask(*command: str) -> str:
            program = _CLI.format(
                path=sys.path, command=command, nobody=NOBODY,
                scratch=f"{made}/mine", folder=f"{made}/others",
            )  # fmt: skip
            done = forked.run(
                [sys.executable, "-c", program],
                check=False, capture_output=True, text=True, cwd="/",
            )  # fmt: skip
            return f"{done.stdout}{done.stderr}"

        yield ask


def test_a_ledger_that_can_t_be_written_is_backed_up_and_put_back(
    asks: Callable[..., str],
) -> None:
    target = "{}/closed/ledger.db"
    assert "copied to" in asks("ledger", "backup", "{}/copy.db", "--ledger", target)
    assert "is what" in asks("ledger", "restore", target, "--ledger", "{}/again.db")


def test_the_doctor_tells_of_a_ledger_that_can_t_be_written(asks: Callable[..., str]) -> None:
    told = asks("doctor", "--json", "--ledger", "{}/closed/ledger.db")
    found = {finding["name"]: finding for finding in json.loads(told)["findings"]}
    assert "fail" == found["place"]["state"]
    assert "can't be written" in found["place"]["text"]


def test_what_is_refused_where_nothing_can_be_written_is_only_to_write(
    asks: Callable[..., str],
) -> None:
    told = asks(
        "campaign", "pause", "words", "--tier", "computation", "--ledger", "{}/closed/ledger.db"
    )
    assert "no campaign can be opened or changed there" in " ".join(told.split())
    assert "even when it is read" not in told


def test_what_a_crash_has_left_is_read_and_stays(folder: Path) -> None:
    path = folder / "ledger.db"
    with vl.open_ledger(path) as ledger:
        ledger.append(score_block(["left", "behind"]))
        for ending in ("", "-wal"):
            shutil.copy(f"{path}{ending}", f"{folder / 'crashed.db'}{ending}")
    assert Path(f"{folder / 'crashed.db'}-wal").stat().st_size
    close_down(folder)
    before = state(folder)

    with open_evidence(folder / "crashed.db") as ledger:
        assert isinstance(ledger, SqlLedger)
        found = ledger.verify()
        assert ([], 1) == (found.problems, found.pending)
        assert 1 == len(ledger.mentions(key("left")))
        with pytest.raises(vl.LedgerError, match="opened for reading only"):
            ledger.append(score_block(["more"]))
    assert before == state(folder)


def test_a_ledger_that_is_open_is_read_as_it_is_now(folder: Path) -> None:
    path = folder / "ledger.db"
    with vl.open_ledger(path) as writer:
        writer.append(score_block(["now"], step=5))
        with open_evidence(path) as reader:
            assert isinstance(reader, SqlLedger)
            assert [] == reader.verify().problems
            writer.append(score_block(["later"], step=6))
            assert reader.newest() == writer.newest()
            assert [] == reader.verify().problems
        writer.append(score_block(["and on"], step=7))  # Its locks are still its own.
    assert [] == sorted(folder.glob("*-wal"))


def test_who_writes_while_a_closed_ledger_is_verified_is_told(folder: Path) -> None:
    path = folder / "ledger.db"
    with open_evidence(path) as reader:
        assert isinstance(reader, SqlLedger)
        with vl.open_ledger(path) as writer:
            writer.append(score_block(["meanwhile"], step=5))
        with pytest.raises(vl.LedgerError, match="was written to while it was read"):
            reader.verify()


def test_an_older_file_is_read_in_a_copy(tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        connection.executescript(OLDER.read_text(encoding="utf-8"))
    close_down(folder)
    before = state(folder)

    with open_evidence(folder / "ledger.db") as ledger:
        assert isinstance(ledger, SqlLedger)
        found = ledger.verify()
        assert found.problems == []
        assert found.entries
    done = CliRunner().invoke(app, ["ledger", "ls", "--ledger", str(folder / "ledger.db")])
    assert 0 == done.exit_code
    assert before == state(folder)
    folder.chmod(0o700)


@pytest.mark.parametrize("content", [b"", b"no ledger", b"SQLite format 3\0" + bytes(4000)])
def test_what_is_no_ledger_is_told_in_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(content)
    done = CliRunner().invoke(app, ["ledger", "verify", "--ledger", str(tmp_path / "ledger.db")])
    assert 0 != done.exit_code
    assert "Traceback" not in done.output
    assert content == (tmp_path / "ledger.db").read_bytes()
    assert ["ledger.db"] == [path.name for path in tmp_path.iterdir()]


def test_the_last_line_says_whether_a_key_was_pinned(folder: Path) -> None:
    path = folder / "ledger.db"
    told = CliRunner().invoke(app, ["ledger", "checkpoint", "--ledger", str(path), "--json"])
    (signer,) = json.loads(told.stdout)["keys"]

    done = CliRunner().invoke(app, ["ledger", "verify", "--ledger", str(path)])
    assert "no key was pinned" in done.stdout.splitlines()[-1]
    assert (
        "not compared: rows in transit (work queue, repeated calls), accounts, inbox"
        in done.stdout
    )
    done = CliRunner().invoke(app, ["ledger", "verify", "--ledger", str(path), "--key", signer])
    assert "intact" == done.stdout.splitlines()[-1]


def test_files_are_made_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = tmp_path / "ledger.db"
        with vl.Campaign.open("c", ladder=vl.Ladder("l", [length]), ledger=path) as campaign:
            campaign.score(["a secret"])
            for ending in ("", "-wal", "-shm", ".lock"):
                assert 0 == Path(f"{path}{ending}").stat().st_mode & 0o077, ending
        for number, command in enumerate((
            ("ledger", "export", "--out", "out.jsonl"), ("ledger", "export", "--out", "out.csv"),
            ("ledger", "export", "--out", "out.parquet"), ("ledger", "backup", "copy.db"),
            ("ledger", "export", "--format", "tiles", "--out", "log"),
            ("ledger", "prove", "1", "--out", "proof.json"),
            ("run", "report", "--out", "card.md"),
        )):  # fmt: skip
            *words, last = command
            made = CliRunner().invoke(app, [*words, str(tmp_path / last), "--ledger", str(path)])
            assert 0 == made.exit_code, (number, made.output)
    finally:
        os.umask(before)
    modes = {path.name: oct(path.stat().st_mode & 0o077) for path in tmp_path.iterdir()}
    assert {"out.jsonl", "copy.db", "log", "ledger.db.key.signed"} <= modes.keys()
    assert {"0o0"} == set(modes.values()), modes


def test_an_older_files_mode_stays_and_the_doctor_tells(folder: Path) -> None:
    (folder / "ledger.db").chmod(0o644)
    vl.open_ledger(folder / "ledger.db").close()
    assert 0o644 == stat.S_IMODE((folder / "ledger.db").stat().st_mode)

    done = CliRunner().invoke(app, ["doctor", "--ledger", str(folder / "ledger.db"), "--json"])
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert f"chmod 600 {folder / 'ledger.db'}" == findings["permissions"]["advice"]


def test_a_ledger_is_not_merged_with_itself(folder: Path) -> None:
    path = folder / "ledger.db"
    shutil.copy(path, folder / "copy.db")
    (folder / "link.db").symlink_to(path)
    before = path.read_bytes()
    for other in ("ledger.db", "copy.db", "link.db"):
        done = CliRunner().invoke(
            app, ["ledger", "merge", str(folder / other), "--ledger", str(path)]
        )
        assert 2 <= done.exit_code or "merged with itself" in done.output
        assert "can't be merged with itself" in done.output
    assert before == path.read_bytes()
    with vl.open_ledger(":memory:") as memory:
        assert memory.append(score_block([CAMPAIGN]))
