"""How long the package and the command line take to start, against Python alone.

A ratio of medians from one run on one machine, the variants taken in turns, so that the machine's
load meets all of them alike.
"""

import argparse
import statistics
import subprocess
import sys
import time

VARIANTS = {
    "python alone": ["-c", "pass"],
    "import verifier_ladder": ["-c", "import verifier_ladder"],
    "vladder --help": ["-c", "from verifier_ladder.cli import main; main()", "--help"],
}


def seconds(arguments: list[str]) -> float:
    """Return the wall time of one fresh interpreter."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(runs: int) -> dict[str, float]:
    """Return the median time of each variant; a first round, which fills caches, is dropped."""
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(runs + 1):
        for name, arguments in VARIANTS.items():
            times[name].append(seconds(arguments))
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}


def main() -> None:
    """Print one line per variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    medians = measure(parser.parse_args().runs)
    base = medians["python alone"]
    for name, median in medians.items():
        print(f"{name:24} {median * 1e3:6.0f} ms  {median / base:5.1f} x python alone")


if __name__ == "__main__":
    main()
