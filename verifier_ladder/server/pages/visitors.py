"""Visitors: who looks at pages, how a page is made for him, and how he logs in."""

# Without postponed annotations: FastAPI reads them as they stand.
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from verifier_ladder.server import tokens
from verifier_ladder.server.access import let_in, token_of
from verifier_ladder.server.forms import Form
from verifier_ladder.server.pages.rendering import link, render
from verifier_ladder.server.pages.viewer import State, Viewer
from verifier_ladder.server.sessions import (
    Sessions,
    cookie_of,
    delete_cookie,
    new_cookie,
    posts,
    set_cookie,
)

router = APIRouter()
HOME = "/ledger"
_NOTHING = State(0, 0, 0, "")
Next = Annotated[str, Query(alias="next", max_length=2000)]


class Visitor(NamedTuple):
    """Who looks at a page of a server that takes answers."""

    name: str
    """Name of his token; empty where none are asked for, or he has not logged in."""
    form_token: str
    """What forms must hold that he posts."""
    is_known: bool
    """Whether he may see anything."""
    may_answer: bool


def shown(request: Request, name: str, facts: Mapping[str, Any], status: int = 200) -> Response:
    """The answer that is a page.

    Args:
        request: The request.
        name: Of the page, and of its template.
        facts: What it says; see `render`.
        status: Of the answer.
    """
    viewer: Viewer = request.app.state.viewer
    query = request.url.query
    twin = f"/{name}.json{'?' if query else ''}{query}"
    cookie = cookie_of(request) or new_cookie()
    visitor = _visitor(request, cookie)
    is_known = visitor is None or visitor.is_known  # Nobody else hears of the ledger.
    made = render(
        name, facts, state=viewer.state() if is_known else _NOTHING, twin=twin, query=query,
        url=viewer.url if is_known else "", visitor=visitor,
    )  # fmt: skip
    answer = HTMLResponse(made.encode("utf-8", "replace"), status)
    if visitor is not None and not cookie_of(request):
        set_cookie(request, answer, cookie)
    return answer


def _visitor(request: Request, cookie: str) -> Visitor | None:
    """Who asks; None where pages only show a ledger."""
    sessions: Sessions | None = getattr(request.app.state, "sessions", None)
    if sessions is None:
        return None
    is_asked, token = _are_tokens_asked(request), token_of(request)
    if is_asked and token is None:  # Nothing has looked for it: there is no such page.
        token = sessions.token(cookie, is_used=False)
    may_answer = (
        token is not None and token.allows("answer") if is_asked
        else bool(request.app.state.anyone_may_answer)
    )  # fmt: skip
    name = "" if token is None else token.name
    is_known = not is_asked or (token is not None and _sees_pages(token))
    return Visitor(name, sessions.form_token(cookie), is_known, may_answer)


def _sees_pages(token: tokens.Token) -> bool:
    """Whether a token opens any page but the one that says that it doesn't."""
    return not token.runs and (token.allows("read") or token.allows("answer"))


def _are_tokens_asked(request: Request) -> bool:
    known: tokens.TokenFile | None = request.app.state.tokens
    return known is not None and known.is_required


# ---- Logging in and out


@router.get("/login")
async def login(request: Request, then: Next = "") -> Response:
    """Ask for a token."""
    return _asked(request, then)


def _asked(request: Request, then: str, why: str = "", status: int = 200) -> Response:
    facts = {
        "then": local_address(then, ""), "why": why, "are_tokens": _are_tokens_asked(request),
    }  # fmt: skip
    return shown(request, "login", facts, status)


@router.post("/login")
async def log_in(request: Request, form: Annotated[Form, posts()]) -> Response:
    """Begin a session with the token that was given."""
    sessions: Sessions = request.app.state.sessions
    cookie = sessions.begin(form.text("token").strip())
    if cookie is None:
        return _asked(request, form.text("next"), "this token is not valid", 401)
    let_in(request)
    sessions.end(cookie_of(request))
    token = sessions.token(cookie)
    first = HOME if token is None or token.allows("read") else "/review"
    answer = RedirectResponse(local_address(form.text("next"), first), 303)
    set_cookie(request, answer, cookie)
    return answer


@router.post("/logout")
async def log_out(request: Request, form: Annotated[Form, posts()]) -> Response:
    """End the session."""
    del form
    sessions: Sessions = request.app.state.sessions
    sessions.end(cookie_of(request))
    answer = RedirectResponse("/login", 303)
    delete_cookie(request, answer)
    return answer


def local_address(text: str, first: str = HOME) -> str:
    """An address of this server to go on to; its first page where it is one of another.

    Browsers read a backslash as a slash, and pass over control characters.

    Example:
        >>> local_address("/review?case=1"), local_address("//evil.example")
        ('/review?case=1', '/ledger')
    """
    is_plain = text.isascii() and text.isprintable() and "\\" not in text
    if not is_plain or not text.startswith("/") or text.startswith("//"):
        return first
    try:
        parts = urlsplit(text)
    except ValueError:
        return first
    return first if parts.scheme or parts.netloc or parts.path == "/login" else text


def to_login(request: Request, error: Exception) -> Response | None:
    """The way to the login page for a browser that has to log in; None for all others."""
    is_refused = isinstance(error, HTTPException) and error.status_code == 401  # noqa: PLR2004
    is_for_programs = request.url.path.endswith((".json", ".jsonl", ".csv"))
    if not is_refused or request.method != "GET" or is_for_programs:
        return None
    query = request.url.query
    here = f"{request.url.path}{'?' if query else ''}{query}"
    return RedirectResponse(link("login", next=here), 303)
