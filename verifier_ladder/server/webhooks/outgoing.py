"""Outgoing: revisions, told to receivers until they say that they have them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from random import uniform
from time import time
from typing import Any

import orjson

from verifier_ladder.errors import LadderError
from verifier_ladder.reward import Revision
from verifier_ladder.scheduler.late import RevisionReader
from verifier_ladder.server.bodies import encoded
from verifier_ladder.server.messages import revision_json
from verifier_ladder.server.revisions import page
from verifier_ladder.server.service import RewardService
from verifier_ladder.server.webhooks.settings import Receiver
from verifier_ladder.server.webhooks.signing import signed

_LOG = logging.getLogger("verifier_ladder")
_PAGE = 200
_PATIENCE = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
_LOOK = 30.0
_GONE = 410


class Cursors:
    """How far each receiver has been told, in a file that survives the server."""

    def __init__(self, path: Path | None) -> None:
        """Read the file, if there is one; without a path they last as long as the process."""
        self._path = path
        known = path is not None and path.exists()
        self._known: dict[str, int] = orjson.loads(path.read_bytes()) if known and path else {}

    def get(self, name: str) -> int | None:
        """The cursor of a receiver; None if it is new."""
        return self._known.get(name)

    def put(self, name: str, cursor: int) -> None:
        """Keep how far a receiver has been told."""
        self._known[name] = cursor
        if self._path is not None:
            beside = self._path.with_name(f".{self._path.name}.new")
            beside.write_bytes(orjson.dumps(self._known))
            beside.replace(self._path)


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
                cursor = await self._begin()
                while await self._tell(cursor):
                    cursor = self._cursors.get(self._to.name) or cursor
            except LadderError as error:
                _LOG.warning("webhook %s waits: %s", self._to.name, error)
                await asyncio.sleep(_FIRST_PAUSE)
            else:
                return

    async def _begin(self) -> int:
        """Where to go on; a new receiver is told what comes from now on."""
        known = self._cursors.get(self._to.name)
        if known is None:
            known = await self._service.read(self._service.campaign.ledger.newest)
            self._cursors.put(self._to.name, known)
        return known

    async def _tell(self, cursor: int) -> bool:
        """Tell what is new, or wait for it; False if the receiver wants nothing more."""
        seen = await self._service.read(self._service.campaign.ledger.newest)
        found, _ = await self._service.read(page, self._reader, cursor, _PAGE)
        if not found:
            await self._service.news.after(seen, _LOOK)
            return True
        if not await self._deliver(found):
            return False
        self._cursors.put(self._to.name, found[-1].cursor)
        return True

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
                return (await client.send(request)).status_code
        except (httpx.HTTPError, OSError) as error:
            return f"{error}" or type(error).__name__

    async def _vetted(self, url: Any) -> tuple[Any, dict[str, Any]]:
        """The URL with an address instead of its name, and what TLS must check."""
        loop = asyncio.get_running_loop()
        port = url.port or (443 if url.scheme == "https" else 80)
        found = await loop.getaddrinfo(url.host, port, type=1)
        for *_, place in found:
            address = ip_address(str(place[0]).partition("%")[0])
            if self._to.private or address.is_global:
                return url.copy_with(host=str(address)), {"extensions": {"sni_hostname": url.host}}
        raise OSError(f"{url.host} lies in a private network; allow it with private = true")
