"""The report: what the runs come to, as tables for a terminal or a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from routing.methods import ALL
from routing.metrics import Interval
from routing.results import Results

Cell = Callable[[Results], str]


def lines(results: Results) -> Iterator[str]:
    """The whole report in Markdown."""
    for experiment, (title, columns) in _LAYOUTS.items():
        some = results.of(experiment)
        if some.numbers:
            yield from ("", f"## {title}", "")
            yield from _grid(some, columns)
    trained = results.of("grpo")
    if trained.numbers:
        yield from ("", "## Training: share of the gain with the truth for all", "")
        yield from _training(trained)


def _grid(results: Results, columns: dict[str, Cell]) -> Iterator[str]:
    rows = [
        [table, method, f"{share:.3g}", *(cell(some) for cell in columns.values())]
        for table in results.names("table")
        for method in results.names("method")
        for share in results.shares()
        if (some := results.where(table=table, method=method, share=share)).numbers
    ]
    return table_lines(["table", "method", "budget", *columns], rows)


def _training(results: Results) -> Iterator[str]:
    tables = results.names("table")
    reference = results.where(method=ALL)
    rows = []
    for share in results.shares():
        for method in results.names("method"):
            some = results.where(method=method, share=share)
            if not some.numbers or method == ALL:
                continue
            gains = [str(some.where(table=name).ratio("gain", reference)) for name in tables]
            rows.append([
                method, f"{share:.3g}", f"{some.mean('world').mean:.3f}", *gains,
                str(some.ratio("gain", reference)),
            ])  # fmt: skip
    return table_lines(["method", "budget", "world calls", *tables, "mean"], rows)


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A Markdown table whose columns stand under each other in a terminal too."""
    widths = [max(len(line[n]) for line in [head, *rows]) for n in range(len(head))]
    for number, line in enumerate([head, *rows]):
        cells = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            yield f"|{'|'.join('-' * (width + 2) for width in widths)}|"


def _mean(metric: str, form: Callable[[Interval], str] = str) -> Cell:
    return lambda some: form(some.mean(metric))


def _percent(value: Interval) -> str:
    return f"{value.mean:.2%}"


def _median(metric: str) -> Cell:
    def cell(some: Results) -> str:
        found = sorted(numbers[metric] for numbers in some.numbers.values())
        return f"{found[len(found) // 2]:.3g}"

    return cell


_LAYOUTS: dict[str, tuple[str, dict[str, Cell]]] = {
    "fidelity": (
        "One pass: agreement with the truth for the cost",
        {
            "cost": _mean("cost", _percent), "correlation": _mean("correlation"),
            "cosine": _mean("cosine"),
        },
    ),
    "discovery": (
        "Discovery: cost in top-tier checks until so many of the best are found",
        {
            "50 %": _mean("50%"), "80 %": _mean("80%"), "median 80 %": _median("80%"),
            "100 %": _mean("100%"), "regret AUC": _mean("regret"),
        },
    ),
    "hack": (
        "A reward hack: share of the last policy on hacked rows",
        {"hacked": _mean("hacked"), "world calls": _mean("world", _percent)},
    ),
    "drift": (
        "Drift by one standard deviation: audits until the alarm",
        {
            "delay": _mean("delay"), "median": _median("delay"),
            "false alarms per 1000": _mean("false"),
        },
    ),
    "bias": (
        "Bias of each arm's mean reward, in standard deviations of the truth",
        {
            "all arms": _mean("shift"), "bias": _mean("bias"), "noise": _mean("noise"),
            "p (median)": _median("p"),
        },
    ),
    "pacing": (
        "Pacing: what is spent of the budget",
        {"spent": _mean("spent", _percent), "unevenness": _mean("unevenness")},
    ),
    "coverage": (
        "Beliefs before the truth was known",
        {
            "inside 90 %": _mean("inside"), "CRPS": _mean("crps"),
            "CRPS of mean and spread": _mean("null"),
        },
    ),
}  # fmt: skip
