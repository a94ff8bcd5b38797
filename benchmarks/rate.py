"""How many calls a service of 10/s refuses, asked by two hosts with four workers each.

Run: `python benchmarks/rate.py [--checks 200] [--without]`

The service is a bucket of ten tokens that gets ten a second, and answers 429 where it is empty.
A call takes .3 s, so that eight workers could make 26 a second. The hosts are two processes that
share a ledger, as on two machines. Seconds are from the first call to the last.

Goals: at most 5 % refused; at least 9 answered a second.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any

import verifier_ladder as vl
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.engines.host import WorkerHost

LIMIT = 10.0
MOST_REFUSED, LEAST_ANSWERED = 0.05, 9.0
_CALL = 0.3


class Service(ThreadingHTTPServer):
    """A service that answers ten calls a second, and counts."""

    request_queue_size = 64

    def __init__(self) -> None:
        """Listen on loopback; the bucket is full."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = Lock()
        self.tokens, self.at = LIMIT, monotonic()
        self.answered: list[float] = []
        self.refused = 0

    def lets(self) -> bool:
        """Whether a call is within the limit."""
        with self.lock:
            now = monotonic()
            self.tokens = min(LIMIT, self.tokens + LIMIT * (now - self.at))
            self.at = now
            if self.tokens < 1.0:
                self.refused += 1
                return False
            self.tokens -= 1.0
            self.answered.append(now)
            return True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def do_POST(self) -> None:
        """Answer or refuse."""
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"verdicts": [1.0]}'
        if self.server.lets():
            sleep(_CALL)
            self.send_response(200)
        else:
            self.send_response(429)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""
        del args


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def guess(candidate: vl.Candidate) -> float:
    """Something to start from."""
    return float(len(candidate.content))


def judge(url: str, rate: str) -> vl.EndpointVerifier:
    """The service as a verifier that is asked about one candidate a call."""
    return vl.EndpointVerifier(
        name="judge", version="1", url=url, tier="simulation", batch_size=1, retries=20,
        rate=rate or None, timeout=120.0,
    )  # fmt: skip


def host(place: str, url: str, rate: str) -> None:
    """Be a host with four workers until the input ends."""
    from verifier_ladder.scheduler.engines.catalog import Catalog

    with open_ledger(place) as ledger:
        made = WorkerHost(ledger, workers=4, catalog=Catalog(ledger, offered=[judge(url, rate)]))
        made.wake()
        print("ready", flush=True)
        sys.stdin.read()
        made.close()


def measured(checks: int, rate: str) -> Service:
    """Have two hosts do so many checks."""
    service = Service()
    Thread(target=service.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{service.server_port}/verify"
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "ledger.db")
        ladder = vl.Ladder("rate", [guess, judge(url, rate)], policy="all_tiers")
        with vl.Campaign.open(
            "rate", ladder=ladder, ledger=place, run="r", workers=1, engine="workers"
        ) as campaign:
            hosts = [
                subprocess.Popen(
                    [sys.executable, str(Path(__file__).resolve()), "--host", place, url, rate],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                )
                for _ in range(2)
            ]  # fmt: skip
            for one in hosts:
                if one.stdout is not None:
                    one.stdout.readline()
            campaign.score([f"candidate {number}" for number in range(checks)])
            if not campaign.drain("600 s"):
                raise SystemExit("the checks did not end")
            for one in hosts:
                one.communicate(timeout=60)
    service.shutdown()
    return service


def main() -> None:
    """Print the share of refused calls, and how many were answered a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=200)
    parser.add_argument("--without", action="store_true", help="the same without a rate")
    parser.add_argument("--host", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.host:
        host(*options.host)
        return
    service = measured(options.checks, "" if options.without else "10/s")
    calls = len(service.answered) + service.refused
    share = service.refused / calls
    rate = (len(service.answered) - 1) / (service.answered[-1] - service.answered[0])
    is_met = share <= MOST_REFUSED and rate >= LEAST_ANSWERED
    print(
        f"{calls} calls, {service.refused} refused ({share:.1%}, goal at most "
        f"{MOST_REFUSED:.0%}), {rate:.2f} answered a second (goal at least {LEAST_ANSWERED:g}): "
        f"{'met' if is_met else 'missed'}"
    )


if __name__ == "__main__":
    main()
