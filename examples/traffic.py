"""Play a randomised log against a running server, as its clients would.

Serve what the first rows of the log teach, then play the rest:

    evenhand serve examples/email.toml --store sqlite:///email.db --learn-from first.csv
    python examples/traffic.py hillstrom.csv --problem examples/email.toml --skip 10000 --delay 1 --lost 0.05

Every row is a case. Where the answer is the action that the log has, the outcome is known and is sent. Where it is
another one, nobody knows what would have followed: the decision is cancelled, so that averages and the model leave it
out and hard budgets get back what it held. Which rows agree depends on the luck of the log alone (where its
probabilities differ, a coin leaves out some rows of the likelier actions), so that what remains is a fair sample of the
service's decisions, as in `evenhand replay`. Unlike there, a cancelled decision is still a round of the horizon.

Keys are the numbers of rows: what got no answer is asked again, and a log that was played in part can be played again.
"""

import argparse
import heapq
import json
import math
import os
import random
import sys
import threading
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from evenhand.core.errors import EvenhandError
from evenhand.core.progress import Work
from evenhand.logs.problem_file import read_spec
from evenhand.logs.reading import read_csv

TRIES = 9  # of a request, within about ten seconds


class Client(threading.Thread):
    """Plays its rows one after the other, each when it is due, and sends outcomes when they have come."""

    def __init__(self, options, rows, stop):
        super().__init__()
        self.options, self.rows, self.stop = options, rows, stop
        self.coming = []  # a heap of outcomes by the moment at which they come
        self.counts, self.refusals, self.seconds, self.error = Counter(), Counter(), [], None
        at, token = urlsplit(options.url), os.environ.get("EVENHAND_TOKEN")
        self.line = (HTTPSConnection if at.scheme == "https" else HTTPConnection)(at.netloc, timeout=30)
        self.headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})

    def run(self):
        try:
            for number, due, row in self.rows:
                self.wait(due)
                if self.stop.is_set():
                    return
                self.play(number, *row)
                self.counts["played"] += 1
            self.wait(max((moment for moment, *_ in self.coming), default=0.0))
        except (OSError, HTTPException) as error:
            self.error = error
            self.stop.set()
        finally:
            self.line.close()

    def wait(self, until):
        """Wait for a moment, which may be over, and send the outcomes that come before it or have come."""
        while self.coming and self.coming[0][0] <= max(until, time.monotonic()):
            moment, _, body = heapq.heappop(self.coming)
            if self.stop.wait(max(moment - time.monotonic(), 0)):
                return
            self.counts["observed"] += self.ask("/observe", body) is not None
        self.stop.wait(max(until - time.monotonic(), 0))

    def play(self, number, case, logged, outcomes, keep):
        """Ask for the decision of a row, and settle it."""
        luck = random.Random(f"{self.options.seed} {number}")  # of the row, whoever plays it
        said = self.ask("/decide", {"key": f"row-{number}", "case": case})
        if said is None or said["action"] is None:
            self.counts["refused" if said is None else "nothing played"] += 1
            return
        self.counts["decided"] += 1
        agreed = said["action"] == logged and luck.random() < keep
        self.counts["agreed" if agreed else "cancelled"] += 1
        if not agreed:
            self.ask("/cancel", {"id": said["id"]})
        elif luck.random() >= self.options.lost:
            moment = time.monotonic() - self.options.delay * math.log(1 - luck.random())  # exponential
            heapq.heappush(self.coming, (moment, number, {"id": said["id"], "outcomes": outcomes}))

    def ask(self, path, body):
        """The answer to a body, None where it is refused; what fails is asked again, and counts once."""
        for pause in [0.05 * 2**n for n in range(TRIES)]:
            began = time.perf_counter()
            try:
                self.line.request("POST", path, json.dumps(body), self.headers)
                answer = self.line.getresponse()
                status, text = answer.status, answer.read().decode(errors="replace")
            except (OSError, HTTPException) as error:
                self.line.close()
                status, text = 503, str(error)
            if status == 200:
                if path == "/decide":
                    self.seconds.append(time.perf_counter() - began)
                return json.loads(text)
            if status != 503:
                self.refusals[f"{path}: {status} {text[:200]}"] += 1
                return None
            self.stop.wait(pause * random.uniform(0.5, 1))
        raise OSError(f"no answer to {path} in {TRIES} tries: {text[:200]}")


def read(log, problem):
    """Cases, logged actions, their outcomes, and the probability with which a row that agrees is kept."""
    spec = read_spec(problem)
    read = read_csv(log, spec.places)
    text = {name: read.names(name).texts() for name in spec.places}
    names = dict.fromkeys([*spec.numeric, *spec.categorical, *(g.column for g in spec.groups.values())])
    p = [1.0] if isinstance(spec.propensity, float) else [float(z) for z in text[spec.propensity]]
    for i, logged in enumerate(text[spec.action]):
        case = {name: number(text[name][i]) if name in spec.numeric else text[name][i] for name in names}
        outcomes = {name: number(text[column][i]) for name, column in spec.columns.items()}
        yield case, spec.actions.get(logged), outcomes, min(p) / p[i % len(p)]


def number(text):
    """A number; what is none goes as it is to the server, which says what is wrong with it."""
    try:
        return float(text)
    except ValueError:
        return text


def report(clients, seconds):
    """Print what was done."""
    counts = sum((c.counts for c in clients), Counter())
    names = ("decided", "agreed", "cancelled", "observed", "nothing played", "refused")
    print(", ".join(f"{counts[name]:,} {name}" for name in names if counts[name] or name in names[:4]))
    waits = sorted(z for c in clients for z in c.seconds) or [0.0]
    half, most = (1000 * waits[int(q * (len(waits) - 1))] for q in (0.5, 0.99))
    print(f"{counts['played'] / seconds:,.0f} rows per second; latency {half:.1f} ms (p50), {most:.1f} ms (p99)")
    for text, count in sum((c.refusals for c in clients), Counter()).most_common(3):
        print(f"{count:,} times {text}", file=sys.stderr)


def asked(arguments):
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("log", type=Path, metavar="LOG.csv")
    add("--problem", type=Path, required=True, metavar="PROBLEM.toml", help="that is served")
    add("--url", default="http://127.0.0.1:8000", help="of the server (default: %(default)s)")
    add("--skip", type=int, default=0, metavar="N", help="rows at the start, such as those learned from")
    add("--rows", type=int, default=None, metavar="N", help="how many to play (default: all)")
    add("--rate", type=float, default=math.inf, metavar="PER_SECOND", help="(default: as fast as can be)")
    add("--clients", type=int, default=1, metavar="K", help="that ask at the same time (default: 1)")
    add("--delay", type=float, default=0.0, metavar="SECONDS", help="until an outcome comes, on average (default: 0)")
    add("--lost", type=float, default=0.0, metavar="P", help="the fraction of outcomes that never come (default: 0)")
    add("--seed", type=int, default=0, metavar="S", help="of delays and losses (default: 0)")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Play; returns the exit status."""
    options = asked(arguments)
    if options.clients < 1 or not options.rate > 0:
        sys.exit("traffic: expected at least one client, and a rate above 0")
    try:
        rows = list(enumerate(read(options.log, options.problem)))[options.skip :][: options.rows]
    except (EvenhandError, ValueError) as error:
        sys.exit(f"traffic: {error}")
    began, stop = time.monotonic(), threading.Event()
    plan = [(number, began + n / options.rate, row) for n, (number, row) in enumerate(rows)]
    clients = [Client(options, plan[k :: options.clients], stop) for k in range(options.clients)]
    try:
        with Work("playing", "row", len(plan)) as work:
            for client in clients:
                client.start()
            while any(client.is_alive() for client in clients):
                time.sleep(0.02)
                work.update(sum(client.counts["played"] for client in clients) - work.done)
    except KeyboardInterrupt:
        stop.set()
        print("stopped; this was done:")
    for client in clients:
        client.join()
    report(clients, time.monotonic() - began)
    errors = [client.error for client in clients if client.error]
    for error in errors[:1]:
        print(f"traffic: {error}", file=sys.stderr)
    return 1 if errors or any(client.refusals for client in clients) else 0


if __name__ == "__main__":
    sys.exit(main())
