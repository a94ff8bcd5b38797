"""Measures of the library's shape: how large it is, how it hangs together, how far a sample goes.

Run: `PYTHONPATH=tools python -m shape [--json]`. It only shows; no figure is a limit.

Sizes count the three folders of the package. Lines of code are lines that hold a statement or a
part of one: no docstrings, comments or blank lines. A circle is a set of files (or of packages)
each of which imports every other, directly or not; imports inside functions count, imports for
type checkers don't. The way of a sample counts the calls of the project's own functions, in all
threads and workers: their number, the modules they stand in, and how often the next call of the
same thread stands in another module.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from shape.source import measure_source
from shape.way import measure_way

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure_source(ROOT) | measure_way(Path(folder))
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    width = max(map(len, figures))
    for name, value in figures.items():
        print(
            f"{name:<{width}}  {value:,}"
            if isinstance(value, int)
            else f"{name:<{width}}  {value}"
        )


if __name__ == "__main__":
    main()
