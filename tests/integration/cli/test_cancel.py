"""`vladder campaign cancel` ends what a run waits for, in a campaign that nobody has open."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.registry import REGISTRY


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A campaign with two runs that wait for a paused tier."""
    quick = vl.verifier(name="quick-cc", version="1", isolation="inline")(lambda c: len(c.content))
    slow = vl.verifier(name="slow-cc", version="1", tier="simulation", isolation="inline")(
        lambda c: 2 * len(c.content)
    )
    for verifier in (quick, slow):
        REGISTRY.add(verifier)
    place = tmp_path / "ledger.db"
    for run, text in (("one", "a"), ("two", "bb")):
        with vl.Campaign.open(
            "c", ladder=vl.Ladder("l", [quick, slow]), ledger=place, run=run
        ) as campaign:
            campaign.pause("simulation")
            campaign.score([text])
    return place


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["campaign", "cancel", *map(str, arguments)])


def test_a_run_is_cancelled(path: Path) -> None:
    done = call("--run", "one", "--ledger", path, "--json")

    assert {"samples": 1, "checks": 1} == json.loads(done.stdout)
    with open_ledger(path) as ledger:
        found = {str(row.payload["content"]): row.state for row in ledger.checks()}
        assert {"a": CheckState.CANCELLED, "bb": CheckState.QUEUED} == found


def test_a_run_that_waits_for_nothing_says_so(path: Path) -> None:
    assert 0 == call("--run", "two", "--ledger", path).exit_code
    done = call("--run", "two", "--ledger", path)

    assert 1 == done.exit_code
    assert "0 samples" in done.stderr


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (["--run", "three"], "holds no run 'three'"),
        (["--run", "two", "--step", 7], "run 'two' holds no step 7"),
        (["--run", "two", "--step", 0, "--position", 3], "no position 3 in step 0"),
    ],
    ids=str,
)
def test_what_the_campaign_has_not_is_a_wrong_name(
    path: Path, named: list[object], said: str
) -> None:
    done = call(*named, "--ledger", path)

    assert 2 == done.exit_code
    assert said in " ".join(done.stderr.split())
