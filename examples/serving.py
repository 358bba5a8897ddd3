"""A service that survives any crash: a log of what came, and snapshots, so that little is read again.

A policy's actions follow from its seed, its cases and its outcomes alone. So a log of cases and outcomes in their order
is enough to come back to the same state, and with it to the same actions.
"""

import json
import os
import random
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import evenhand as eh

problem = eh.Problem(
    actions=("wait", "call", "visit"),
    features=(eh.Numeric("urgency", 0, 1), eh.Categorical("channel", ("web", "phone"))),
    outcomes=(eh.Outcome("solved"), eh.Outcome("hours", known={"call": 0.5, "visit": 2})),
    maximize="solved",
    subject_to=(eh.Budget("hours", total=60),),
    horizon=500,
)
policy = eh.resolving(problem, eh.BayesianRidge(n_features=3 * problem.n_features))


def read(log: Path) -> list[str]:
    """The events of a log; what a crash left of a last one was told to nobody, and is cut off."""
    if not log.exists():
        return []
    whole = log.read_bytes()
    whole = whole[: whole.rfind(b"\n") + 1]
    os.truncate(log, len(whole))
    return whole.decode().splitlines()


class Service:
    """Decides and observes; every event is on disk before anybody is told."""

    def __init__(self, folder: Path) -> None:
        """Go on from the last snapshot, and from what the log has after it."""
        snapshots = sorted(folder.glob("snapshot-*"))
        self.folder, self.cases, self.waiting = folder, 0, {}
        events = read(folder / "log")
        done = int(snapshots[-1].name.removeprefix("snapshot-")) if snapshots else 0
        self.state = policy.load(snapshots[-1] / "state.npz") if snapshots else policy.start(seed=1)
        for path in snapshots[-1].glob("waiting-*.npz") if snapshots else ():
            self.waiting[int(path.stem.removeprefix("waiting-"))] = policy.load_decision(path)
        self.cases = sum("case" in json.loads(event) for event in events[:done])
        for event in events[done:]:
            self.take_in(json.loads(event))
        self.events, self.log = len(events), (folder / "log").open("a")

    def decide(self, case: dict) -> tuple[int, str | None]:
        """The number of the decision, by which its outcome is stated, and the action."""
        return self.write({"case": case})

    def observe(self, number: int, outcomes: dict) -> None:
        """Take in the outcomes of a decision."""
        self.write({"of": number, "outcomes": outcomes})

    def take_in(self, event: dict) -> tuple[int, str | None]:
        """One event, now or as it is read from the log."""
        if "of" in event:
            policy.observe(self.state, self.waiting[event["of"]], event["outcomes"])
            return event["of"], self.waiting.pop(event["of"]).action
        decision = policy.act(self.state, policy.encode(event["case"]))
        self.cases += 1
        if decision.action is not None:  # else there is nothing to observe
            self.waiting[self.cases] = decision
        return self.cases, decision.action

    def write(self, event: dict) -> tuple[int, str | None]:
        """Take an event in, then write it: what is refused is in no log. If writing fails, stop and start again."""
        found = self.take_in(event)
        self.log.write(json.dumps(event) + "\n")
        self.log.flush()
        os.fsync(self.log.fileno())
        self.events += 1
        return found

    def snapshot(self) -> None:
        """State and waiting decisions, in a folder that gets its name once it is whole."""
        part = self.folder / "part"
        shutil.rmtree(part, ignore_errors=True)  # of a crash
        part.mkdir()
        policy.save(self.state, part / "state.npz")
        for number, decision in self.waiting.items():
            policy.save_decision(decision, part / f"waiting-{number}.npz")
        if not (self.folder / f"snapshot-{self.events:09d}").exists():
            part.rename(self.folder / f"snapshot-{self.events:09d}")


def serve(folder: Path, until: int) -> None:
    """Requests that depend on their number alone, so that a crash can be compared with a run without one."""
    service = Service(folder)
    while service.cases < until:
        if len(service.waiting) > 5:
            oldest = min(service.waiting)
            service.observe(oldest, {"solved": float(random.Random(-oldest).random() < 0.4)})
            continue
        luck = random.Random(service.cases)
        number, action = service.decide({"urgency": luck.random(), "channel": luck.choice(["web", "phone"])})
        print(number, action, flush=True)
        if number % 100 == 0:
            service.snapshot()
    print(policy.status(service.state))
    service.log.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        with TemporaryDirectory() as name:
            serve(Path(name), 250)
