"""A structure is turned in a real browser, under the pages' policy as it is for all of them."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import viewed
from chromium import Tab
from crystals import PROTOTYPES, poscar
from histories import GATE, History, Item, ladder_spec
from serving import serving

from verifier_ladder.ledger import open_ledger
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

SALT = poscar(PROTOTYPES["NaCl"])
CRYSTAL = Item(SALT, SALT, {GATE: Verdict.accept()}, Reward(0.5, 0.1, Tier.FAST), kind="crystal")
SOFTWARE_GL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
INK = """(() => {
  const canvas = document.querySelector(".space canvas");
  const copy = document.createElement("canvas");
  copy.width = canvas.width; copy.height = canvas.height;
  const pen = copy.getContext("2d");
  pen.drawImage(canvas, 0, 0);
  const dots = pen.getImageData(0, 0, copy.width, copy.height).data;
  const seen = new Set();
  for (let at = 0; at < dots.length; at += 4) {
    seen.add((dots[at] << 16) | (dots[at + 1] << 8) | dots[at + 2]);
  }
  return seen.size;
})()"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where `vladder view` shows a crystal."""
    ledger = tmp_path / "ledger.db"
    with open_ledger(ledger) as store:
        viewed.score(History(store, "try", {**ladder_spec([GATE]), "kind": "crystal"}), [CRYSTAL],
                     "g")  # fmt: skip
    command = [sys.executable, "-m", "verifier_ladder.cli", "view", str(ledger), "--port", "0"]
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "PATH": "/usr/bin"}
    with serving([*command, "--json"], own) as url:
        yield f"{url}/candidate?campaign=try&key={CRYSTAL.content.hex()}"


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    """A page of a browser that draws in 3-D without a graphics card."""
    with browser.tab(*SOFTWARE_GL) as opened:
        yield opened


@pytest.mark.browser
def test_a_crystal_is_turned_by_keyboard_and_nothing_violates_the_policy(
    tab: Tab, address: str, until: Any
) -> None:
    tab.open(address.partition("/candidate")[0])
    until(lambda: tab.run("!document.querySelector('progress')"))
    tab.open(address)
    until(lambda: tab.run("Boolean(document.querySelector('button[data-structure]'))"))
    assert not [url for url in tab.asked() if "3Dmol" in url]
    tab.run("document.querySelector('button[data-structure]').focus()")
    for kind in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r",
                 windowsVirtualKeyCode=13)  # fmt: skip
    until(lambda: tab.run("document.querySelector('.space').dataset.drawn === 'yes'"))

    assert tab.run(INK) > 20  # Shaded balls, and no empty sheet.
    assert tab.run("document.activeElement.className") == "space"
    before = tab.run("document.querySelector('.space canvas').toDataURL()")
    for kind in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=kind, key="ArrowLeft", code="ArrowLeft",
                 windowsVirtualKeyCode=37)  # fmt: skip
    assert tab.run("document.querySelector('.space canvas').toDataURL()") != before
    # A graphics card of software says that it is slow; that is no error of the page.
    assert [] == [said for said in tab.complaints() if "GL Driver Message" not in said]
