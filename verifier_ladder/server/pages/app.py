"""The application: pages about a ledger that is only read, and their JSON twins."""

# Without postponed annotations: FastAPI reads them as they stand.
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from verifier_ladder import __version__
from verifier_ladder.errors import LadderError
from verifier_ladder.server.access import LOOPBACK, Door, GuardedApp
from verifier_ladder.server.admission import Admission
from verifier_ladder.server.artifacts import attachment
from verifier_ladder.server.limits import Limits
from verifier_ladder.server.pages import asking, comparing, exporting, numbers
from verifier_ladder.server.pages.rendering import ASSETS, as_json, asset, prepare
from verifier_ladder.server.pages.structure import structure
from verifier_ladder.server.pages.viewer import Viewer
from verifier_ladder.server.pages.visitors import shown, to_login
from verifier_ladder.server.problems import problem, problem_of

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",  # With none, a browser names no origin of its own forms.
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
}
"""What every answer says to browsers."""
_PRIVATE, _LASTING = "no-store", "private, max-age=86400, immutable"
_SMALL = 1024
_FILES = ("json", "jsonl", "csv")
"""What is asked for by programs, which are told of problems as JSON."""
PAGES: Final[dict[str, Callable[..., asking.Facts]]] = {
    "ledger": asking.ledger, "campaign": asking.campaign, "candidates": asking.candidates,
    "candidate": asking.candidate, "group": asking.group, "failures": asking.failures,
    "tiers": numbers.tiers, "agreement": numbers.agreement, "verifiers": numbers.verifiers,
    "queue": numbers.queue, "runs": numbers.runs, "diff": comparing.diff,
    "versions": comparing.versions,
}  # fmt: skip
"""What each page asks; each has its template of the same name."""


class Ending:
    """Whether the server is to end, as `running.run` asks."""

    is_leaving = False

    def leave(self) -> None:
        """End."""
        self.is_leaving = True


class Headers:
    """Says to browsers, with every answer, what pages may do: next to nothing."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, and add to its answer."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                known = {name.lower() for name, _ in headers}
                headers += [(n, value) for n, value in _HEADERS.items() if n not in known]
                if b"cache-control" not in known:
                    headers.append((b"cache-control", _PRIVATE.encode()))
                message["headers"] = headers
            await send(message)

        await self._app(scope, receive, told)


def create_viewer(
    where: str | Path, *, index: Path | None = None, draws: bool = True
) -> GuardedApp:
    """An application that shows a ledger; any ASGI server runs it.

    It only reads, keeps no state but lists that are made from the ledger, and sets no cookies.
    `app.state.viewer` is the `Viewer`; its lifespan starts and ends it.

    Args:
        where: A path or a URL of a ledger.
        index: File of the lists; one in the user's cache by default.
        draws: Whether molecules are drawn.

    Raises:
        ConfigError: If there is no ledger there, or it can't be read.
        LedgerError: If it can't be understood.
    """
    viewer = Viewer(where, index=index, draws=draws)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        viewer.start()
        yield
        viewer.close()

    app = about(viewer, lifespan=lifespan)
    app.state.service = Ending()
    door = Door(app.routed, limits=Limits(), admission=Admission(1), hosts=LOOPBACK, advises=False)
    app.outermost = Headers(door)
    return app


def about(viewer: Viewer, *, guard: Sequence[Any] = (), lifespan: Any = None) -> GuardedApp:
    """An application with the pages about a ledger; nothing stands before them yet.

    Args:
        viewer: Reads the ledger.
        guard: Dependencies of all of them.
        lifespan: Of the application.
    """
    # Its pages of documentation would load scripts from elsewhere.
    app = GuardedApp(
        title="verifier-ladder: pages", version=__version__, docs_url=None, redoc_url=None,
        description="What is in a ledger, for people and as JSON.", lifespan=lifespan,
    )  # fmt: skip
    app.state.viewer = viewer
    viewer.prepares.append(prepare)
    for kind in (LadderError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _failed)
    app.add_middleware(GZipMiddleware, minimum_size=_SMALL, compresslevel=5)
    app.add_api_route("/", lambda: RedirectResponse("/ledger"), include_in_schema=False)
    app.add_api_route(f"{ASSETS}/{{name}}", _asset, include_in_schema=False)
    held = list(guard)
    app.add_api_route("/artifact", _artifact, response_class=Response, dependencies=held)
    app.add_api_route("/structure.txt", structure, response_class=Response, dependencies=held)
    app.add_api_route(
        "/newest.json", _twin(asking.newest), response_class=Response, dependencies=held
    )
    for name, export in (("csv", exporting.as_csv), ("jsonl", exporting.as_jsonl)):
        app.add_api_route(
            f"/candidates.{name}", export, response_class=Response, dependencies=held
        )
    add_pages(app, PAGES, guard)
    return app


def add_pages(
    app: FastAPI, pages: Mapping[str, Callable[..., asking.Facts]], guard: Sequence[Any]
) -> None:
    """Add pages and their twins.

    Args:
        app: To this application.
        pages: What each asks; it has a template of its name.
        guard: Dependencies of all of them.
    """
    for name, ask in pages.items():
        app.add_api_route(
            f"/{name}.json", _twin(ask), response_class=Response, dependencies=list(guard)
        )
        app.add_api_route(
            f"/{name}", _page(name, ask), response_class=HTMLResponse, include_in_schema=False,
            dependencies=list(guard),
        )  # fmt: skip


def _artifact(
    request: Request,
    digest: Annotated[str, Query(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of its bytes.")],
) -> Response:
    """The bytes of a file that a verdict rests on."""
    with asking.viewer_of(request).reader.reading() as store:
        return attachment(store.artifact(digest))


def _twin(ask: Callable[..., asking.Facts]) -> Callable[..., Response]:
    """The route that answers with a page's facts as JSON."""

    def twin(facts: Annotated[Any, Depends(ask)]) -> Response:
        return Response(as_json(facts), media_type="application/json")

    twin.__doc__ = ask.__doc__
    twin.__name__ = ask.__name__
    return twin


def _page(name: str, ask: Callable[..., asking.Facts]) -> Callable[..., Response]:
    """The route that answers with a page."""

    def page(request: Request, facts: Annotated[Any, Depends(ask)]) -> Response:
        return shown(request, name, facts)

    return page


def _asset(name: str) -> Response:
    found = asset(name)
    if found is None:
        raise HTTPException(404)
    data, kind = found
    return Response(data, media_type=kind, headers={"Cache-Control": _LASTING})


async def _failed(request: Request, error: Exception) -> Response:
    """Say what failed: as a problem where JSON was asked for, else as a page."""
    if (login := to_login(request, error)) is not None:
        return login
    said, path = problem_of(error), request.url.path
    is_for_programs = path.rpartition(".")[2] in _FILES or path.startswith("/v1/")
    if is_for_programs or not isinstance(said.body, bytes):
        return said
    import orjson

    try:
        return shown(request, "problem", orjson.loads(said.body), said.status_code)
    except LadderError:  # The ledger is away, and a page would ask it how far it has come.
        return problem(said.status_code, str(error))
