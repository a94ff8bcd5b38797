"""Feeds over HTTP: tables that say when they were published, and in which vintage."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from settling import DAY, World

import verifier_ladder as vl
from verifier_ladder.case import AWAY, to_settle
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.tiers.world.case import is_waiting
from verifier_ladder.tiers.world.feed import FileFeed, HttpFeed
from verifier_ladder.tiers.world.forecast import NumericForecast
from verifier_ladder.tiers.world.order import MarketOrder
from verifier_ladder.verdict import Outcome, Verdict

Until = Callable[[Callable[[], object]], None]

TABLE = "time,value,published,vintage\n8,4,9,first\n"


class Exchange:
    """A server of tables, and what it was asked."""

    def __init__(self) -> None:
        self.tables: dict[str, str] = {}
        self.status, self.asked, self.tokens = 200, [], []  # type: ignore[var-annotated]
        exchange = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                exchange.asked.append(self.path)
                exchange.tokens.append(self.headers.get("Authorization"))
                table = exchange.tables.get(self.path)
                body = (table or "").encode()
                self.send_response(404 if table is None else exchange.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/feed"


@pytest.fixture
def exchange() -> Iterator[Exchange]:
    made = Exchange()
    thread = Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def settled(verifier: NumericForecast) -> Verdict:
    asked = to_settle(vl.Candidate("text", "3", {"series": "s", "horizon": 8}), b"k" * 32, None)
    (verdict,) = verifier.judge([asked])
    return verdict


def test_a_forecast_is_settled_by_what_a_service_tells(exchange: Exchange) -> None:
    exchange.tables["/feed/s.csv"] = TABLE

    verdict = settled(NumericForecast(url=exchange.url))

    assert (Outcome.ACCEPT, 1.0) == (verdict.outcome, verdict.score)
    told = {"published": "1970-01-01T00:00:09+00:00", "vintage": "first"}
    assert told.items() <= verdict.evidence.items()
    assert ["/feed/s.csv"] == exchange.asked


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("time,value\n8,4\n", "line 2: it must say published and vintage"),
        ("time,value,published,vintage\n8,4,9,\n", "line 2: it must say vintage"),
        ("time,value,published,vintage\n8,4,9, \t\n", "line 2: it must say vintage"),
        ("time,value,published,vintage\n8,4, ,first\n", "line 2: it must say published"),
        ("time,value,published,vintage\n8,4,7,first\n", "published before its time"),
        (None, "status 404"),
    ],
)
def test_a_table_that_does_not_say_when_it_was_published_settles_nothing(
    exchange: Exchange, table: str | None, why: str
) -> None:
    if table is not None:
        exchange.tables["/feed/s.csv"] = table

    verdict = settled(NumericForecast(url=exchange.url))

    assert is_waiting(verdict), verdict
    assert why in verdict.reason


@pytest.mark.parametrize("row", ["8,4,", "8,4, ", "8,4"])
def test_where_a_table_tells_vintages_each_row_has_one(tmp_path: Path, row: str) -> None:
    (tmp_path / "s.csv").write_text(f"time,value,vintage\n7,4,first\n{row}\n")

    with pytest.raises(ToolError, match="line 3: it must say vintage"):
        FileFeed(tmp_path).read("s")


def test_a_service_that_is_away_settles_nothing() -> None:
    gone = Exchange()
    gone.server.server_close()

    verdict = settled(NumericForecast(url=gone.url))
    assert is_waiting(verdict)
    assert AWAY in verdict.evidence  # So no other case of it is asked about in vain.


@pytest.mark.parametrize(("status", "is_away"), [(503, True), (500, False)])
def test_a_table_that_can_not_be_given_does_not_mean_that_its_service_is_away(
    exchange: Exchange, status: int, *, is_away: bool
) -> None:
    exchange.tables["/feed/s.csv"], exchange.status = TABLE, status

    verdict = settled(NumericForecast(url=exchange.url))

    assert f"status {status}" in verdict.reason
    assert is_away == (AWAY in verdict.evidence)


def test_many_cases_ask_once_and_a_copy_asks_for_itself(exchange: Exchange) -> None:
    exchange.tables["/feed/s.csv"] = TABLE
    feed = HttpFeed(exchange.url)
    feed.FRESH = 3600.0

    tables = [feed.read("s") for _ in range(3)]
    copied = pickle.loads(pickle.dumps(feed)).read("s")  # noqa: S301 - our own

    assert [copied] * 3 == tables
    assert 2 == len(exchange.asked)
    with pytest.raises(ToolError, match="404"):
        feed.read("other")


def test_only_what_is_fed_over_http_uses_the_network_and_its_secrets(
    exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEED_TOKEN", "hush")
    exchange.tables["/feed/s.csv"] = TABLE
    headers = {"Authorization": "Bearer $FEED_TOKEN"}
    fed, other = NumericForecast(url=exchange.url, headers=headers), MarketOrder()

    assert (True, False) == (fed.network, other.network)
    assert (("FEED_TOKEN",), ()) == (tuple(fed.secrets), tuple(other.secrets))
    assert settled(fed).score == 1.0
    assert ["Bearer hush"] == exchange.tokens
    assert NumericForecast().digest != fed.digest == NumericForecast(url=exchange.url).digest


@pytest.mark.parametrize(
    "settings",
    [
        {"folder": "feed", "url": "http://127.0.0.1:1"}, {"url": "ftp://127.0.0.1"},
        {"headers": {"A": "b"}},
    ],
)  # fmt: skip
def test_a_feed_has_one_place(settings: dict[str, Any]) -> None:
    for kind in (NumericForecast, MarketOrder):
        with pytest.raises(ConfigError):
            kind(**settings)


PLACE = "127.0.0.1:1/feed"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"url": f"http://ann:open-sesame@{PLACE}"}, r"a user or a password, .* \$JUDGE_TOKEN"),
        ({"url": f"http://open-sesame@{PLACE}"}, r"a user or a password, .* \$JUDGE_TOKEN"),
        ({"url": f"http://{PLACE}?key=open-sesame"}, r"the secret 'key', .* \$JUDGE_TOKEN"),
        ({"url": f"http://{PLACE}?from=open-sesame"}, r"ends before a \? or #"),
        ({"url": f"ftp://{PLACE}?token=open-sesame"}, "no address of HTTP"),
        ({"url": f"http://ann:open-sesame@{PLACE}", "folder": "feed"}, "one place of the tables"),
        (
            {"url": f"http://{PLACE}", "headers": {"authorization": "Bearer open-sesame"}},
            r"the header 'authorization' is a secret that is written out, .* \$JUDGE_TOKEN",
        ),
        (
            {"url": f"http://{PLACE}", "headers": {"X-Api-Key": "open-sesame"}},
            r"the header 'X-Api-Key' is a secret that is written out, .* \$JUDGE_TOKEN",
        ),
    ],
)
def test_a_secret_that_is_written_out_makes_no_feed_and_is_not_repeated(
    settings: dict[str, Any], why: str
) -> None:
    for kind in (NumericForecast, MarketOrder):
        with pytest.raises(ConfigError, match=why) as told:
            kind(**settings)
        assert "open-sesame" not in str(told.value)


def test_a_campaign_settles_by_a_service_from_its_worker_and_anew_from_here(
    exchange: Exchange, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    world = World(tmp_path)
    world.set_clocks(monkeypatch)
    monkeypatch.setenv("FEED_TOKEN", "hush")
    headers = {"Authorization": "Bearer $FEED_TOKEN"}
    ladder = vl.Ladder("fed", [NumericForecast(url=exchange.url, headers=headers)])
    told: list[float | None] = []

    def opened() -> vl.Campaign:
        return vl.Campaign.open("fed", ladder=ladder, ledger=tmp_path / "ledger.db", workers=1)

    with opened() as campaign:
        task = {"series": "s", "horizon": world.horizon}
        campaign.score([vl.Candidate("text", "3", task)], deadline=0)
        assert campaign.drain(300)
        assert (0, ()) == campaign.resettle()  # Its case is open still.
    row = f"{world.horizon},4,{world.horizon},first"
    exchange.tables["/feed/s.csv"] = f"time,value,published,vintage\n{row}\n"
    world.ahead = DAY + 1
    with opened() as campaign:

        def is_told() -> bool:
            told.extend(revision.reward.value for revision in campaign.revisions())
            return bool(told)

        until(is_told)
        exchange.tables["/feed/s.csv"] += f"{world.horizon},7,{world.horizon + 1},second\n"
        assert (1, ()) == campaign.resettle()
        until(lambda: is_told() and told[-1] != 1.0)
    assert (1.0, 4.0) == (told[0], told[-1])
    assert ({"/feed/s.csv"}, {"Bearer hush"}) == (set(exchange.asked), set(exchange.tokens))
