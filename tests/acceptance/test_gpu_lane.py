"""A check goes to a host with a GPU if its own expected cost names one, and is charged by that.

A verifier may need a GPU for one candidate and none for another. It says so in `expected_cost`;
hosts are started with what they have: `vladder worker start --resource gpu`.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import forked
import pytest

import verifier_ladder as vl
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.resource import Resource
from verifier_ladder.summary import summarise

CODE = '''
import verifier_ladder as vl

@vl.verifier(kind="text", version="1", isolation="inline")
def reads(candidate):
    return 1.0

class Relaxes(vl.Verifier):
    """Relaxes what is large on a GPU, and what is small on the processor."""

    name, version, tier, kind = "relaxes", "1", vl.Tier.SIMULATION, "text"
    cost = vl.Cost(seconds=0.01, gpu_seconds=8.0)

    def expected_cost(self, candidate):
        return vl.Cost(0.01, gpu_seconds=3.0 if "large" in str(candidate.content) else 0.0)

    def verify(self, candidates):
        return [2.0] * len(candidates)

ladder = vl.Ladder("l", [reads, Relaxes()], policy="all_tiers")
'''


def hosted(folder: Path, resource: str) -> int:
    """Have a host with this resource do what it can; how many checks it has done."""
    vladder = [sys.executable, "-m", "verifier_ladder.cli"]
    ended = forked.run(
        [*vladder, "worker", "start", "--import", "relaxing.py", "--resource", resource,
         "--ledger", "ledger.db", "--workers", "1", "--until-idle", "--json"],
        cwd=folder, capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    return int(json.loads(ended.stdout)["done"])


def done(ledger: vl.Ledger) -> set[Any]:
    return {check.payload["content"] for check in ledger.checks(states=[CheckState.DONE])}


def test_each_host_takes_the_checks_that_want_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "relaxing.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    ladder, place = importlib.import_module("relaxing").ladder, tmp_path / "ledger.db"
    with (
        vl.Campaign.open(
            "c", ladder=ladder, ledger=place, engine="workers",
            budget={"simulation": {"seconds": 100.0, "gpu_seconds": 100.0}},
        ) as campaign,
        vl.open_ledger(place) as ledger,
    ):  # fmt: skip
        campaign.score(["small", "large"])

        on_cpu, after_cpu = hosted(tmp_path, "cpu"), done(ledger)
        on_gpu, after_gpu = hosted(tmp_path, "gpu"), done(ledger)

        assert campaign.drain("120 s")
        spent = summarise(ledger, "c").resources

    assert (1, {"small"}) == (on_cpu, after_cpu)
    assert (1, {"small", "large"}) == (on_gpu, after_gpu)
    assert {Resource.GPU_SECONDS: pytest.approx(3.0)} == spent
