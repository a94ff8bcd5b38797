"""Rendering: what a page says as HTML, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from math import isfinite
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from verifier_ladder import __version__
from verifier_ladder.analysis.pairs import PairSummary
from verifier_ladder.report import charts
from verifier_ladder.report.page import campaign_lead, cost_bars, environment, style_sheet
from verifier_ladder.resource import Resource
from verifier_ladder.server.pages import plots
from verifier_ladder.server.pages.viewer import State
from verifier_ladder.summary import amounts
from verifier_ladder.text import hide_password, mended, plain_lines
from verifier_ladder.tier import Tier

_PACKAGE: Final = "verifier_ladder.server.pages"
ASSETS: Final = f"/static/{__version__}"
"""Where style, script and icon lie: they change with the version."""
_FILES = {
    "view.css": "view.css", "view.js": "view.js", "icon.svg": "icon.svg",
    "work.css": "work.css",
    "structure.js": "structure.js", "3Dmol-min.js": "vendor/3Dmol-min.js",
}  # fmt: skip
"""What pages load, and where it lies."""
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_SYMBOLS = {
    "accepted": "✓", "rejected": "✗", "failed": "!", "abstained": "–", "waiting": "…",
    "unjudged": "·",
}  # fmt: skip
"""Beside the word for where a candidate stands: nothing is told by a colour alone."""
_MOST_JSON = 20_000


def link(page: str, **query: object) -> str:
    """The address of a page.

    Example:
        >>> link("candidate", campaign="a b", key="ab", task="")
        '/candidate?campaign=a+b&key=ab'
    """
    given = {name: value for name, value in query.items() if value not in ("", None)}
    text = urlencode(given, errors="replace")
    return f"/{page}?{text}" if text else f"/{page}"


@cache
def asset(name: str) -> tuple[bytes, str] | None:
    """A file that pages load, and its media type; None if there is none."""
    if name not in _FILES:
        return None
    static = files(_PACKAGE).joinpath("static")
    data = static.joinpath(_FILES[name]).read_bytes()
    if name == "view.css":
        sheets = [style_sheet().encode(), data, static.joinpath("pictures.css").read_bytes()]
        data = b"\n".join(sheets)
    return data, _TYPES[name.rpartition(".")[2]]


def as_json(facts: Mapping[str, Any]) -> bytes:
    """A page's facts as JSON; what begins with _ is for the page alone."""
    return orjson.dumps(
        mended(plain({k: v for k, v in facts.items() if not k.startswith("_")})),
        option=orjson.OPT_INDENT_2,
    )


def plain(value: Any) -> Any:
    """A value as JSON has it; names for numbers that stand for something.

    Example:
        >>> plain({Tier.FAST: (1.0, float("nan"), b"a")})
        {'fast': [1.0, None, '61']}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.repr}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return _plain(value)


def _plain(value: Any) -> Any:
    """One value that holds no others."""
    if isinstance(value, Enum):
        return getattr(value, "label", value.value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, (str, int)) else str(value)


def render(
    name: str, facts: Mapping[str, Any], *, state: State, url: str, twin: str, query: str,
    visitor: object = None,
) -> str:  # fmt: skip
    """A page as HTML.

    All text from the ledger is stripped of control characters and escaped, as in reports.

    Args:
        name: Of the page, and of its template.
        facts: What it says.
        state: How far the viewer has come.
        url: Of the ledger.
        twin: The address of its JSON twin.
        query: The query of its own address.
        visitor: Who asks, on a server that takes answers; None where pages only show.
    """
    made: str = _templates().get_template(f"{name}.html.j2").render(
        **{key.removeprefix("_"): value for key, value in facts.items()},
        page=name, state=state, twin=twin, query=query, ledger_url=hide_password(url).removeprefix("sqlite:///"),
        again_in=facts.get("_again", False), visitor=visitor,
    )  # fmt: skip
    return made


def prepare() -> None:
    """Read all templates and what pages load late: that takes as long as several pages."""
    from verifier_ladder.scheduler.engines import pool

    del pool
    for name in _templates().list_templates():
        _templates().get_template(name)


@cache
def _templates() -> Any:
    from markupsafe import Markup, escape

    def lines(text: object, most: int = _MOST_JSON) -> Markup:
        """Text that keeps its lines, cut, with nothing in it that obeys or hides."""
        whole = str(text)
        shown = plain_lines(whole[:most])
        return escape(f"{shown}\n… {len(whole) - most:,} characters more" if len(whole) > most
                      else shown)  # fmt: skip

    def pretty(value: object) -> Markup:
        return lines(orjson.dumps(mended(plain(value)), option=orjson.OPT_INDENT_2).decode())

    made = environment(_PACKAGE)
    made.filters.update(lines=lines, pretty=pretty, exact=_exact)
    made.globals.update(
        assets=ASSETS, version=__version__, link=link, charts=charts, number=amounts.number,
        plural=amounts.plural, resources=amounts.resources_text, symbols=_SYMBOLS,
        cost_bars=cost_bars, campaign_lead=campaign_lead, Tier=Tier, plots=plots,
        amount=_amount, scatter=_scatter,
    )  # fmt: skip
    return made


def _exact(value: float) -> str:
    """A number as it was recorded, to six digits; nothing is no negative number."""
    return f"{value + 0.0:.6g}".replace("-", "−")


def _amount(resource: str, value: float | None) -> str:
    """An amount of a resource, as a person reads it."""
    return "–" if value is None else amounts.shown_in(Resource.parse(resource))(value)


def _scatter(campaign: str, pair: PairSummary) -> Any:
    """Two tiers' scores, each outlier a link to its candidate."""
    return plots.scatter(
        pair,
        lambda apart: link(
            "candidate", campaign=campaign, key=apart.candidate.key, task=apart.candidate.task
        ),
    )
