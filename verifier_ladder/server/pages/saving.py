"""Saving: the pages of one campaign as files, which open without a server, network or script.

The pages are asked of the application that `vladder view` serves, and written as they are but for
what needs a server: links lead to the other files, scripts and forms are left out, and what leads
to a page that is not among them is no link.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from html import escape
from html.parser import HTMLParser
from inspect import Parameter, signature
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import httpx

from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.private import beside, make_private_folder, unwritable
from verifier_ladder.server.pages.app import PAGES, create_viewer
from verifier_ladder.server.pages.rendering import ASSETS, link
from verifier_ladder.status import recorded_campaign

CANDIDATES: Final = 100
"""Pages of candidates that a bundle has at most, unless another number is asked for."""
_LISTS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "candidates-truth": ("best true value", {"order": "truth"}),
    "candidates-overrated": ("most overrated", {"order": "overrated"}),
    "candidates-failed": ("failed", {"order": "newest", "outcome": "failed"}),
    "candidates-known": ("best known value", {"order": "known"}),
    "candidates": ("highest reward", {}),
}
"""Lists of candidates, by the name of their file: what they are called and how they are asked."""
_HOST: Final = "http://127.0.0.1"
_POLICY: Final = (
    "default-src 'none'; style-src 'self' file:; img-src 'self' file: data:; "
    "base-uri 'none'; form-action 'none'"
)
"""Beside the pages' own style and pictures they load nothing; 'self' is nobody for some files."""
_STYLE: Final = b"\na:not([href]) { color: inherit; }\n"
"""What leads nowhere looks like no link."""
_UNFINISHED = re.compile(r"<main\b[^>]*\sdata-again[\s>]")
_PATIENCE, _PAUSE = 60.0, 0.1
"""Seconds that a page is waited for of which something is still made, such as a drawing."""
_Address = tuple[str, frozenset[tuple[str, str]]]


class Bundle(NamedTuple):
    """What was written."""

    folder: Path
    """`index.html` is the page to begin with."""
    pages: int
    candidates: int
    """Pages of candidates among them."""
    left_out: int
    """Candidates that its lists name and that have no page."""
    size: int
    """Bytes of all files."""


def write_bundle(
    where: str | Path, campaign: str, folder: str | Path, *, candidates: int = CANDIDATES,
    index: Path | None = None,
) -> Bundle:  # fmt: skip
    """Write the pages of a campaign into a folder: all of them, or nothing.

    They are its overview and what else is about the whole campaign, lists of the best, the most
    overrated and the failed candidates, each list with its first rows, and a page for each
    candidate that these name, in this order, up to a number. Beside each page lies its JSON twin.

    Args:
        where: A path or a URL of a ledger; it is only read.
        campaign: Name of the campaign.
        folder: Where to; it must not exist yet.
        candidates: How many candidates get a page at the most.
        index: File of the lists, as for `create_viewer`.

    Raises:
        ConfigError: If the folder exists or can't be written, or there is no such campaign.
        LedgerError: If the ledger can't be read, or the disk is full.
    """
    folder = Path(folder)
    if folder.exists():
        raise ConfigError(f"{folder} exists already; name a new folder for the bundle")
    app = create_viewer(where, index=index)
    try:
        with app.state.viewer.reader.reading() as store:
            recorded_campaign(store, campaign)
        app.state.viewer.catch_up()
        with ThreadPoolExecutor(1) as thread:  # A notebook has an event loop in this one.
            saved = thread.submit(lambda: asyncio.run(_save(app, campaign, candidates))).result()
    finally:
        app.state.viewer.close()
    try:
        make_private_folder(folder.parent)
        with beside(folder) as part:
            make_private_folder(part)  # What it holds can be handed out; a person says so.
            for name, data in saved.files.items():
                (part / name).write_bytes(data)
            part.rename(folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    size = sum(map(len, saved.files.values()))
    return Bundle(folder, len(saved.pages), saved.candidates, saved.left_out, size)


async def _save(app: Any, campaign: str, candidates: int) -> _Saved:
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url=_HOST) as client:
        saved = _Saved(client, campaign)
        await saved.read(candidates)
        return saved


class _Saved:
    """Pages as they were answered, and the files that they become."""

    def __init__(self, client: httpx.AsyncClient, campaign: str) -> None:
        self._client, self._campaign = client, campaign
        self.files: dict[str, bytes] = {}
        self.pages: dict[str, str] = {}
        """Pages by the name of their file, without its ending."""
        self.candidates = self.left_out = 0
        self._names: dict[_Address, str] = {}
        """Files by the address that they were answered at."""

    async def read(self, most: int) -> None:
        """Ask for all pages, and make files of them."""
        for name, first in self._first():
            await self._ask(name, first)
        named: dict[_Address, str] = {}
        for href in [href for page in self.pages.values() for href in _links(page)]:
            address = path, query = _address(href)
            if path == "/candidate" and ("campaign", self._campaign) in query:
                named.setdefault(address, href)
        chosen = dict(islice(named.items(), most))
        self.candidates, self.left_out = len(chosen), len(named) - len(chosen)
        for (_, query), href in chosen.items():
            asked = dict(query)
            parts = ["candidate", asked["key"], asked.get("task", "")]
            await self._ask("-".join(filter(None, parts)), href)
        for name, page in self.pages.items():
            self.files[f"{name}.html"] = self._still(name, page).encode("utf-8", "replace")

    def _first(self) -> Iterator[tuple[str, str]]:
        """Names and addresses of what is about the whole campaign, the overview first."""
        yield "index", link("campaign", campaign=self._campaign)
        for name, (_, query) in _LISTS.items():
            yield name, link("candidates", campaign=self._campaign, **query)
        for name in [name for name in PAGES if name not in {"campaign", "candidates"}]:
            parameters = signature(PAGES[name]).parameters.values()
            needed = [p.name for p in parameters if p.default is Parameter.empty]
            if needed == ["request", "campaign"]:
                yield name, link(name, campaign=self._campaign)

    async def _ask(self, name: str, address: str) -> None:
        """Get a page, its twin, and what it loads."""
        until = monotonic() + _PATIENCE
        while _UNFINISHED.search(page := (await self._get(address)).decode()):
            if monotonic() > until:
                break
            await asyncio.sleep(_PAUSE)
        path, _, query = address.partition("?")
        twin = f"{path}.json?{query}"
        self.pages[name], self.files[f"{name}.json"] = page, await self._get(twin)
        self._names |= {_address(address): f"{name}.html", _address(twin): f"{name}.json"}
        for href in _links(page):
            asset = _address(href)
            if href.startswith(f"{ASSETS}/") and asset not in self._names:
                self._names[asset] = file = href.rpartition("/")[2]
                more = _STYLE if file.endswith(".css") else b""
                self.files[file] = await self._get(href) + more

    async def _get(self, address: str) -> bytes:
        answer = await self._client.get(address)
        if answer.status_code != httpx.codes.OK:
            raise LedgerError(
                f"the page {address.partition('?')[0]} can't be made (HTTP {answer.status_code}); "
                "`vladder view` shows it, and says why"
            )
        return answer.content

    def _still(self, name: str, page: str) -> str:
        made = _Still(self._file, _lists(name))
        made.feed(page)
        made.close()
        return "".join(made.parts)

    def _file(self, href: str) -> str | None:
        """Where a link leads in the bundle; None if it leads out of it."""
        address, hash_, fragment = href.partition("#")
        if not address:
            return href if fragment else None
        name = self._names.get(_address(address))
        return None if name is None else f"{name}{hash_}{fragment}"


def _address(href: str) -> _Address:
    parts = urlsplit(href)
    return parts.path, frozenset(parse_qsl(parts.query))


def _lists(shown: str) -> str:
    """Links between the lists, where a server's page has a form."""
    if shown not in _LISTS:
        return ""
    current = ' aria-current="page"'
    made = [
        f'<li><a href="{name}.html"{current if name == shown else ""}>{text}</a></li>'
        for name, (text, _) in _LISTS.items()
    ]
    return f'<nav aria-label="Lists"><ul class="tabs">{"".join(made)}</ul></nav>'


def _links(page: str) -> list[str]:
    """Where the links of a page lead, and what it loads, in order."""
    found: list[str] = []

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag != "script":
                found.extend(v for name, v in attrs if name in {"href", "src"} and v)

    Links().feed(page)
    return found


class _Still(HTMLParser):
    """Copies a page, with other links and without what needs a server."""

    def __init__(self, file: Callable[[str], str | None], lists: str) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[str] = []
        self._file, self._lists = file, lists
        self._left_out = ""
        """The element whose inside is left out."""
        self._depth = 0
        """How many of its kind are open inside of it."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the start of an element."""
        given = dict(attrs)
        if self._left_out:
            self._depth += tag == self._left_out
            return
        is_live = tag in {"script", "form"} or "data-server" in given
        if is_live or given.get("rel") in {"first", "next", "prev"}:
            self._left_out = tag
            self.parts.append(self._lists if "search" in given.values() else "")
        elif tag in {"a", "link", "img"}:
            self._link(tag, given)
        else:
            self.parts.append(self.get_starttag_text() or "")
            if "charset" in given:
                self.parts.append(
                    f'\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
                )

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element that ends as it starts, as those of drawings do."""
        self.handle_starttag(tag, attrs)

    def _link(self, tag: str, given: Mapping[str, str | None]) -> None:
        name = "src" if tag == "img" else "href"
        place = given.get(name)
        file = None if place is None else self._file(place)
        if file is not None:
            told = {**given, name: file}
            text = " ".join(n if v is None else f'{n}="{escape(v)}"' for n, v in told.items())
            self.parts.append(f"<{tag} {text}>")
        elif tag == "a":  # In charts, too, where another element would end the chart.
            self.parts.append("<a>")

    def handle_endtag(self, tag: str) -> None:
        """Take the end of an element."""
        if not self._left_out:
            self.parts.append(f"</{tag}>")
        elif tag == self._left_out and self._depth:
            self._depth -= 1
        elif tag == self._left_out:
            self._left_out = ""

    def handle_data(self, data: str) -> None:
        """Take text."""
        self._add(data)

    def handle_entityref(self, name: str) -> None:
        """Take a character by its name."""
        self._add(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Take a character by its number."""
        self._add(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        """Take the type of the document."""
        self._add(f"<!{decl}>")

    def _add(self, text: str) -> None:
        if not self._left_out:
            self.parts.append(text)
