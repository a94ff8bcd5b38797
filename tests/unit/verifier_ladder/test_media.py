"""Media: content counts, not how Python prints it or where it happens to lie."""

import dataclasses
import io
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from verifier_ladder.errors import ConfigError
from verifier_ladder.learners.messages import group_of
from verifier_ladder.media import carried, described, restored, with_images

MODES = ("1", "L", "LA", "RGB", "RGBA", "CMYK", "I;16", "F")


def coloured(value: int, mode: str = "RGB") -> Any:
    """A new object each time."""
    return Image.new("RGB", (4, 3), (value, 0, 255 - value)).convert(mode)


def encoded(value: int) -> bytes:
    stream = io.BytesIO()
    coloured(value).save(stream, "PNG")
    return stream.getvalue()


def tensor(value: int, *, kind: str = "uint8") -> Any:
    torch = pytest.importorskip("torch")
    return torch.tensor(np.asarray(coloured(value))).to(getattr(torch, kind))


@dataclasses.dataclass
class Shown:
    """A message class of one's own."""

    image: Any


FORMS: dict[str, Callable[[int], Any]] = {
    "Pillow": coloured,
    "Pillow, from a file": lambda value: Image.open(io.BytesIO(encoded(value))),
    "Pillow, with a palette": lambda value: coloured(value).quantize(),
    "a large array": lambda value: np.full((200, 200, 3), value, np.uint8),
    "an array of floats": lambda value: np.full((9, 9), value / 3),
    "an array of objects": lambda value: np.array([[{"a": value}, None]], dtype=object),
    "a tensor": tensor,
    "a tensor of bfloat16": lambda value: tensor(value, kind="bfloat16"),
    "bytes": encoded,
    "a row that is not decoded": lambda v: {"bytes": encoded(v), "path": f"here/{object()}"},
    "a row with a path": lambda value: {"bytes": None, "path": f"{value}.png"},
    "a path": lambda value: Path(f"{value}.png"),
    "a data class": lambda value: Shown(coloured(value)),
    "a set": lambda value: {f"{value} {n}" for n in range(50)},
    "a moment": lambda value: datetime(2026, 1, 1 + value % 27, tzinfo=UTC),
    "a decimal": lambda value: Decimal(value) / 7,
}


def question(image: Any) -> list[dict[str, Any]]:
    text = {"type": "text", "text": "What is it?"}
    return [{"role": "user", "content": [{"type": "image", "image": image}, text]}]


@pytest.mark.parametrize("form", FORMS)
def test_equal_content_is_one_group_and_other_content_another(form: str) -> None:
    make = FORMS[form]

    assert group_of(question(make(3))) == group_of(question(make(3)))
    assert group_of(question(make(3))) != group_of(question(make(4)))
    json.dumps(described(make(3)))


@pytest.mark.parametrize("form", FORMS)
def test_what_stands_for_content_stands_for_itself(form: str) -> None:
    """So a prompt that was kept names the same task as the one that a learner holds."""
    told = described(question(FORMS[form](3)))

    assert told == described(told)
    assert group_of(question(FORMS[form](3))) == group_of(told)


def test_another_process_gives_the_same_name() -> None:
    code = (
        "from PIL import Image; from verifier_ladder.learners.messages import group_of;"
        "print(group_of([Image.new('RGB', (4, 3), (3, 0, 252)), {'b', 'a'}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert group_of([coloured(3), {"a", "b"}]) == done.stdout.strip()


class Opaque:
    """What it holds can't be told, whatever it prints."""

    def __repr__(self) -> str:
        """Print the same for all."""
        return "Opaque()"


@pytest.mark.parametrize(
    "thing",
    [object(), Opaque(), (n for n in range(3)), iter([1]), lambda: 1, json, io.StringIO("a")],
)
def test_what_has_no_content_is_refused(thing: Any) -> None:
    with pytest.raises(ConfigError, match=f"a {type(thing).__name__} stands in a prompt"):
        group_of(question(thing))


def test_what_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(ConfigError, match="too deeply"):
        group_of(endless)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)


@given(JSON)
def test_json_stands_for_itself(value: Any) -> None:
    assert value == described(value) == restored(carried(value))


@pytest.mark.parametrize("mode", MODES)
def test_an_image_travels_as_json(mode: str) -> None:
    image = coloured(3, mode)
    travelled = json.loads(json.dumps(carried({"seen": [image, "text"]})))

    back = restored(travelled)
    assert (mode, image.size, image.tobytes()) == (
        back["seen"][0].mode, back["seen"][0].size, back["seen"][0].tobytes()
    )  # fmt: skip


def test_images_of_a_column_stand_where_trainers_put_them() -> None:
    one, two = coloured(1), coloured(2)
    chat = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Why?"}]}]

    assert one is with_images(chat, [one])[0]["content"][0]["image"]
    assert group_of(with_images("Why?", one)) == group_of(with_images("Why?", [coloured(1)]))
    assert group_of(with_images("Why?", one)) != group_of(with_images("Why?", two))
    filled = question(one)
    assert filled is with_images(filled, [two])
    assert "Why?" == with_images("Why?", None) == with_images("Why?", [object()])
