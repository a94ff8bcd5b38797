"""Outgoing: revisions, told to receivers until they say that they have them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from random import uniform
from time import time
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from verifier_ladder.errors import ConfigError, LadderError
from verifier_ladder.private import write_private
from verifier_ladder.reward import Revision
from verifier_ladder.scheduler.late import RevisionReader
from verifier_ladder.server.bodies import encoded
from verifier_ladder.server.messages import revision_json
from verifier_ladder.server.revisions import page
from verifier_ladder.server.service import RewardService
from verifier_ladder.server.webhooks.receiver import status_of
from verifier_ladder.server.webhooks.settings import Receiver
from verifier_ladder.server.webhooks.signing import signed

_LOG = logging.getLogger("verifier_ladder")
_PAGE = 200
_PATIENCE = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
_LOOK = 30.0
_GONE = 410
_CURSORS = TypeAdapter(dict[str, int])
_NAT64 = IPv6Network("64:ff9b::/96")
_WITH_AN_ADDRESS_INSIDE = tuple(
    IPv6Network(text)
    for text in ("64:ff9b::/32", "2002::/16", "2001::/32", "::/96", "::ffff:0:0:0/96")
)
"""NAT64, 6to4, Teredo, and the compatible and translated forms: gateways send what goes there
on to an IPv4 address inside it, so none of them is public for us."""


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address lies in the public network, whatever gateway stands before it.

    Example:
        >>> is_public(ip_address("93.184.215.14")), is_public(ip_address("64:ff9b::a00:1"))
        (True, False)
    """
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in _NAT64:  # What a network without IPv4 finds for public names too.
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    inside = any(address in network for network in _WITH_AN_ADDRESS_INSIDE)
    is_outside = address.is_global and not (address.is_multicast or address.is_site_local)
    return is_outside and not inside


class Cursors:
    """How far each receiver was told of each campaign, in files that survive the server.

    Every campaign of every ledger has a file of its own, so that servers don't write over each
    other's. What an older version kept for all of them in one is still read.

    Example:
        >>> cursors = Cursors(None)
        >>> cursors.put("a", "board", 7)
        >>> cursors.get("a", "board"), cursors.get("b", "board")
        (7, None)
    """

    def __init__(self, path: Path | None) -> None:
        """Name the files; without a path cursors last as long as the process.

        Raises:
            ConfigError: If what an older version kept is damaged.
        """
        self._path = path
        self._old = {} if path is None else _cursors(path)
        self._known: dict[str, dict[str, int]] = {}

    def get(self, campaign: str, receiver: str) -> int | None:
        """The cursor of a receiver; None if it is new.

        Args:
            campaign: What stands for the campaign and its ledger: letters and digits.
            receiver: Its name.

        Raises:
            ConfigError: If the file is damaged.
        """
        return self._of(campaign).get(receiver, self._old.get(receiver))

    def put(self, campaign: str, receiver: str, cursor: int) -> None:
        """Keep how far a receiver has been told."""
        known = self._of(campaign)
        known[receiver] = cursor
        if self._path is not None:
            write_private(_file(self._path, campaign), orjson.dumps(known))

    def _of(self, campaign: str) -> dict[str, int]:
        if campaign not in self._known:
            path = self._path
            self._known[campaign] = {} if path is None else _cursors(_file(path, campaign))
        return self._known[campaign]


def _file(path: Path, campaign: str) -> Path:
    return path.with_name(f"{path.name}.{campaign}")


def _cursors(path: Path) -> dict[str, int]:
    try:
        return _CURSORS.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        why = "it is damaged" if isinstance(error, ValidationError) else f"{error}"
        raise ConfigError(
            f"{path} tells how far webhooks were told, and can't be read: {why}; restore it, or "
            "move it away, and receivers are told what comes from now on"
        ) from None


class Sender:
    """Tells one receiver of revisions, in order, each at least once.

    What is not taken is sent again after pauses that double, up to five minutes, with the same
    id. A receiver that answers 410 is told nothing more until the server starts anew.
    """

    def __init__(self, receiver: Receiver, service: RewardService, cursors: Cursors) -> None:
        """Prepare to tell; `run` does."""
        self._to, self._service, self._cursors = receiver, service, cursors
        self._key = receiver.key()
        campaign = service.campaign
        self._reader = RevisionReader(campaign.ledger, campaign.name)
        self._name = sha256(f"{campaign.ledger.url}\n{campaign.name}".encode()).hexdigest()[:12]

    async def run(self) -> None:
        """Tell until cancelled."""
        while True:
            try:
                cursor: int | None = await self._begin()
                while cursor is not None:
                    cursor = await self._tell(cursor)
            except (LadderError, OSError) as error:  # Of the latter a full disk is one.
                _LOG.warning("webhook %s waits: %s", self._to.name, error)
                await asyncio.sleep(_FIRST_PAUSE)
            else:
                return

    async def _begin(self) -> int:
        """Where to go on; a new receiver is told what comes from now on."""
        known = self._cursors.get(self._name, self._to.name)
        if known is None:
            known = await self._service.news.look()
            self._cursors.put(self._name, self._to.name, known)
        return known

    async def _tell(self, cursor: int) -> int | None:
        """Tell what is new, or wait for it.

        Returns:
            From where to go on; None if the receiver wants nothing more.
        """
        caller = f"webhook to {self._to.name}"
        found, until, more = await self._service.read(caller, page, self._reader, cursor, _PAGE)
        if found:
            if not await self._deliver(found):
                return None
            self._cursors.put(self._name, self._to.name, until)
        elif not more:
            await self._service.news.after(until, _LOOK)
        return until

    async def _deliver(self, found: Sequence[Revision]) -> bool:
        first, last = found[0].cursor, found[-1].cursor
        identity = f"rev_{self._name}_{first}_{last}"
        body = encoded({
            "type": "rewards.revised", "campaign": self._service.campaign.name,
            "data": [revision_json(revision) for revision in found],
        })  # fmt: skip
        wait = _FIRST_PAUSE
        while True:
            status = await self._post(identity, body)
            if status == _GONE:
                _LOG.warning("webhook %s is gone; it is told nothing more", self._to.name)
                return False
            if isinstance(status, int) and 200 <= status < 300:  # noqa: PLR2004 - success
                return True
            _LOG.warning("webhook %s: %s; again in %.0f s", self._to.name, status, wait)
            await asyncio.sleep(wait * uniform(0.8, 1.2))  # noqa: S311 - only spreads them
            wait = min(_LONGEST_PAUSE, 2 * wait)

    async def _post(self, identity: str, body: bytes) -> int | str:
        """Send once; the status, or why there is none."""
        import httpx

        headers = {
            "Content-Type": "application/json",
            **signed(self._key, identity, int(time()), body),
        }
        try:
            url, more = await self._vetted(httpx.URL(self._to.url))
            # An address is resolved once, and neither proxies nor redirects lead elsewhere.
            async with httpx.AsyncClient(timeout=_PATIENCE, trust_env=False) as client:
                request = client.build_request("POST", url, content=body, headers=headers, **more)
                request.headers["Host"] = httpx.URL(self._to.url).netloc.decode("ascii")
                return await status_of(client, request, _PATIENCE)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return f"{error}" or type(error).__name__

    async def _vetted(self, url: Any) -> tuple[Any, dict[str, Any]]:
        """The URL with an address instead of its name, and what TLS must check."""
        loop = asyncio.get_running_loop()
        port = url.port or (443 if url.scheme == "https" else 80)
        found = await loop.getaddrinfo(url.host, port, type=1)
        for *_, place in found:
            address = ip_address(str(place[0]).partition("%")[0])
            if self._to.private or is_public(address):
                return url.copy_with(host=str(address)), {"extensions": {"sni_hostname": url.host}}
        raise OSError(f"{url.host} lies in a private network; allow it with private = true")
