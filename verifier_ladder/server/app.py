"""The application: all routes of a server around one campaign."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI

from verifier_ladder import __version__
from verifier_ladder.server import artifacts, cases, health, revisions, scores
from verifier_ladder.server.access import LOOPBACK, Door, GuardedApp
from verifier_ladder.server.calls import CallRouter, Lane
from verifier_ladder.server.gateway import Gateway
from verifier_ladder.server.idempotency import Replier
from verifier_ladder.server.learners import areal, nemogym, openrlhf, slime
from verifier_ladder.server.limits import Limits
from verifier_ladder.server.problems import answer_problems
from verifier_ladder.server.service import DEADLINE, RewardService
from verifier_ladder.server.tokens import TokenFile
from verifier_ladder.server.webhooks import incoming
from verifier_ladder.server.webhooks.outgoing import Cursors, Sender
from verifier_ladder.server.webhooks.settings import WebhookSettings

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.server.pages.viewer import Viewer

ROUTERS: Sequence[APIRouter] = (
    scores.router, revisions.router, cases.reading, cases.router, artifacts.router,
    incoming.router, openrlhf.router, nemogym.router, slime.router, areal.router,
    health.router,
)  # fmt: skip
"""What every server answers; other routes, and pages, are given to `create_app`."""
_ABOUT = "Rewards from verifiers that cost from microseconds to weeks."


class RewardApp(GuardedApp):
    """An application whose calls are answered before FastAPI's own layers."""

    door: Door
    """The outermost layer."""


def create_app(
    campaign: Campaign,
    *,
    deadline: float | str | None = DEADLINE,
    on_abstain: float | None = None,
    clip: tuple[float, float] | None = None,
    masks: bool = False,
    group_size: int | None = None,
    areal_gateway: str | None = None,
    webhooks: WebhookSettings | None = None,
    cursors: Path | None = None,
    limits: Limits | None = None,
    tokens: TokenFile | None = None,
    anyone_may_answer: bool = False,
    hosts: Collection[str] | None = LOOPBACK,
    origins: Collection[str] = (),
    routers: Sequence[APIRouter] = (),
    viewer: Viewer | None = None,
) -> RewardApp:
    """An application that serves one campaign; any ASGI server runs it.

    `app.state.service` is the `RewardService`; its lifespan ends with all accepted work done. The
    campaign stays the caller's to close.

    Args:
        campaign: An open campaign.
        deadline: How long a call waits for higher tiers if it says nothing itself.
        on_abstain: The number that learners are told which can't leave a sample out; None lets
            their calls fail.
        clip: Least and largest reward that learners are told.
        masks: Whether NeMo-Gym is told to mask an unknown sample, instead of a failure.
        group_size: How many samples of one prompt learners send that tell no step.
        areal_gateway: Where rewards of AReaL's sessions are handed on to.
        webhooks: Who may send results, and who is told of revisions.
        cursors: File that remembers how far receivers were told.
        limits: How much is taken on.
        tokens: Who may ask; None lets everybody who reaches the server score and read.
        anyone_may_answer: Whether cases are answered without tokens too, where none are asked
            for: whoever answers decides what learners are paid.
        hosts: Names by which the server may be asked; None for any.
        origins: Sites whose pages may ask.
        routers: More routes.
        viewer: Reads the campaign's ledger for pages; None for a server without pages. It is
            started and ended with the application.

    Raises:
        ConfigError: If the arguments can't work.

    Example:
        >>> import verifier_ladder as vl
        >>> @vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
        ... def length(candidate):
        ...     return float(len(candidate.content))
        >>> with vl.Campaign.open("try", ladder=vl.Ladder("lengths", [length])) as campaign:
        ...     create_app(campaign).title
        'verifier-ladder'
    """
    service = RewardService(
        campaign, deadline=deadline, on_abstain=on_abstain, clip=clip, masks=masks,
        group_size=group_size, limits=limits,
    )  # fmt: skip
    hooks = webhooks or WebhookSettings()
    told = Cursors(cursors)
    senders = [Sender(receiver, service, told) for receiver in hooks.receivers]
    gateway = None if areal_gateway is None else Gateway(areal_gateway)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if viewer is not None:
            viewer.start()
        telling = [asyncio.create_task(sender.run()) for sender in senders]
        yield
        for task in telling:
            task.cancel()
        await asyncio.gather(*telling, return_exceptions=True)
        await service.close()
        if gateway is not None:
            await gateway.close()
        if viewer is not None:
            await asyncio.to_thread(viewer.close)

    # Its pages of documentation would load scripts from elsewhere.
    app = RewardApp(
        title="verifier-ladder", version=__version__, description=_ABOUT, lifespan=lifespan,
        docs_url=None, redoc_url=None,
    )  # fmt: skip
    app.state.service, app.state.tokens, app.state.replier = service, tokens, Replier(service)
    app.state.gateway, app.state.webhooks = gateway, hooks
    app.state.anyone_may_answer = anyone_may_answer
    answer_problems(app)
    calls = {}
    for router in (*ROUTERS, *routers):
        app.include_router(router)
        if isinstance(router, CallRouter):
            calls.update(router.calls)
    if viewer is not None:
        from verifier_ladder.server.pages.work import create_pages

        pages = create_pages(viewer, service, tokens, anyone_may_answer=anyone_may_answer)
        app.mount("/", pages)  # What has no route above may be a page.
    app.door = app.outermost = Door(
        Lane(app.routed, calls), limits=service.limits, admission=service.admission, hosts=hosts,
        origins=origins,
    )  # fmt: skip
    return app
