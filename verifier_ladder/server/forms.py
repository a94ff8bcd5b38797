"""Forms: what a browser posts, read from the bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from email.message import Message
from email.parser import HeaderParser
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

from verifier_ladder.text import mended

_MOST_FIELDS: Final = 100
_LONGEST_HEAD: Final = 4096
"""Bytes of the headers of one part."""
_PLAIN: Final = "application/x-www-form-urlencoded"
_PARTS: Final = "multipart/form-data"


class File(NamedTuple):
    """A file that was uploaded."""

    name: str
    """As the browser tells it; anything may stand there."""
    data: bytes


class Form(NamedTuple):
    """What was posted."""

    fields: Mapping[str, str]
    files: Mapping[str, File]

    def text(self, name: str) -> str:
        """What a field holds; "" if it is missing."""
        return self.fields.get(name, "")


async def read_form(request: Request, most: int) -> Form:
    """Read the form that was posted.

    Args:
        request: The request.
        most: Bytes that it may have.

    Raises:
        HTTPException: If it is larger, or no form.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise HTTPException(413, f"a form may have {most:,} bytes; send less")
    head = Message()
    head["Content-Type"] = request.headers.get("content-type", "")
    kind = head.get_content_type()
    try:
        if kind == _PLAIN:
            return _plain(bytes(body))
        if kind == _PARTS:
            return _parted(bytes(body), str(head.get_param("boundary", "")))
    except ValueError as error:
        raise HTTPException(400, f"the form can't be read: {error}") from None
    raise HTTPException(415, f"send a form, as {_PLAIN} or {_PARTS}")


def _plain(body: bytes) -> Form:
    pairs = parse_qsl(
        body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS,
        errors="replace",
    )  # fmt: skip
    return Form(dict(pairs), {})


def _parted(body: bytes, boundary: str) -> Form:
    r"""Read a form with files (RFC 7578).

    Python's own parser of mail reads lines and nested parts, which a form has not.

    Raises:
        ValueError: If it is none.

    Example:
        >>> head = b'Content-Disposition: form-data; name="by"'
        >>> _parted(b"--x\r\n" + head + b"\r\n\r\nada\r\n--x--\r\n", "x").fields
        {'by': 'ada'}
    """
    fields: dict[str, str] = {}
    files: dict[str, File] = {}
    for head, data in _parts(body, boundary):
        name = head.get_param("name", header="content-disposition")
        file = head.get_param("filename", header="content-disposition")
        if name is None:
            raise ValueError("a part has no name")
        if file is None:
            fields[str(name)] = data.decode("utf-8", "replace")
        else:
            files[str(name)] = File(mended(str(file)), data)
    return Form(fields, files)


def _parts(body: bytes, boundary: str) -> Iterator[tuple[Message, bytes]]:
    """The parts: headers and bytes of each."""
    mark = b"\r\n--" + boundary.encode("ascii", "replace")
    first, *rest = (b"\r\n" + body).split(mark, _MOST_FIELDS + 1)
    if not boundary or first or not rest or not rest[-1].startswith(b"--"):
        raise ValueError("its parts are not complete, or there are too many")
    for part in rest[:-1]:
        head, between, data = part.partition(b"\r\n\r\n")
        if not between or not head.startswith(b"\r\n") or len(head) > _LONGEST_HEAD:
            raise ValueError("a part has no headers")
        yield HeaderParser().parsestr(head[2:].decode("utf-8", "replace")), data
