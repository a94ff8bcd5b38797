"""One process of a training run: scores step after step until a file tells it to stop.

Run: `python rank.py LEDGER FOLDER NUMBER ENGINE`. What it was told is noted in
`FOLDER/rank-NUMBER`, one line a step, so whoever restarts it goes on, and the audit knows what
was promised.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from chaos import clock
from chaos.campaigning import note, open_campaign, texts

from verifier_ladder.errors import LedgerAwayError

_DEADLINES = ("0.2 s", "5 s")
"""What the steps wait for the dearer tiers, by turns: after the first, checks are left behind;
without the second there would be thousands of them."""
AWAY = 75
"""Exit code of who could not begin, as `sysexits.h` has it."""


def told(folder: Path, number: int) -> list[str]:
    """The steps whose rewards a rank has received; a line cut off by its death does not count."""
    file = folder / f"rank-{number}"
    return file.read_text().splitlines() if file.exists() else []


def main() -> None:
    """Score until `FOLDER/stop` exists."""
    clock.follow()
    try:
        score()
    except LedgerAwayError:
        sys.exit(AWAY)  # It was down when we came: whoever starts us tries again.


def score() -> None:
    """Score, from where the last of this number was killed."""
    ledger, folder, number, engine = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    with open_campaign(ledger, folder / "executions", f"rank-{number}", engine) as campaign:
        for step in count(len(told(folder, number))):
            if (folder / "stop").exists():
                return
            deadline = _DEADLINES[step % len(_DEADLINES)]
            campaign.score(texts(number, step), step=step, deadline=deadline)
            note(str(folder / f"rank-{number}"), [str(step)])


if __name__ == "__main__":
    main()
