"""Bodies: JSON that is read and checked in one go, from the bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect

from verifier_ladder.server.limits import MOST_ENTRIES, MOST_FIELDS, MOST_PARTS
from verifier_ladder.text import mended

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Items = Annotated[list[T], Field(fail_fast=True)]
"""A list of which only the first entry that is wrong is told: whoever sends one wrong number in
each of a million places must not keep the server busy with saying so."""
_JSON = b"application/json"
_HALF = b"\\ud"
"""How a character that UTF-8 can't hold begins in JSON."""

_SHORT = 2**15
"""Bytes of a body that is read where it is awaited; what is longer is read in a thread."""
_TEXT = rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
_UP_TO_A_MARK = re.compile(rb'(?:[^":\[{}]++|' + _TEXT + rb")*+(?:([:\[{}])|\Z)", re.DOTALL)
"""What stands before the next field, object or list, with all texts on the way. It matches from
anywhere, or what is no JSON would be tried from each of its bytes."""
_MOST_TOLD = 100
"""Places that are named; each is built by a call that nothing else can run beside."""
_FORMS = ("constrained-str", "SampleMessage")
_OTHER_FORM = ("string_type", "model_type")


class Message(BaseModel):
    """Part of a body: nothing is converted, and nothing unknown is let through."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class InvalidBodyError(HTTPException):
    """The body is not what the route takes."""

    def __init__(self, error: ValidationError) -> None:
        """Keep where what was found, without what was sent."""
        super().__init__(422)
        self.errors: Sequence[Mapping[str, Any]] = _told(error)


def _told(error: ValidationError) -> list[dict[str, Any]]:
    """The places, or one sentence where there are too many."""
    count = error.error_count()
    if count > _MOST_TOLD:
        why = f"this is wrong in {count} places; /openapi.json says which fields there are"
        return [{"loc": (), "msg": why}]
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return _of_one_form([dict(one) for one in found])


def _of_one_form(errors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is wrong with what was meant, where a value may be text or an object.

    The validator says of each form why it is not that one.
    """
    forms: dict[Sequence[Any], list[dict[str, Any]]] = {}
    for error in errors:
        form = next((at for at, part in enumerate(error["loc"]) if part in _FORMS), None)
        place = error["loc"] if form is None else error["loc"][:form]
        rest = () if form is None else error["loc"][form + 1 :]
        is_other = form is not None and not rest and error["type"] in _OTHER_FORM
        forms.setdefault(place, []).append({**error, "loc": (*place, *rest), "other": is_other})
    told = []
    for place, found in forms.items():
        meant = [error for error in found if not error["other"]]
        told += meant or [{**found[0], "loc": place, "msg": "Input should be text or an object"}]
    return told


class Posted(Request):
    """A request whose body is read at once; Starlette's takes twice as long for a short one."""

    async def body(self) -> bytes:
        """The whole body.

        Raises:
            ClientDisconnect: If the client goes away before its end.
        """
        if not hasattr(self, "_body"):
            parts, more = [], True
            while more:
                message = await self.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                parts.append(message.get("body", b""))
                more = message.get("more_body", False)
            self._body = b"".join(parts)
        return self._body


class Json(Response):
    """An answer that is JSON already."""

    def __init__(self, body: bytes) -> None:
        """Take the bytes as they are."""
        self.status_code, self.background, self.body = 200, None, body
        self.raw_headers = [
            (b"content-type", _JSON), (b"content-length", b"%d" % len(body)),
        ]  # fmt: skip


async def read_body(request: Request, model: type[M], run: Callable[..., Awaitable[M]]) -> M:
    """The body of a request, validated while it is parsed.

    For thousands of samples that is several times as fast as parsing JSON into dictionaries and
    then checking these.

    Args:
        request: The request.
        model: What the body must be.
        run: Calls a function in a thread, which reads long bodies.

    Raises:
        HTTPException: If it is not JSON, not what the model says, or has too many fields.
    """
    if not _is_json(request.scope["headers"]):
        # A page of another site can post text here without asking, but not JSON.
        raise HTTPException(415, "send the body with Content-Type: application/json")
    body = await request.body()
    if len(body) <= _SHORT:
        return _read(body, model)
    return await run(_read, body, model)


def _read(body: bytes, model: type[M]) -> M:
    if len(body) > MOST_FIELDS:  # Each field takes more than a byte.
        check_parts(body)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        found = error
    if _is_no_json(found) and _HALF in body.lower():
        whole = _whole(body)
        try:
            return model.model_validate_json(body if whole is None else whole)
        except ValidationError as error:
            found = error
    raise InvalidBodyError(found)


def check_parts(body: bytes) -> None:
    """Refuse JSON of so many parts that nothing else could run for long while it is read.

    Raises:
        HTTPException: If it has too many.
    """
    if body.count(b",") > MOST_ENTRIES:
        raise HTTPException(413, f"a body may have {MOST_ENTRIES:,} commas; send it in parts")
    if sum(map(body.count, b":[{")) <= MOST_FIELDS:  # Those inside of texts count here, too.
        return
    fields = [0]  # Of each object around the next mark.
    found = (match[1] for match in _UP_TO_A_MARK.finditer(body))
    marks = takewhile(lambda mark: mark and fields, found)  # Or it is no JSON from there.
    opened = filter(partial(_is_opened, fields), marks)
    if next(islice(opened, MOST_PARTS, None), None) is not None:
        raise HTTPException(
            413, f"a body may have {MOST_PARTS:,} fields, objects and lists; send it in parts"
        )


def _is_opened(fields: list[int], mark: bytes) -> bool:
    """Whether a field, an object or a list begins, and not an object ends.

    Raises:
        HTTPException: If its object has too many fields.
    """
    if mark == b"}":
        fields.pop()
        return False
    if mark == b"{":
        fields.append(0)
    elif mark == b":":
        fields[-1] += 1
        if fields[-1] > MOST_FIELDS:
            raise HTTPException(413, f"an object may have {MOST_FIELDS:,} fields")
    return True


def _is_no_json(error: ValidationError) -> bool:
    return error.error_count() == 1 and error.errors()[0]["type"] == "json_invalid"


def _whole(body: bytes) -> bytes | None:
    """The body without halves of characters, if nothing else keeps it from being JSON."""
    try:
        value = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return encoded(value)


def _refuse(name: str) -> None:
    raise ValueError(name)


def _is_json(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether the first `Content-Type` says so."""
    for name, value in headers:
        if name == b"content-type":
            return value == _JSON or value.partition(b";")[0].strip().lower() == _JSON
    return False


def encoded(value: Any) -> bytes:
    """JSON; text that UTF-8 can't hold is repaired, and integers may have any size.

    Example:
        >>> encoded({"value": None})
        b'{"value":null}'
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(mended(value), ensure_ascii=False, allow_nan=False).encode()
