"""Draw the pictures of pages that the documentation shows, from ledgers of `vladder demo`.

    vladder demo solvation --quick --ledger solvation.db
    vladder demo cheaters --ledger cheaters.db --seed 1
    python tools/screenshots.py solvation.db cheaters.db      # into docs/_static/pages

It needs Chromium, which the tests in a browser use too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, NamedTuple

import httpx
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from chromium import Tab, chromium  # noqa: E402 - it lies among the tests

PICTURES = ROOT / "docs" / "_static" / "pages"
LARGEST = 100_000
"""Bytes of a picture."""
_COLOURS = 128
_PATIENCE = 120.0
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--lang=en")


class Shot(NamedTuple):
    """A picture of a page."""

    name: str
    address: str
    width: int = 1180
    height: int = 860
    dark: bool = False
    at: str = ""
    """Id of what stands at its top; the top of the page where there is none."""


def _shots(url: str, name: str) -> Iterator[Shot]:
    """What is drawn of a demo."""
    ask = httpx.Client(base_url=url, timeout=60.0)
    campaigns = ask.get("/ledger.json").json()["campaigns"]
    first = max(campaigns, key=lambda each: (each["alarms"], each["samples"]))["name"]
    at = f"?campaign={first}"
    if name == "cheaters":
        yield Shot("alarm", f"/campaign{at}", height=1180)
        return
    best = ask.get(f"/candidates.json{at}&order=known").json()["candidates"][0]
    page = f"/candidate{at}&key={best['key']}&task={best['task']}"
    yield Shot("overview", f"/campaign{at}")
    yield Shot("overview-dark", f"/campaign{at}", width=390, height=860, dark=True)
    yield Shot("candidates", f"/candidates{at}&order=known")
    yield Shot("candidate", page)
    yield Shot("timeline", page, at="timeline")
    yield Shot("tiers", f"/tiers{at}")


def _drawn(tab: Tab, url: str, shot: Shot) -> bytes:
    """A picture as PNG, with few colours: pages have few."""
    theme = {"name": "prefers-color-scheme", "value": "dark" if shot.dark else "light"}
    tab.call("Emulation.setEmulatedMedia", features=[theme])
    size = {"width": shot.width, "height": shot.height}
    tab.call("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=False)
    tab.open(f"{url}{shot.address}")
    until = monotonic() + _PATIENCE
    while tab.run("'again' in document.getElementById('main').dataset") and monotonic() < until:
        sleep(0.2)
    top = tab.run(
        f"document.getElementById({shot.at!r})?.getBoundingClientRect().top + scrollY || 0"
    )
    clip: dict[str, Any] = {"x": 0, "y": max(0, top - 24), **size, "scale": 1}
    made = tab.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    picture = Image.open(BytesIO(b64decode(made["data"]))).convert("RGB")
    packed = BytesIO()
    picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(packed, "PNG", optimize=True)
    return packed.getvalue()


@contextmanager
def _served(ledger: Path, cache: Path) -> Iterator[str]:
    """The address of a viewer that has read all of a ledger."""
    command = [sys.executable, "-m", "verifier_ladder.cli", "view", str(ledger), "--port", "0"]
    own = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, env=own) as viewer:
        told = b""
        while b"}" not in told:
            told += viewer.stdout.readline() if viewer.stdout is not None else b"}"
        url = str(json.loads(told)["url"])
        while (state := httpx.get(f"{url}/newest.json").json())["listed"] < state["newest"]:
            sleep(0.2)
        yield url
        viewer.terminate()


def draw(ledger: Path, folder: Path) -> None:
    """Draw the pictures of one demo's ledger."""
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("Chromium is not here: `make system-deps` names its package")
    with TemporaryDirectory() as place:
        profile = Path(place, "browser")
        profile.mkdir()
        with _served(ledger, Path(place)) as url, chromium(program, _FLAGS, profile) as tab:
            for shot in _shots(url, ledger.stem):
                data = _drawn(tab, url, shot)
                if len(data) > LARGEST:
                    raise SystemExit(f"{shot.name} has {len(data):,} bytes; cut it shorter")
                (folder / f"{shot.name}.png").write_bytes(data)


def main() -> None:
    """Draw them."""
    options = argparse.ArgumentParser(description="Draw pictures of pages for the documentation.")
    options.add_argument("ledgers", type=Path, nargs="+", help="solvation.db, cheaters.db")
    options.add_argument("--into", type=Path, default=PICTURES)
    given = options.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    for ledger in given.ledgers:
        draw(ledger, given.into)


if __name__ == "__main__":
    main()
