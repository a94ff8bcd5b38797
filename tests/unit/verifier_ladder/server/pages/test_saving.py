"""A campaign's pages as files: whole, without a server, a network or a script."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import viewed
from fastapi.testclient import TestClient

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.server.pages import saving
from verifier_ladder.server.pages.app import create_viewer
from verifier_ladder.server.pages.saving import Bundle, write_bundle

HOSTILE = '"><script>document.title="owned"</script><img src=http://example.org/x.png> & \u202e'
KEY = viewed.ETHANOL.content.hex()


@pytest.fixture(scope="module", autouse=True)
def _nothing_drawn() -> Iterator[None]:
    """No worker has to be started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("verifier_ladder.report.drawings._can_draw", lambda: False)
        yield


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saving") / "ledger.db"
    with open_ledger(path) as store:
        viewed.record(store, "a try", group=HOSTILE, run=HOSTILE[:40])
        viewed.record(store, "another")
    return path


@pytest.fixture(scope="module")
def made(ledger: Path) -> Bundle:
    return save(ledger, ledger.with_name("bundle"))


@pytest.fixture(scope="module")
def found(made: Bundle) -> dict[str, str]:
    """Its pages, by the names of their files."""
    return pages(made.folder)


def save(ledger: Path, folder: Path, **options: Any) -> Bundle:
    index = ledger.with_name("try.index")
    return write_bundle(ledger, "a try", folder, index=index, **options)


def pages(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("*.html"))}


def test_every_link_leads_to_another_file_of_the_bundle(
    made: Bundle, found: dict[str, str]
) -> None:
    links = {
        href for page in found.values() for href in re.findall(r'(?:href|src)="([^"]*)"', page)
    }

    assert made.pages == len(found)
    assert {"index.html", "failures.html", "candidates.html", f"candidate-{KEY}.html"} <= set(
        found
    )
    for href in links:
        name, _, fragment = href.partition("#")
        assert not name or (made.folder / name).is_file(), href
        assert not fragment or name or any(f'id="{fragment}"' in page for page in found.values())
    reached, new = set[str](), {"index.html"}
    while new:
        reached |= new
        named = {href.partition("#")[0] for name in new for href in _anchors(found[name])}
        new = {name for name in named if name in found} - reached
    assert reached == set(found)


def _anchors(page: str) -> list[str]:
    return [unquote(href) for href in re.findall(r'<a [^>]*href="([^"]*)"', page)]


def test_pages_need_no_server_and_may_run_nothing(made: Bundle, found: dict[str, str]) -> None:
    for page in found.values():
        assert not re.findall(r"<(?:script|form|input|button|iframe|object)\b", page)
        assert "default-src 'none'" in page
        assert 'href="view.css"' in page
        assert "http://example.org" not in page
        assert "\u202e" not in page
        assert len(re.findall(r"<a[ >]", page)) == page.count("</a>")
    assert "−4.20 ± 0.20" in found["index.html"]
    assert "measured says −4.20" in found[f"candidate-{KEY}.html"]
    assert "SCF diverged" in found["failures.html"]
    assert (made.folder / "view.css").read_text().count(":root") >= 2


def test_each_page_has_the_twin_that_the_viewer_answers_with(ledger: Path, made: Bundle) -> None:
    folder = made.folder
    app = create_viewer(ledger, index=ledger.with_name("try.index"), draws=False)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        answer = client.get(f"/candidate.json?campaign=a+try&key={KEY}")

    for page in folder.glob("*.html"):
        assert f'href="{page.stem}.json"' in page.read_text()
        json.loads(page.with_suffix(".json").read_bytes())
    assert (folder / f"candidate-{KEY}.json").read_bytes() == answer.content


def test_so_many_candidates_have_pages_and_the_others_are_no_links(
    ledger: Path, tmp_path: Path
) -> None:
    made = save(ledger, tmp_path / "bundle", candidates=1)
    found = pages(made.folder)

    assert (made.candidates, made.left_out) == (1, 2)
    assert [name for name in found if name.startswith("candidate-")] == [f"candidate-{KEY}.html"]
    assert re.search(r"<a><code><bdi>CO</bdi>", found["candidates.html"])


def test_lists_lead_to_each_other(found: dict[str, str]) -> None:
    for name, (text, _) in saving._LISTS.items():
        assert f'aria-current="page">{text}</a>' in found[f"{name}.html"]
        others = {f"{other}.html" for other in saving._LISTS if other != name}
        assert others <= set(_anchors(found[f"{name}.html"]))


def test_it_is_written_whole_or_not_at_all(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(tmp_path.iterdir())
    (tmp_path / "taken").mkdir()
    with pytest.raises(ConfigError, match="exists already; name a new folder"):
        save(ledger, tmp_path / "taken")
    with pytest.raises(ConfigError, match="holds no campaign 'nobody'"):
        write_bundle(ledger, "nobody", tmp_path / "new", index=tmp_path / "try.index")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(Exception, match="make room and try again"):
        save(ledger, tmp_path / "new")
    left = {path.name for path in tmp_path.iterdir()} - {path.name for path in before}
    assert {name for name in left if not name.startswith("try.index")} == {"taken"}
