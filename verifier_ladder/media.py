"""Media: images, arrays and bytes in prompts, completions and columns, by their content.

Learners hand over live objects. What names a group, a task or a check must follow from what they
hold, never from how Python prints them: most print the address where they happen to lie.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

import orjson

from verifier_ladder.errors import ConfigError

_SCALARS = (str, int, float, bool, type(None))
_WRITTEN = (PurePath, Decimal, Fraction, UUID, datetime, date, time)
"""Types whose text says all that they hold."""
_CARRIED = "image/raw"
"""The one field of an object that carries an image's pixels."""
Part = Callable[[Any], Any]


def described(value: Any) -> Any:
    """JSON values that stand for a value: equal for equal content, in every process.

    Text, numbers, lists and objects are themselves. Images, arrays of more than one dimension and
    bytes become a digest of what they hold.

    Raises:
        ConfigError: If it holds something whose content can't be told, such as a generator.

    Example:
        >>> described({"role": "user", "content": [b"pixels"]})["content"][0]["bytes"]
        6
    """
    try:
        return _described(value)
    except RecursionError:
        raise ConfigError("a prompt or completion nests too deeply to be kept") from None


def carried(value: Any) -> Any:
    """The same value with its images as objects that JSON holds; `restored` makes them again.

    What else is no JSON stays as it is, for the key's own checks.

    Example:
        >>> carried([{"role": "user", "content": "2 + 2 ="}])
        [{'role': 'user', 'content': '2 + 2 ='}]
    """
    return _mapped(value, _carried)


def restored(value: Any) -> Any:
    """The value that `carried` was given, with images to look at.

    Example:
        >>> restored(carried({"answer": [1, 2]}))
        {'answer': [1, 2]}
    """
    if isinstance(value, _SCALARS):
        return value
    return _mapped(value, _restored)


def is_image(value: object) -> bool:
    """Whether it is an image of Pillow, which is not imported for this."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def with_images(prompt: Any, images: Any) -> Any:
    """A prompt with the images that stand in a column beside it, as chat messages.

    Trainers fill them into the placeholders of the messages, or before the first user's text. A
    prompt that holds images already stays as it is, and so does one beside a column that holds
    something else under that name.

    Example:
        >>> with_images("What is it?", [b"pixels"])[0]["content"][1]
        {'type': 'text', 'text': 'What is it?'}
    """
    if images is None or (isinstance(images, Sequence) and not images):
        return prompt
    given = list(images) if isinstance(images, (list, tuple)) else [images]
    if not all(map(_is_told, given)):
        return prompt
    chat = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    if not _is_chat(chat) or any(map(_has_media, chat)):
        return prompt
    left = iter(given)
    filled = [_filled(message, left) for message in chat]
    rest = [{"type": "image", "image": image} for image in left]
    place = next((n for n, m in enumerate(filled) if m.get("role") == "user"), 0)
    if rest and filled:
        filled[place] = {**filled[place], "content": rest + _blocks(filled[place].get("content"))}
    return filled


def media_of(chat: Any) -> list[Any]:
    """What the messages of a chat hold beside text, as JSON values; [] for most.

    Example:
        >>> media_of([{"role": "user", "content": [{"type": "text", "text": "What is it?"}]}])
        []
    """
    if not _is_chat(chat):
        return []
    return [described(block) for m in chat for block in _blocks(m.get("content")) if _shows(block)]


def _is_told(value: Any) -> bool:
    """Whether it may be an image: of Pillow, an array, bytes, or a row that refers to one."""
    has_pixels = callable(getattr(value, "tolist", None)) and getattr(value, "ndim", 0) > 1
    return has_pixels or is_image(value) or isinstance(value, (str, bytes, Mapping))


def _described(value: Any) -> Any:
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, Mapping):
        if isinstance(value.get("bytes"), bytes):  # An image that a dataset has not decoded.
            value = {name: part for name, part in value.items() if name != "path"}
        return {str(name): _described(part) for name, part in value.items()}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"sha256": hashlib.sha256(value).hexdigest(), "bytes": len(value)}
    if is_image(value):
        mode, size, pixels = _pixels(value)
        return _digest(f"{mode} {size[0]}x{size[1]}", "image", pixels)
    if isinstance(value, Sequence):
        return [_described(part) for part in value]
    return _object(value)


def _object(value: Any) -> Any:
    """What an object holds, if its type says."""
    if isinstance(value, _WRITTEN):
        return str(value)
    if isinstance(value, Enum):
        return _described(value.value)
    if isinstance(value, AbstractSet):
        return sorted(map(_described, value), key=orjson.dumps)
    if hasattr(value, "model_dump"):
        return _described(value.model_dump())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _described(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if callable(getattr(value, "tolist", None)):
        return _array(value)
    raise ConfigError(
        f"a {type(value).__name__} stands in a prompt, completion or column, and what it holds "
        "can't be told; give text, numbers, lists, objects, bytes, arrays or images of Pillow"
    )


def _array(value: Any) -> Any:
    """A list for few dimensions, as of token ids; else a digest of its numbers."""
    if hasattr(value, "detach"):  # A tensor, on whatever device.
        value = value.detach().cpu()
        name = f"{str(value.dtype).removeprefix('torch.')} {_shape(value)}"
        if value.ndim > 1:
            flat = value.contiguous().flatten().view(_byte(value))  # numpy has no bfloat16.
            return _digest(name, "array", flat.numpy().tobytes())
    elif getattr(value, "ndim", 1) > 1 and not getattr(value.dtype, "hasobject", False):
        return _digest(f"{value.dtype} {_shape(value)}", "array", value.tobytes())
    return _described(value.tolist())


def _byte(tensor: Any) -> Any:
    return sys.modules[type(tensor).__module__.partition(".")[0]].uint8


def _shape(value: Any) -> str:
    return "x".join(map(str, value.shape))


def _digest(what: str, kind: str, data: bytes) -> dict[str, str]:
    made = hashlib.sha256(f"{what}\0".encode())
    made.update(data)
    return {"sha256": made.hexdigest(), kind: what}


def _pixels(image: Any) -> tuple[str, tuple[int, int], bytes]:
    """Mode, width and height, and the bytes of an image; colours of a palette by themselves."""
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image.mode, image.size, image.tobytes()


def _mapped(value: Any, change: Part) -> Any:
    """A value with some of its parts changed; lists and objects that hold none stay the same."""
    changed = change(value)
    if changed is not value or isinstance(value, _SCALARS):
        return changed
    if isinstance(value, Mapping):
        parts = {name: _mapped(part, change) for name, part in value.items()}
        is_same = all(parts[name] is value[name] for name in parts)
        return value if is_same else parts
    if isinstance(value, (list, tuple)):
        listed = [_mapped(part, change) for part in value]
        is_same = all(new is old for new, old in zip(listed, value, strict=True))
        return value if is_same else listed
    return value


def _carried(value: Any) -> Any:
    if not is_image(value):
        return value
    mode, size, pixels = _pixels(value)
    told = {"mode": mode, "size": list(size), "data": b64encode(pixels).decode("ascii")}
    return {_CARRIED: told}


def _restored(value: Any) -> Any:
    if not (isinstance(value, dict) and value.keys() == {_CARRIED}):
        return value
    from PIL import Image

    told = value[_CARRIED]
    return Image.frombytes(told["mode"], tuple(told["size"]), b64decode(told["data"]))


def _is_chat(value: Any) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    return is_list and all(isinstance(message, Mapping) for message in value)


def _blocks(content: Any) -> list[Any]:
    """The parts of a message's content."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content) if isinstance(content, Sequence) else []


def _shows(block: Any) -> bool:
    """Whether a part of a message holds more than text; an empty placeholder holds nothing."""
    return isinstance(block, Mapping) and "text" not in block and len(block) > 1


def _has_media(message: Mapping[str, Any]) -> bool:
    return any(map(_shows, _blocks(message.get("content"))))


def _filled(message: Mapping[str, Any], images: Any) -> dict[str, Any]:
    """A message whose placeholders have their images."""
    content = message.get("content")
    if isinstance(content, str) or not isinstance(content, Sequence):
        return dict(message)
    blocks = []
    for block in content:
        is_empty = isinstance(block, Mapping) and block.get("type") == "image" and len(block) == 1
        image = next(images, None) if is_empty else None
        blocks.append(block if image is None else {**block, "image": image})
    return {**message, "content": blocks}
