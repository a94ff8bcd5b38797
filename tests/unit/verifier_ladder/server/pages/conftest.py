"""A viewer of a ledger, and somebody who asks it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import viewed
from fastapi.testclient import TestClient

from verifier_ladder.ledger import open_ledger
from verifier_ladder.server.pages.app import create_viewer

Get = Callable[..., Any]
See = Callable[[Path], Get]


@pytest.fixture
def see(tmp_path: Path) -> Iterator[See]:
    """Open a viewer of a ledger, brought up to date, and ask it."""
    apps = []

    def opened(path: Path) -> Get:
        app = create_viewer(path, index=tmp_path / f"{path.name}.index", draws=False)
        apps.append(app)
        app.state.viewer.catch_up()
        client = TestClient(app, base_url="http://127.0.0.1:8421", raise_server_exceptions=False)

        def get(address: str, method: str = "GET", **options: Any) -> Any:
            return client.request(method, address, follow_redirects=False, **options)

        get.viewer = app.state.viewer  # type: ignore[attr-defined]
        return get

    yield opened
    for app in apps:
        app.state.viewer.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as store:
        viewed.record(store)
    return path


@pytest.fixture
def get(see: See, ledger: Path) -> Get:
    return see(ledger)
