"""Work: the pages of a campaign's server, on which people log in and answer its cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from verifier_ladder.server.access import GuardedApp
from verifier_ladder.server.pages import laboratory, reviewing, visitors
from verifier_ladder.server.pages.app import Headers, about, add_pages
from verifier_ladder.server.pages.asking import Facts
from verifier_ladder.server.pages.laboratory import Uploads
from verifier_ladder.server.sessions import Sessions, visits

if TYPE_CHECKING:
    from verifier_ladder.server.pages.viewer import Viewer
    from verifier_ladder.server.service import RewardService
    from verifier_ladder.server.tokens import TokenFile

WORK: Final[dict[str, Callable[..., Facts]]] = {
    "review": reviewing.review, "case": reviewing.case,
    "laboratory": laboratory.laboratory, "results": laboratory.results,
}  # fmt: skip
"""What each of its own pages asks; each has its template of the same name."""


def create_pages(
    viewer: Viewer, service: RewardService, known: TokenFile | None, *, anyone_may_answer: bool
) -> GuardedApp:
    """The pages of `vladder view` for the server of a campaign, and those that take answers.

    The server stands before them: it looks at hosts, origins and sizes, and starts and ends the
    viewer.

    Args:
        viewer: Reads the campaign's ledger.
        service: The campaign, as it is served.
        known: Tokens, with which people log in; None where none are asked for.
        anyone_may_answer: Whether cases are answered without tokens too.
    """
    app = about(viewer, guard=[visits("read")])
    app.state.service, app.state.tokens, app.state.sessions = service, known, Sessions(known)
    app.state.anyone_may_answer = anyone_may_answer
    app.state.uploads = Uploads()
    viewer.prepares.append(service.reviews.prepare)
    add_pages(app, WORK, [visits("answer")])
    for router in (visitors.router, reviewing.router, laboratory.router):
        app.include_router(router, include_in_schema=False)
    app.outermost = Headers(app.routed)
    return app
