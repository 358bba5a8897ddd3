"""What the demonstration says it showed, from results that are known."""

from dataclasses import replace

from evenhand.cli import main
from evenhand.environments import Court
from evenhand.experiments import find
from evenhand.experiments.demo import findings
from evenhand.recipes import uniform
from evenhand.report.results import Measurement, Results
from evenhand.run import simulate


def results(over):
    rewards = {"uniform": 0.40, "pgd": 0.44, "resolving": 0.49, "OPT": 0.50}
    rows = [Measurement(name, {}, "reward", mean) for name, mean in rewards.items()]
    rows += [Measurement(name, {}, findings.OVERSPENT, mean) for name, mean in over.items()]
    return Results("demo", {"replicas": 20}, rows)


def test_the_sentences_state_the_gain_and_who_overspent():
    first, second = findings.sentences(results({"uniform": 0.0, "pgd": 0.3, "resolving": 0.0})).split("\n")
    assert "49.0% of the people appear under `resolving` and 40.0%" in first
    assert "90% of the gain of the best policy" in first  # (0.49 - 0.40) / (0.50 - 0.40)
    assert second == "`resolving` never spends more than there is, while `pgd` does in 6 of 20 runs."
    assert findings.sentences(results({"resolving": 0.0})).endswith("`resolving` never spends more than there is.")


def test_a_replica_overspends_if_it_exceeds_any_budget():
    court = Court(horizon=300)
    trace = simulate(uniform(court.problem, 5), court, replicas=3, progress=False)
    assert findings.overspent(trace) == [False] * 3
    used = [trace.total(b.outcome) for b in court.problem.spending]
    rides, vouchers = (sorted(z)[1] for z in used)
    small = replace(court, ride=float(rides) / 300, voucher=1.0).problem
    assert findings.overspent(replace(trace, problem=small)) == list(used[0] > rides + 1e-6)
    small = replace(court, ride=1.0, voucher=float(vouchers) / 300).problem
    assert findings.overspent(replace(trace, problem=small)) == list(used[1] > vouchers + 1e-6)


def test_the_time_is_told_for_the_run_that_was_timed():
    from evenhand.experiments.demo.study import TIME, Comparison
    from evenhand.experiments.experiment import Session

    def title(**settings):
        return Comparison(settings=find("demo")(**settings), session=Session(False, lambda: False)).title

    assert f"20 replicas, seed 3{TIME}.\n" in title(seed=3)
    assert TIME not in title(replicas=11)


def test_the_demo_writes_into_a_folder_of_its_own_unless_one_is_stated(monkeypatch, capsys):
    asked = []

    def ran(experiment, *, out, resume, log):
        asked.append(str(out))
        return results({"resolving": 0.0})

    monkeypatch.setattr("evenhand.experiments.loop.run", ran)
    for options in ([], ["--out", "other"]):
        assert main(["demo", *options]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == f"picture: {asked[-1]}/demo.png"
    assert asked == ["evenhand-demo", "other"]
