"""Campaigns, commands and the doctor on a ledger in PostgreSQL."""

import json
import os
import subprocess
import sys
from pathlib import Path

import forked
import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder import doctor
from verifier_ladder.cli.app import app
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.engines.home import lock_of
from verifier_ladder.testing.servers import PostgresqlServer

RANK = """
import sys
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1")
def guess(candidate):
    return float(len(candidate.content))

@vl.verifier(tier="simulation", kind="text", version="1")
def measure(candidate):
    return 2.0 * len(candidate.content)

ladder = vl.Ladder("lengths", [guess, measure], policy="all_tiers")
with vl.Campaign.open("one", ladder=ladder, ledger=sys.argv[1], run=sys.argv[2], workers=1) as c:
    print("open", flush=True)
    sys.stdin.readline()
    c.score(["a", "bb", "ccc"])
    c.drain("300 s")
    print([r.reward.value for r in c.revisions()], flush=True)
"""


def test_processes_share_one_campaign(
    postgresql: str, postgresql_server: PostgresqlServer
) -> None:
    ranks = [
        forked.Popen(
            [sys.executable, "-c", RANK, postgresql, f"run {number}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ,
        )
        for number in range(2)
    ]  # fmt: skip
    for rank in ranks:
        assert rank.stdout is not None
        assert rank.stdout.readline() == "open\n"
    said = [rank.communicate("go\n")[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert sorted(json.loads(said[0]))[:3] == [2.0, 4.0, 6.0]
    with vl.open_ledger(postgresql) as ledger:
        fast, simulation = ledger.accounts("one")
        assert (fast.checks, simulation.checks) == (3, 3)
        assert ledger.checkpoint() is not None
    shown = CliRunner().invoke(app, ["campaign", "show", "one", "--ledger", postgresql])
    listed = CliRunner().invoke(app, ["ledger", "ls", "--ledger", postgresql])
    assert (shown.exit_code, listed.exit_code) == (0, 0)
    assert "6 outputs, 3 distinct candidates" in shown.stdout
    assert postgresql_server.password not in shown.output + listed.output


def test_the_doctor_looks_at_the_server(
    postgresql: str, postgresql_server: PostgresqlServer
) -> None:
    (found,) = doctor._ledger(postgresql)
    assert (found.name, found.state) == ("ledger", doctor.State.OK)
    assert postgresql_server.password not in found.text


def test_the_home_of_a_server_is_found_in_a_private_folder() -> None:
    url = "postgresql://user@host/db"
    assert lock_of(url) == lock_of(url) != lock_of("postgresql://user@host/other")
    assert lock_of(url).parent.stat().st_mode & 0o777 == 0o700
    assert lock_of("sqlite:////tmp/ledger.db") == Path("/tmp/ledger.db.lock")  # noqa: S108


@pytest.mark.parametrize("made", ["open to all", "a link", "a file"])
def test_a_folder_that_others_could_have_made_is_refused(
    made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"verifier-ladder-homes-{os.getuid()}"
    if made == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    elif made == "a file":
        folder.touch(mode=0o600)
    else:
        folder.mkdir()
        folder.chmod(0o777)

    with pytest.raises(ConfigError, match="set TMPDIR"):
        lock_of("postgresql://user@host/db")
