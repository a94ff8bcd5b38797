"""A protein binder: peptides climb from their sequence to a laboratory, and a report shows them.

    python examples/binders/run.py

Synthetic files, no predictor was run, and no laboratory measured anything: the numbers that a
program writes in its place are made up. It writes `binders.db`, `order.csv`, `results.csv` and
`binders.html` into the folder where it is run. The tutorial *From a sequence to the laboratory*
of the documentation goes through it step by step.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
os.environ["VLADDER_PREDICTORS"] = str(FOLDER / "predictors.toml")
sys.path.insert(0, str(FOLDER))

import binding  # noqa: E402, F401 - registers the verifiers of the upper tiers
from record import PEPTIDES, record  # noqa: E402

import verifier_ladder as vl  # noqa: E402

REFUSED = ["GSGSGSGSGSGS", "SEAANKSAEAAG", "A helix, I hope."]
"""A repeat, one with a site of glycosylation, and words."""
MADE_UP = {"SEAAAKAAEAAG": 7.9, "GEAAEKAAEAAS": 6.2}
"""The pKd that stands in a measurement's place; all others are below what can be seen."""


def measure(order: Path, results: Path) -> None:
    """Fill a work order in a laboratory's place."""
    with order.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for number, row in enumerate(rows):
        known = MADE_UP.get(row["candidate"])
        row["value"] = "< 5" if known is None else f"{known + 0.1 * (number % 3 - 1):.1f}"
    with results.open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def main() -> None:
    """Score the peptides, send a plate, take what comes back, and write the report."""
    for sequence, confidence in PEPTIDES.items():
        record(sequence, confidence, FOLDER / "recorded")
    peptides, ladder = [*PEPTIDES, *REFUSED], FOLDER / "binder.toml"
    with vl.Campaign.open("synthetic-binders", ladder=ladder, ledger="binders.db") as campaign:
        campaign.score(peptides)
        campaign.drain("300 s")
        for case in campaign.cases():
            print(f"for the laboratory: {case.candidate.content}")
    code = ["--import", str(FOLDER / "binding.py"), "--ladder", str(ladder)]
    code += ["--ledger", "binders.db"]
    for words in (
        ["approve", "--rows", "24", "--by", "head of the laboratory", "--ledger", "binders.db"],
        ["out", "--out", "order.csv", "--plates", "96", "--replicates", "3",
         "--control", "blank=3", *code],
        ["in", "results.csv", "--by", "plate reader", *code],
    ):  # fmt: skip
        if words[0] == "in":
            measure(Path("order.csv"), Path("results.csv"))
        subprocess.run([sys.executable, "-m", "verifier_ladder.cli", "case", *words], check=True)
    with vl.Campaign.open("synthetic-binders", ladder=ladder, ledger="binders.db") as campaign:
        for revision in campaign.revisions():
            print(f"{peptides[revision.position]}  {revision.reward.value}")
        print(f"The page: {campaign.report('binders.html')}")


if __name__ == "__main__":
    main()
