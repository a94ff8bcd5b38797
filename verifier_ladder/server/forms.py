"""Forms: what a browser posts, as far as it may be."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from verifier_ladder.text import mended

LARGEST: Final = 2**17
"""Bytes of a form without files."""
_MOST_FIELDS: Final = 100
_PLAIN: Final = "application/x-www-form-urlencoded"
_PARTED: Final = re.compile(
    r"multipart/form-data; ?boundary=(\"?)([\w'()+,./:=?-]{1,70})\1", re.ASCII | re.IGNORECASE
)
"""As browsers write it. Readers of any such header take time in the square of its length, and
decode by whatever it names."""


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


async def read_form(request: Request, file: int = 0) -> Form:
    """Read the form that was posted.

    Args:
        request: The request.
        file: Bytes that a file may have that comes with it; 0 if none may come.

    Raises:
        HTTPException: If it is larger, or no form.
    """
    kind = request.headers.get("content-type", "")
    try:
        if file and (found := _PARTED.fullmatch(kind)):
            whole = _limited(request, LARGEST + file, f"--{found[2]}--\r\n".encode())
            return await _parted(whole, found[2])
        if not file and kind.partition(";")[0].strip().lower() == _PLAIN:
            return _plain(b"".join([part async for part in _limited(request, LARGEST)]))
    except (MultiPartException, ValueError) as error:
        raise HTTPException(400, f"the form can't be read: {error}") from None
    raise HTTPException(415, f"send a form, as {'multipart/form-data' if file else _PLAIN}")


async def _limited(
    request: Request, most: int, ending: bytes = b""
) -> AsyncGenerator[bytes, None]:
    """The body as it comes.

    Raises:
        HTTPException: If it is larger.
        ValueError: If it ends otherwise.
    """
    size, last = 0, b""
    async for part in request.stream():
        size += len(part)
        if ending:
            last = (last + part)[-len(ending) :]
        if size > most:
            raise HTTPException(413, f"a form may have {most:,} bytes; send less")
        yield part
    if ending and last != ending:
        raise ValueError("it is not whole")


def _plain(body: bytes) -> Form:
    pairs = parse_qsl(
        body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS,
        errors="replace",
    )  # fmt: skip
    return Form(dict(pairs), {})


async def _parted(stream: AsyncGenerator[bytes, None], boundary: str) -> Form:
    """Read a form with a file.

    Raises:
        MultiPartException: If it is none.
        ValueError: If it is not whole.
    """
    told = Headers({"content-type": f'multipart/form-data; boundary="{boundary}"'})
    parser = MultiPartParser(
        told, stream, max_files=1, max_fields=_MOST_FIELDS, max_part_size=LARGEST
    )
    fields, files = dict[str, str](), dict[str, File]()
    form = await parser.parse()
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            files[name] = File(mended(value.filename or ""), await value.read())
        else:
            fields[name] = value
    await form.close()
    return Form(fields, files)
