"""Pictures of what the runs come to, as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from routing.methods import ALL, FREE, OURS
from routing.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS = {"color": "#0b6e4f", "linewidth": 2.5, "zorder": 3}
_OTHERS = ("#8d6a9f", "#c05746", "#d9a441", "#4f759b", "#7a7a7a", "#a3b18a", "#5e503f")


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw a picture for each experiment that can be drawn; gives the files.

    Raises:
        ModuleNotFoundError: If matplotlib is not installed: `pip install matplotlib`.
    """
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "routing"  # The same numbers give the same file.
    drawn = []
    for experiment, paint in _PAINTERS.items():
        some = results.of(experiment)
        if some.numbers:
            drawn.append(_figure(some, paint, folder / f"{experiment}.svg"))
    return drawn


def _figure(results: Results, paint: Any, path: Path) -> Path:
    from matplotlib import pyplot as plt

    tables = results.names("table")
    figure, axes = plt.subplots(
        1, len(tables), figsize=(4.6 * len(tables), 3.8), squeeze=False, layout="constrained"
    )
    for axis, table in zip(axes[0], tables, strict=True):
        paint(axis, results.where(table=table))
        axis.set_title(table)
        axis.grid(visible=True, alpha=0.25)
    if axes[0][0].get_legend_handles_labels()[0]:
        axes[0][0].legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


def _looks(results: Results) -> dict[str, dict[str, Any]]:
    # In one order, so that a method has one colour in all panels.
    others = sorted(name for name in results.names("method") if name != OURS)
    colours = {name: {"color": _OTHERS[n % len(_OTHERS)]} for n, name in enumerate(others)}
    return {OURS: _OURS, **colours}


def _fidelity(axis: Axes, results: Results) -> None:
    """Correlation against cost, both averaged over the seeds."""
    for method, look in _looks(results).items():
        some = results.where(method=method)
        points = sorted(
            (at.mean("cost").mean, at.mean("correlation").mean)
            for share in some.shares() if (at := some.where(share=share)).numbers
        )  # fmt: skip
        if points and method != ALL:
            axis.plot(*zip(*points, strict=True), marker="o", label=method, **look)
    _logarithmic(axis)
    axis.set_xlabel("cost, as a share of the truth for all")
    axis.set_ylabel("correlation of advantages")


def _training(axis: Axes, results: Results) -> None:
    """Share of the gain against the budget."""
    reference = results.where(method=ALL)
    for method, look in _looks(results).items():
        if method == ALL:
            continue
        some = results.where(method=method)
        if method in FREE:  # The same whatever the budget.
            level = some.ratio("gain", reference).mean
            axis.axhline(level, linestyle="--", label=method, **look)
            continue
        points = sorted(
            (share, some.where(share=share).ratio("gain", reference).mean)
            for share in some.shares()
        )
        axis.plot(*zip(*points, strict=True), marker="o", label=method, **look)
    _logarithmic(axis)
    axis.set_xlabel("budget, as a share of world checks for all")
    axis.set_ylabel("share of the gain")


def _discovery(axis: Axes, results: Results) -> None:
    """Cost until 80 % of the best rows are found, method by method."""
    looks = _looks(results)
    for place, (method, look) in enumerate(looks.items()):
        found = results.where(method=method).mean("80%")
        axis.barh(place, found.mean, color=look["color"])
        axis.text(found.mean, place, f" {found.mean:.0f}", va="center", fontsize=8)
    axis.set_yticks(range(len(looks)), list(looks))
    axis.invert_yaxis()
    _logarithmic(axis)
    axis.set_xlabel("top-tier checks until 80 % are found")


def _logarithmic(axis: Axes) -> None:
    """A logarithmic axis with plain numbers where they fit."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())


def _hack(axis: Axes, results: Results) -> None:
    """Share of the last policy on hacked rows, method by method."""
    looks = _looks(results)
    for place, (method, look) in enumerate(looks.items()):
        axis.barh(place, results.where(method=method).mean("hacked").mean, color=look["color"])
    axis.set_yticks(range(len(looks)), list(looks))
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xlabel("share of the last policy on hacked rows")


_PAINTERS = {"fidelity": _fidelity, "grpo": _training, "discovery": _discovery, "hack": _hack}
