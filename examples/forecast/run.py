"""Three forecasts, some seconds of waiting, and a copy that comes too late.

    python examples/forecast/run.py

A price will be known in three seconds. Forecasts come in before that, are settled from a table
once it tells the price, and the learner hears of it as revisions. Whoever sends the best one again
by then gets nothing.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import verifier_ladder as vl

LADDER = Path(__file__).resolve().parent / "ladder.toml"
FORECASTS = ("<answer>101.5</answer>", "<answer>103 ± 2</answer>", "It rises.")
PRICE, SECONDS = 102.0, 3.0


def main() -> None:
    """Score, wait for what comes to pass, and score once more."""
    Path("feed").mkdir()
    with vl.Campaign.open("forecasts", ladder=LADDER, ledger="ledger.db") as campaign:
        horizon = time.time() + SECONDS
        task = {"series": "close", "horizon": horizon}
        given = [vl.Candidate("text", said, task) for said in FORECASTS]
        for said, reward in zip(FORECASTS, campaign.score(given, deadline=0), strict=True):
            print(f"before   {said:<26} {_words(reward)}")
        time.sleep(max(0.0, horizon - time.time()))
        Path("feed/close.csv").write_text(f"time,value\n{horizon},{PRICE}\n", "utf-8")
        print(f"the price is {PRICE}")
        while len({revision.position for revision in campaign.revisions()}) < len(given):
            campaign.drain(60)  # It does not wait for the world.
            time.sleep(0.2)
        for revision in campaign.revisions():
            print(f"after    {FORECASTS[revision.position]:<26} {_words(revision.reward)}")
        (late,) = campaign.score(given[:1], deadline=60)
        print(f"too late {FORECASTS[0]:<26} {_words(late)}: {late.reason}")


def _words(reward: vl.Reward) -> str:
    return "waits" if reward.value is None else f"{reward.value:.3f}"


if __name__ == "__main__":
    with TemporaryDirectory() as place, contextlib.chdir(place):
        main()
