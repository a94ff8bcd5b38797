"""Forms are read as browsers send them, and nothing else is."""

import asyncio
from collections.abc import Iterator
from time import process_time

import pytest
from fastapi import HTTPException, Request

from verifier_ladder.server.forms import LARGEST, Form, read_form

HEAD = b'Content-Disposition: form-data; name="file"; filename="gr\xc3\xb6\xc3\x9fe.xlsx"'
FILE = bytes(range(256)) + b"\r\n--b\r\n\r\n--"
PLAIN = "application/x-www-form-urlencoded"
PARTED = "multipart/form-data; boundary=bound"
WHOLE = b"--bound--\r\n"


def read(sent: bytes, kind: str, file: int = 0) -> Form:
    """The form that comes in pieces of seven bytes."""

    def pieces() -> Iterator[dict[str, object]]:
        for at in range(0, len(sent), 7):
            yield {"type": "http.request", "body": sent[at : at + 7], "more_body": True}
        yield {"type": "http.request", "body": b""}

    left = pieces()

    async def receive() -> dict[str, object]:
        return next(left)

    headers = [(b"content-type", kind.encode())]
    request = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    return asyncio.run(read_form(request, file))


def parts(*each: bytes) -> bytes:
    return b"".join(b"--bound\r\n" + part + b"\r\n" for part in each)


def test_a_file_comes_as_it_is() -> None:
    kind = b"\r\nContent-Type: application/octet-stream\r\n\r\n"
    by = b'Content-Disposition: form-data; name="by"\r\n\r\n\xe2\x89\xa4 ada\r\nand bob'
    form = read(parts(HEAD + kind + FILE, by) + WHOLE, PARTED, 1000)

    assert ("größe.xlsx", FILE) == form.files["file"]
    assert {"by": "≤ ada\r\nand bob"} == form.fields


@pytest.mark.parametrize(
    "sent",
    [
        parts(b"x") + WHOLE, parts(HEAD) + WHOLE, parts(b"\r\n\r\nx") + WHOLE,
        parts(b"Content-Type: text/plain\r\n\r\nx") + WHOLE,
        b"--other\r\n" + HEAD + b"\r\n\r\nx" + WHOLE, b"x" + parts(HEAD + b"\r\n\r\nx") + WHOLE,
        parts(*[HEAD + b"\r\n\r\nx"] * 2) + WHOLE,
        parts(*[b'Content-Disposition: form-data; name="a"\r\n\r\nx'] * 200) + WHOLE,
        parts(HEAD + b"\r\nX: " + b"y" * 5000 + b"\r\n\r\nx") + WHOLE,
        b"", parts(HEAD + b"\r\n\r\nhalf")[:-4], parts(HEAD + b"\r\n\r\nx"),
    ],
)  # fmt: skip
def test_what_is_no_form_is_refused(sent: bytes) -> None:
    with pytest.raises(HTTPException) as refused:
        read(sent, PARTED, 100_000)
    assert 400 == refused.value.status_code


@pytest.mark.parametrize(
    "kind",
    [
        "", "text/plain", PLAIN, "multipart/form-data", "multipart/form-data; boundary=",
        f"{PARTED}; charset=punycode", f"{PARTED}{'x' * 70}",
    ],
)  # fmt: skip
def test_of_a_file_only_what_browsers_send_is_read(kind: str) -> None:
    with pytest.raises(HTTPException) as refused:
        read(parts(HEAD + b"\r\n\r\nx") + WHOLE, kind, 1000)
    assert 415 == refused.value.status_code


def test_a_form_without_a_file_is_no_form_with_parts() -> None:
    with pytest.raises(HTTPException) as refused:
        read(parts(b'Content-Disposition: form-data; name="by"\r\n\r\nada') + WHOLE, PARTED)
    assert 415 == refused.value.status_code


def test_a_kind_of_any_length_is_looked_at_at_once() -> None:
    begun = process_time()
    with pytest.raises(HTTPException):
        read(b"", 'multipart/form-data; a="' + ";" * 60_000)
    assert process_time() - begun < 0.5


@pytest.mark.parametrize(("kind", "file"), [(PLAIN, 0), (PARTED, 1000)])
def test_a_form_has_so_many_bytes(kind: str, file: int) -> None:
    with pytest.raises(HTTPException) as refused:
        read(parts(HEAD + b"\r\n\r\n" + b"x" * (LARGEST + file)) + WHOLE, kind, file)
    assert 413 == refused.value.status_code


def test_a_plain_form_keeps_what_was_typed() -> None:
    form = read(b"value=%3C+0%2C1+%E2%89%A4&comment=&odd=%ff", f"{PLAIN}; charset=UTF-8")

    assert {"value": "< 0,1 ≤", "comment": "", "odd": "\ufffd"} == form.fields


def test_a_plain_form_has_so_many_fields() -> None:
    with pytest.raises(HTTPException, match="fields"):
        read(b"a=b&" * 1000, PLAIN)
