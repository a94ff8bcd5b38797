"""Server URLs: addresses of PostgreSQL, refused at once where they can't be one."""

from __future__ import annotations

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from verifier_ladder.errors import ConfigError

_PORTS = range(1, 2**16)


def server_url(what: str, text: str) -> URL:
    """The URL of a database on a PostgreSQL server.

    Args:
        what: What it is, for the error; the URL itself may hold a password.
        text: The URL as it was given.

    Raises:
        ConfigError: If it is no such URL, or names a port that can't be.

    Example:
        >>> server_url("the ledger's URL", "postgresql://ann@host:5433/db").port
        5433
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or not url.drivername.startswith("postgresql"):
        raise ConfigError(
            f"{what} can't be read; write postgresql://USER:PASSWORD@HOST/DATABASE, "
            "with odd characters of the password as %XX"
        )
    for port in _ports(url):
        if not port.isdecimal() or int(port) not in _PORTS:
            raise ConfigError(f"{what} names the port {port:.20}; give a number from 1 to 65535")
    return url


def _ports(url: URL) -> list[str]:
    """The ports that a URL names before its database, or after it as libpq takes them."""
    after = url.query.get("port", ())
    listed = [after] if isinstance(after, str) else [*after]
    before = [] if url.port is None else [str(url.port)]
    return before + [port for each in listed for port in each.split(",") if port]
