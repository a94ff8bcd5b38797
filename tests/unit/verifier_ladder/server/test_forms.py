"""Forms are read as browsers send them, and nothing else is."""

import pytest

from verifier_ladder.server.forms import _parted, _plain

HEAD = b'Content-Disposition: form-data; name="file"; filename="gr\xc3\xb6\xc3\x9fe.xlsx"'
FILE = bytes(range(256)) + b"\r\n--b\r\n\r\n--"


def body(*parts: bytes) -> bytes:
    return b"".join(b"--bound\r\n" + part + b"\r\n" for part in parts) + b"--bound--\r\n"


def test_a_file_comes_as_it_is() -> None:
    kind = b"\r\nContent-Type: application/octet-stream\r\n\r\n"
    by = b'Content-Disposition: form-data; name="by"\r\n\r\n\xe2\x89\xa4 ada\r\nand bob'
    form = _parted(body(HEAD + kind + FILE, by), "bound")

    assert ("größe.xlsx", FILE) == form.files["file"]
    assert {"by": "≤ ada\r\nand bob"} == form.fields


@pytest.mark.parametrize(
    ("sent", "boundary"),
    [
        (b"", "bound"), (body(b"x"), "bound"), (body(HEAD), "bound"),
        (body(b"\r\n\r\nx"), "bound"), (body(b"Content-Type: text/plain\r\n\r\nx"), "bound"),
        (body(HEAD + b"\r\n\r\nx")[:-9], "bound"), (body(HEAD + b"\r\n\r\nx"), ""),
        (body(HEAD + b"\r\n\r\nx"), "other"), (b"x" + body(HEAD + b"\r\n\r\nx"), "bound"),
        (body(*[HEAD + b"\r\n\r\nx"] * 200), "bound"),
        (body(HEAD + b"\r\nX: " + b"y" * 5000 + b"\r\n\r\nx"), "bound"),
    ],
)  # fmt: skip
def test_half_a_form_is_refused(sent: bytes, boundary: str) -> None:
    with pytest.raises(ValueError, match="part"):
        _parted(sent, boundary)


def test_a_plain_form_keeps_what_was_typed() -> None:
    assert {"value": "< 0,1 ≤", "comment": "", "odd": "\ufffd"} == _plain(
        b"value=%3C+0%2C1+%E2%89%A4&comment=&odd=%ff"
    ).fields


def test_a_plain_form_has_so_many_fields() -> None:
    with pytest.raises(ValueError, match="fields"):
        _plain(b"a=b&" * 1000)
