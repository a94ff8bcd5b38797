"""What is installed is all that a verifier needs: no network unless it says so, and no files of
somebody's home.

Where a set-up lacks a file, its checks abstain and name it, and are asked again once it is there.
(What may be installed with an extra is held by `tests/packaging/test_licences.py`.)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import verifier_ladder as vl

CACHES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HF_HOME", "TORCH_HOME")
SET_UP = """
import json, sys

reached = []

def refuse(event, arguments):
    is_far = event in {"socket.connect", "socket.sendto"} and isinstance(arguments[1], tuple)
    if is_far or event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        reached.append(f"{event} {arguments[1 if is_far else 0]!r}")
        raise PermissionError("there is no network")

sys.addaudithook(refuse)
from verifier_ladder.registry import REGISTRY

said = {}
for name in REGISTRY.names():
    try:
        verifier = REGISTRY.get(name)
        if not verifier.network:
            said[name] = verifier.setup() or ""
    except Exception as error:
        said[name] = f"{type(error).__name__}: {error}"
print(json.dumps([said, reached]))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty one."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in CACHES:
        monkeypatch.delenv(name, raising=False)
    return home


class Weighing(vl.Verifier):
    """Reads its weight from a file in the home folder."""

    name, version, kind = "weighing", "1", "text"

    def setup(self) -> None:
        self.weight = float((Path.home() / "weights.txt").read_text())

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[float]:
        return [self.weight * len(each.content) for each in candidates]


def test_a_set_up_that_lacks_a_file_abstains_and_names_it_until_it_is_there(home: Path) -> None:
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [Weighing()]), workers=1) as campaign:
        (without,) = campaign.score(["ab"])
        (home / "weights.txt").write_text("2.5")
        (with_it,) = campaign.score(["ab"])

    assert without.value is None
    assert without.failed_at is not None
    assert f"{home / 'weights.txt'}" in without.reason
    assert (5.0, None) == (with_it.value, with_it.failed_at)


@pytest.mark.usefixtures("home")
def test_what_comes_along_is_set_up_without_a_network_and_with_an_empty_home() -> None:
    """Or says what to install, where an extra is not here."""
    done = subprocess.run(
        [sys.executable, "-c", SET_UP], env=os.environ, capture_output=True, text=True, check=False
    )

    assert 0 == done.returncode, done.stderr
    said, reached = json.loads(done.stdout.splitlines()[-1])
    assert {"json-schema", "mathematics", "xtb-hydration", "dft-hydration"} <= said.keys()
    assert {} == {name: why for name, why in said.items() if why and "pip install" not in why}
    assert [] == reached
