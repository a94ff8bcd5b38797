"""What one sandboxed input costs in processor time, against a bare interpreter that does nothing.

Ratios of medians from one run on one machine, the variants taken in turns, so that the machine's
load meets all of them alike. The time of all processes counts: the worker's, the zygote's, the
supervisor's and the candidate's.
"""

import argparse
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack

from verifier_ladder.errors import ConfigError, SandboxError
from verifier_ladder.tiers.sandbox import Input, Program, Sandbox, Warmth

INPUTS = 10
"""Inputs of one turn."""
PROGRAM = Program({"main.py": "def solve(x): return x"})
GOALS = {"namespaces": 0.9, "landlock": 0.5}


def bare() -> float:
    """Seconds of processor time of one bare interpreter, children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(INPUTS):
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / INPUTS


def sandboxed(sandbox: Sandbox) -> float:
    """Seconds of processor time of one input, of all processes that take part."""
    before = used(sandbox)
    sandbox.run(PROGRAM, [Input((n,)) for n in range(INPUTS)])
    return (used(sandbox) - before) / INPUTS


def used(sandbox: Sandbox) -> float:
    """Seconds of processor time of this process, the zygote and all that it has waited for.

    The zygote tells its own part in microseconds. `/proc` has it in hundredths of a second, which
    are a sixth of a bare interpreter for each of ten inputs.
    """
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime + sandbox.seconds


def measure(runs: int) -> dict[str, float]:
    """Return the median of each variant; a first round, which fills caches, is dropped."""
    with ExitStack() as stack:
        variants: dict[str, Callable[[], float]] = {"python -I -S -c pass": bare}
        for kind in GOALS:
            for modules in ((), ("numpy",)):
                try:
                    sandbox = Sandbox.open(backends=(kind,), warmth=Warmth(modules=modules))
                except (SandboxError, ConfigError) as error:
                    print(f"left out: {error}")
                    continue
                stack.enter_context(sandbox)
                name = " with ".join((kind, *modules))
                variants[name] = lambda sandbox=sandbox: sandboxed(sandbox)  # type: ignore[misc]
        times: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(runs + 1):
            for name, once in variants.items():
                times[name].append(once())
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}


def main() -> None:
    """Print one line per variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    medians = measure(parser.parse_args().runs)
    base = medians["python -I -S -c pass"]
    for name, median in medians.items():
        goal = f"  (goal {GOALS[name]})" if name in GOALS else ""
        print(f"{name:24} {median * 1e3:6.2f} ms  {median / base:5.2f} x a bare interpreter{goal}")


if __name__ == "__main__":
    main()
