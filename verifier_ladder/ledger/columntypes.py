"""Column types that hold the same values in SQLite and in PostgreSQL.

SQLite's whole numbers are as wide as they need be and its REAL is a double; in PostgreSQL both
must be asked for.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BLOB, REAL, BigInteger, Double, Integer, LargeBinary, Text
from sqlalchemy.types import TypeEngine

WHOLE: Final = BigInteger().with_variant(Integer(), "sqlite")
NUMBER: Final[TypeEngine[float]] = Double().with_variant(REAL(), "sqlite")
BYTES: Final = LargeBinary().with_variant(BLOB(), "sqlite")
FORM: Final = Text().with_variant(BLOB(), "sqlite")
"""A canonical form as text; SQLite's older rows hold bytes too."""
