"""Arguments: checked where they enter, by the annotations that they are declared with.

A wrong one is refused at once, by name, before anything is opened or written. Numbers of numpy
become plain ones; a text is no list, and a truth value is no number. Nothing is imported for it,
and no other value is changed, so that it costs a public call a few microseconds.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import re
import reprlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from math import isfinite
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar, get_origin
from urllib.parse import urlsplit

from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")
_TIME: Final = frozenset({"float", "str"})
"""Alternatives that mean an amount of time, in seconds or as text."""
LARGEST: Final = 2**53 - 1
"""The largest whole number that every reader of JSON reads exactly."""
_NO_LEAST: Final = float("-inf")
_SKIPPED: Final = frozenset({"Any", "object", "EscalationPolicy", "Descriptors"})
"""Annotations that tell nothing, and protocols, which whoever takes them looks at."""
_MARK: Final = "is_checked"
_ITEMS: Final = {
    "str": " of texts", "str | Path": " of texts", "int": " of whole numbers", "Transcript": "",
    "CheckState": " of states", "Input": " of inputs",
}  # fmt: skip
"""What lists are looked through for, and how an error names it."""


def checked_url(what: str, url: str) -> str:
    """An address of HTTP, as it was given.

    Args:
        what: What it is, for the error.
        url: The address.

    Raises:
        ConfigError: If it is of another protocol, names no host, or a port that can't be.

    Example:
        >>> checked_url("url", "http://127.0.0.1:8420")
        'http://127.0.0.1:8420'
    """
    wrong = wrong_address(url)
    if not wrong and urlsplit(url).scheme not in {"http", "https"}:
        wrong = "it is no address of HTTP"
    if not wrong and not urlsplit(url).hostname:
        wrong = "it names no host"
    if not wrong:
        return url
    raise ConfigError(f"{what}={shown_address(url)!r}: {wrong}; give http://… or https://…")


def wrong_address(url: str) -> str:
    """What is wrong with the host or port of an address; "" where there can be such a one.

    Example:
        >>> wrong_address("redis://host:99999/0")
        'Port out of range 0-65535'
    """
    try:
        host, port = urlsplit(url).hostname, urlsplit(url).port
    except ValueError as error:  # Its port, or an address of IPv6.
        return re.sub(r"""['"].*['"]""", "…", str(error), flags=re.DOTALL)  # Maybe a password.
    if " " in (host or ""):
        return "it names no host"
    return "there is no port 0" if port == 0 else ""


def shown_address(url: str) -> str:
    """An address without its user, password and query."""
    no_user = re.sub(r"//.*@", "//…@", url, flags=re.DOTALL)  # A password may hold a slash.
    return re.sub(r"\?.*", "?…", no_user, flags=re.DOTALL)


class Rule(NamedTuple):
    """What one parameter takes."""

    accepts: Callable[[Any], bool]
    wanted: str


def checked(*own: str, **least: float) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check the arguments of a function at each call.

    `**settings: Unpack[Settings]` are checked one by one, as the `TypedDict` says.

    Args:
        own: Parameters that the function looks at itself, because it can say more of them.
        least: Smallest value of numbers, and shortest length of texts and lists, by parameter.

    Raises:
        ConfigError: From the function, if an argument is not what its annotation says.
        TypeError: From the function, if it takes no such argument.

    Example:
        >>> @checked(workers=1)
        ... def start(workers: int | None = None): return workers
        >>> start(0)
        Traceback (most recent call last):
        verifier_ladder.errors.ConfigError: start: workers=0: give a whole number of at least 1
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        rules = _rules(function.__annotations__, least, function.__globals__)
        more, known = _unpacked(function)
        rules |= _rules(known, least, function.__globals__)
        rules = {name: rule for name, rule in rules.items() if name not in {*own, more}}
        defaults = {name: p.default for name, p in signature.parameters.items()}

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            given = signature.bind(*args, **kwargs)
            settings = given.arguments.get(more, {})
            if unknown := sorted(settings.keys() - known):
                raise TypeError(f"got an unexpected keyword argument {unknown[0]!r}")
            values = {**given.arguments, **settings} if settings else given.arguments
            replaced = _check(function, rules, defaults, values)
            if not replaced:
                return function(*args, **kwargs)
            for name, plain in replaced.items():
                (settings if name in settings else given.arguments)[name] = plain
            return function(*given.args, **given.kwargs)

        vars(call)[_MARK] = True
        return call

    return decorate


def is_checked(function: Callable[..., Any]) -> bool:
    """Whether `checked` stands before a function."""
    return _MARK in vars(function)


def options_checked(*others: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse options that a function doesn't take, and tell those that it takes.

    Args:
        others: What it takes beside its own parameters, as `**options`.

    Raises:
        ConfigError: From the function.

    Example:
        >>> @options_checked("ledger")
        ... def reward(verifier: object, *, clip: float = 0.0, **options: Any) -> None: ...
        >>> reward(None, clap=1.0)
        Traceback (most recent call last):
        verifier_ladder.errors.ConfigError: unknown option clap; reward takes clip, ledger
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = inspect.signature(function).parameters.values()
        known = {*others, *(p.name for p in own if p.kind is p.KEYWORD_ONLY)}
        taken = {p.name for p in own if p.kind is p.POSITIONAL_OR_KEYWORD} | known

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if unknown := sorted(kwargs.keys() - taken):
                raise ConfigError(
                    f"unknown option {', '.join(unknown)}; {function.__name__} takes "
                    f"{', '.join(sorted(known))}"
                )
            return function(*args, **kwargs)

        return call

    return decorate


def check_fields(record: object, **least: float) -> None:
    """Check the fields of a dataclass, from its `__post_init__`.

    Raises:
        ConfigError: If a field is not what its annotation says.
    """
    of: Any = type(record)
    rules, defaults = _fields_of(of, tuple(least.items()))
    given = {name: getattr(record, name) for name in rules}
    for name, plain in _check(f"{public_name(of)}(...)", rules, defaults, given).items():
        object.__setattr__(record, name, plain)


def check_values(
    what: str, annotations: Mapping[str, Any], values: Mapping[str, Any], **least: float
) -> None:
    """Check values by annotations that stand elsewhere.

    Raises:
        ConfigError: If one is not what its annotation says.
    """
    found = {}
    for name in annotations.keys() & values.keys():
        annotation = annotations[name]
        text = getattr(annotation, "__forward_arg__", annotation)
        rule = _rule(text, least.get(name, _NO_LEAST))
        if rule is not None:
            found[name] = rule
    _check(what, found, {}, values)


def checked_value(
    what: str, name: str, value: Any, annotation: str, least: float = _NO_LEAST
) -> Any:
    """Check one value; gives it back, plain if it is a number of numpy.

    Raises:
        ConfigError: If it is not what the annotation says.

    Example:
        >>> checked_value("score", "step", 3, "int", 0)
        3
    """
    rule = _rule(annotation, least)
    if rule is not None and not _is_accepted(rule, value):
        raise _refused(what, name, value, rule)
    return _plain(value)


def _check(
    what: Callable[..., Any] | str, rules: Mapping[str, Rule], defaults: Mapping[str, Any],
    given: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Check values by name; gives those that have to be replaced by plain ones.

    Args:
        what: Whose they are: the function, or what to call it.
        rules: What they have to be.
        defaults: Values that need no look.
        given: The values.
    """
    replaced = {}
    for name, value in given.items():
        rule = rules.get(name)
        if rule is None or value is defaults.get(name, rule):
            continue
        if not _is_accepted(rule, value):
            told = what if isinstance(what, str) else _written(what, given)
            raise _refused(told, name, value, rule)
        if (plain := _plain(value)) is not value:
            replaced[name] = plain
    return replaced


def public_name(of: type) -> str:
    """A class as a user writes it.

    Example:
        >>> import verifier_ladder
        >>> public_name(verifier_ladder.Run)
        'vl.Run'
    """
    package = sys.modules.get(__package__ or "")
    return f"vl.{of.__name__}" if of.__name__ in getattr(package, "__all__", ()) else of.__name__


def _written(function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """A function as a user writes it: a method by the class of its object, whoever defines it."""
    name = function.__name__
    first = next(iter(given), "")
    if first not in {"self", "cls"}:
        return name
    owner = given[first] if first == "cls" else type(given[first])
    if name == "__init__":
        return f"{public_name(owner)}(...)"
    known = next((of for of in owner.__mro__ if public_name(of) != of.__name__), owner)
    return f"{known.__name__}.{name}"


def _is_accepted(rule: Rule, value: Any) -> bool:
    try:
        return bool(rule.accepts(value))
    except Exception:  # noqa: BLE001 - an odd object may raise anything when it is looked at
        return False


def _refused(what: str, name: str, value: object, rule: Rule) -> ConfigError:
    try:
        shown = reprlib.repr(value)
    except Exception:  # noqa: BLE001 - as above
        shown = f"a {type(value).__name__}"
    most = f" and at most {LARGEST}" if type(value) is int and value > LARGEST else ""
    return ConfigError(f"{what}: {name}={shown}: give {rule.wanted}{most}")


def _unpacked(function: Callable[..., Any]) -> tuple[str, Mapping[str, Any]]:
    """The name of a function's `**settings: Unpack[Settings]`, and their annotations."""
    for name, annotation in function.__annotations__.items():
        if isinstance(annotation, str) and annotation.startswith("Unpack["):
            return name, function.__globals__[annotation[7:-1]].__annotations__
    return "", {}


@functools.lru_cache(maxsize=64)
def _fields_of(
    of: Any, least: tuple[tuple[str, float], ...]
) -> tuple[Mapping[str, Rule], Mapping[str, Any]]:
    names = vars(sys.modules[of.__module__])
    rules = _rules({field.name: str(field.type) for field in fields(of)}, dict(least), names)
    return rules, {field.name: field.default for field in fields(of)}


def _rules(
    annotations: Mapping[str, Any], least: Mapping[str, float], names: Mapping[str, Any]
) -> dict[str, Rule]:
    found = {}
    for name, annotation in annotations.items():
        text = getattr(annotation, "__forward_arg__", annotation)
        if not isinstance(text, str) or name == "return":
            continue
        rule = _made(text, least.get(name, _NO_LEAST), names)
        if rule is not None:
            found[name] = rule
    return found


@functools.lru_cache(maxsize=512)
def _rule(annotation: str, least: float) -> Rule | None:
    return _made(annotation, least, {})


def _made(annotation: str, least: float, names: Mapping[str, Any]) -> Rule | None:
    """The rule of an annotation; None if it tells nothing that can be checked.

    Args:
        annotation: As it is written.
        least: Smallest value, or shortest length.
        names: What the names in it stand for, so far as they are imported.
    """
    parts = list(_alternatives(annotation))
    if _SKIPPED & set(parts):
        return None
    if set(parts) >= _TIME:
        rest = [part for part in parts if part not in _TIME]
        rules = [_time(least), *(_simple(part, least, names) for part in rest)]
    else:
        is_path = {"str", "Path"} <= set(parts)
        rules = [
            _simple("Path" if is_path and part == "str" else part, least, names) for part in parts
        ]
    if not all(rules):
        return None
    known = [rule for rule in rules if rule is not None]
    wanted = dict.fromkeys(rule.wanted for rule in known if rule.wanted != "None")
    return Rule(
        lambda value: any(_is_accepted(rule, value) for rule in known), " or ".join(wanted)
    )


def _alternatives(annotation: str) -> Iterator[str]:
    """The parts of a union, not split inside of brackets."""
    depth, start = 0, 0
    for place, sign in enumerate(annotation):
        depth += (sign == "[") - (sign == "]")
        if sign == "|" and depth == 0:
            yield annotation[start:place].strip()
            start = place + 1
    yield annotation[start:].strip()


def _plain_rules(least: float) -> dict[str, Rule]:
    bound = f" of at least {least:g}" if least > _NO_LEAST else ""
    return {
        "None": Rule(lambda value: value is None, "None"),
        "int": Rule(lambda value: _is_whole(value) and value >= least, f"a whole number{bound}"),
        "float": Rule(
            lambda value: _is_number(value) and value >= least, f"a finite number{bound}"
        ),
        "str": Rule(
            lambda value: isinstance(value, str) and len(value) >= least,
            "text" + (" that is not empty" if least >= 1 else ""),
        ),
        "bool": Rule(lambda value: type(value).__name__ in {"bool", "bool_"}, "True or False"),
        "bytes": Rule(lambda value: isinstance(value, bytes), "bytes"),
        "Path": Rule(lambda value: _is_path(value) and len(os.fspath(value)) >= least, "a path"),
        "Callable": Rule(callable, "a function"),
        "Mapping": Rule(lambda value: isinstance(value, Mapping), "values by name"),
    }


def _simple(part: str, least: float, names: Mapping[str, Any]) -> Rule | None:
    """The rule of what is no union."""
    name, _, inner = part.partition("[")
    plain = _plain_rules(least)
    if name == "Mapping" and inner.startswith("str,"):
        return Rule(
            lambda value: isinstance(value, Mapping) and all(isinstance(k, str) for k in value),
            "values by name",
        )
    if name in plain:
        return plain[name]
    if name == "Literal":
        words = [word.strip(" \"'") for word in inner.rstrip("]").split(",")]
        return Rule(lambda value: isinstance(value, str) and value in words, " or ".join(words))
    if name in {"Sequence", "Collection", "Iterable", "list", "tuple"}:
        item = names.get(inner.removesuffix(", ...]")) if name == "tuple" else None
        many = inner.removesuffix("]")
        listed = _many(many, least, is_read_once=name == "Iterable")
        return _tuple(item) if isinstance(item, type) else listed
    meant = names.get(name)
    if get_origin(meant) is Callable:
        return plain["Callable"]
    return _instance(name) if meant is None or isinstance(meant, type) else None


def _instance(name: str) -> Rule | None:
    """An object of a class, known by its name: the class itself may not be imported yet."""
    if not name.isidentifier() or not name[0].isupper():
        return None
    article = "an" if name[0] in "AEIOU" else "a"
    return Rule(
        lambda value: any(of.__name__ == name for of in type(value).__mro__), f"{article} {name}"
    )


def _many(inner: str, least: float, *, is_read_once: bool) -> Rule:
    each = _rule(inner, _NO_LEAST) if inner in _ITEMS else None
    what = _ITEMS.get(inner, "")

    def accepts(value: Any) -> bool:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(
            value, (Collection, Iterable)
        ):
            return False
        if not isinstance(value, Collection):
            return is_read_once  # Looked at when it is read.
        return len(value) >= least and (each is None or all(map(each.accepts, value)))

    return Rule(accepts, f"a list{what}" + (" that is not empty" if least >= 1 else ""))


def _tuple(of: type) -> Rule:
    """Objects of a class; a list of them is good enough."""
    return Rule(
        lambda value: isinstance(value, (tuple, list)) and all(isinstance(v, of) for v in value),
        f"a tuple of {public_name(of)}",
    )


def _time(least: float) -> Rule:
    def accepts(value: Any) -> bool:
        return not isinstance(value, bool) and seconds(_plain(value)) >= least

    longer = " above 0" if least > 0 else ""
    return Rule(accepts, f'an amount of time{longer}: seconds, or text such as "30 s" or "5 min"')


def _plain(value: Any) -> Any:
    """The Python number inside of one of numpy; other values as they are."""
    is_numpy = type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()
    return value.item() if is_numpy else value


def whole_number(text: str) -> int | None:
    """The number that decimal digits stand for; None if they are none, or beyond `LARGEST`.

    Example:
        >>> whole_number("12"), whole_number("-1"), whole_number("9" * 5000)
        (12, None, None)
    """
    # Python reads no more than 4300 digits, and slowly.
    is_short = text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST))
    return int(text) if is_short and int(text) <= LARGEST else None


def _is_path(value: Any) -> bool:
    """Whether a file could be called so; half of a character can't be part of a name."""
    return isinstance(value, str | os.PathLike) and b"\0" not in os.fsencode(value)


def _is_whole(value: Any) -> bool:
    if type(value).__name__ in {"bool", "bool_"}:
        return False
    return abs(operator.index(value)) <= LARGEST


def _is_number(value: Any) -> bool:
    is_odd = isinstance(value, (str, bytes)) or type(value).__name__ in {"bool", "bool_"}
    return not is_odd and isfinite(float(value))
