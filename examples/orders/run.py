"""Four orders, some seconds of waiting, and a copy that comes when prices count.

    python examples/orders/run.py

The market opens for them in three seconds. Orders are sealed before that; the checkpoint that
stands for them could be published. They are filled at the first price, which is revised later, and
undone at the last, after one share has become two. Whoever sends the best one again in between
gets nothing.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import verifier_ladder as vl

LADDER = Path(__file__).resolve().parent / "ladder.toml"
ORDERS = ("<answer>buy 100</answer>", "sell 100 limit 103", "hold", "buy 2000")
SECONDS = 3.0
PRICES = """time,value,published,vintage,split
{opens},100,{opens},first,
{closes},53,{closes},first,2
{opens},101,{closes},second,
"""


def main() -> None:
    """Score, wait for the opening, score once more, and wait for the close."""
    Path("feed").mkdir()
    with vl.Campaign.open("orders", ladder=LADDER, ledger="ledger.db") as campaign:
        opens = time.time() + SECONDS
        closes = opens + SECONDS
        task = {"series": "share", "opens": opens, "closes": closes}
        given = [vl.Candidate("text", said, task) for said in ORDERS]
        for said, reward in zip(ORDERS, campaign.score(given, deadline=0), strict=True):
            print(f"sealed   {said:<26} {_words(reward)}")
        time.sleep(max(0.0, opens - time.time()))
        (late,) = campaign.score(given[:1], deadline=0)
        print(f"too late {ORDERS[0]:<26} {_words(late)}: {late.reason}")
        time.sleep(max(0.0, closes - time.time()))
        Path("feed/share.csv").write_text(PRICES.format(opens=opens, closes=closes), "utf-8")
        print("it opened at 101 and closed at 53, after one share had become two")
        while len({revision.position for revision in campaign.revisions()}) < len(given):
            campaign.drain(60)  # It does not wait for the world.
            time.sleep(0.2)
        for revision in campaign.revisions():
            print(f"closed   {ORDERS[revision.position]:<26} {_words(revision.reward)}")


def _words(reward: vl.Reward) -> str:
    return "waits" if reward.value is None else f"{reward.value:.3f}"


if __name__ == "__main__":
    with TemporaryDirectory() as place, contextlib.chdir(place):
        main()
