"""What a host hears of a broker's messages."""

import threading
from typing import Any

import kombu.message
import pytest

from verifier_ladder.scheduler.engines.bell import RING, celery_app
from verifier_ladder.scheduler.engines.ear import Ear


@pytest.mark.parametrize("headers", [{"task": RING, "compression": "bzip2"}, {"task": RING}])
def test_what_is_packed_stays_packed(
    monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    unpacked: list[Any] = []
    monkeypatch.setattr(kombu.message, "decompress", lambda *given: unpacked.append(given))
    heard = threading.Event()
    ear = Ear("memory://", ["packed"], heard.set)
    app = celery_app("memory://", ["packed"])
    with app.connection_for_write() as connection:
        connection.SimpleQueue("packed").put(b"0" * 10_000, headers=headers)
    thread = threading.Thread(target=ear.start, daemon=True)
    thread.start()

    try:
        assert heard.wait(200)
    finally:
        ear.stop()
        thread.join(200)
    assert [] == unpacked
