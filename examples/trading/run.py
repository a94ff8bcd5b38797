"""Forecasts on two tiers: a reward at once, the price later, a correction, and a late copy.

    python examples/trading/run.py

The tutorial *Forecast and trade* of the documentation goes through it step by step.
"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import verifier_ladder as vl

FOLDER = Path(__file__).resolve().parent
SAID = ("<answer>102 ± 2</answer>", "<answer>109</answer>", "It rises.")
SECONDS, LAST = 5.0, 101.0


def main() -> None:
    """Score, wait for the price, send a copy, and have the price corrected."""
    sys.path.insert(0, str(FOLDER))
    import last  # noqa: F401 - registers the fast verifier

    Path("feed").mkdir()
    ladder = FOLDER / "ladder.toml"
    with vl.Campaign.open("trading", ladder=ladder, ledger="ledger.db") as campaign:
        horizon = time.time() + SECONDS
        task = {"series": "share", "horizon": horizon, "last": LAST}
        samples = [
            vl.Sample(vl.Candidate("text", text, task), run="try", step=0, position=place)
            for place, text in enumerate(SAID)
        ]
        tell("at once", campaign.score(samples))
        campaign.drain(60)
        time.sleep(max(0.0, horizon - time.time()))
        rows = f"time,value,published,vintage\n{horizon},104,{horizon},first\n"
        Path("feed/share.csv").write_text(rows, "utf-8")
        tell("settled", final(campaign, samples))
        copied = vl.Sample(samples[0].candidate, run="try", step=1, position=0)
        tell("copied", final(campaign, [copied]))
        rows += f"{horizon},106,{time.time()},corrected\n"
        Path("feed/share.csv").write_text(rows, "utf-8")
        print(f"settled anew: {campaign.resettle().superseded}")
        tell("corrected", final(campaign, samples))


def final(campaign: vl.Campaign, samples: list[vl.Sample]) -> list[vl.Reward]:
    """Wait until nothing more is to come; a sample that is known keeps its reward."""
    while any(reward.pending for reward in campaign.score(samples)):
        campaign.drain(1)
        time.sleep(0.2)
    return campaign.score(samples)


def tell(when: str, rewards: list[vl.Reward]) -> None:
    """Print rewards."""
    for text, reward in zip(SAID, rewards, strict=False):
        value = "none" if reward.value is None else f"{reward.value:.2f}"
        print(f"{when:<10} {value}  {text:<26} {reward.reason if reward.is_rejected else ''}")


if __name__ == "__main__":
    with TemporaryDirectory() as place, contextlib.chdir(place):
        main()
