"""What folds move of each other's plans, against models of rows and plans of every pair of folds, one by one."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.objectives import AlphaFair
from evenhand.offline import Frontier, RidgeByErrors, value
from evenhand.offline.curve_policies import planned
from evenhand.offline.estimators.snips import normalised
from evenhand.offline.evidence import Tables
from evenhand.offline.outcome_models import Asked, Sums, by_sums, fold_models, predicted
from evenhand.offline.plans.fold_plans import Crossed, Fold, best, even
from evenhand.offline.plans.frontier import _order
from evenhand.offline.plans.objectives import Aim
from evenhand.offline.plans.planned_policies import moves
from evenhand.offline.scores import Estimate
from evenhand.problem import Outcome
from tests.offline import use_coverage
from tests.offline.folds import folds_of
from tests.offline.logs import draw, problem
from tests.offline.test_delta import drawn

FOLDS, SEED = 4, 2
BUDGETS = (0.1, 0.35, 0.36, 0.9)


class ByRows:
    """The same ridge regression, which shows nothing but its rows."""

    def fit(self, x, y):
        self.model = RidgeByErrors().fit(x, y)
        return self

    def predict(self, x):
        return self.model.predict(x)


def apart(log, j, k):
    """Tables of fold j by models of all folds but j and k, fitted to their rows."""
    p, fold, rows = log.problem, folds_of(log.rows, FOLDS, SEED), Crossed(log, FOLDS, SEED).rows.members[j]
    known = log.known[rows] if len(log.known) > 1 else log.known
    found = {name: Tables(known[:, :, m], known[:, :, m]) for m, name in enumerate(p.known)}
    for m, name in enumerate(p.learned):
        q = np.zeros((len(rows), len(p.actions)))
        for a in np.flatnonzero(~p.free[:, m]):
            seen = ~np.isin(fold, (j, k)) & (log.actions == a)
            q[:, a] = RidgeByErrors().fit(log.features[seen], log.outcomes[seen, m]).predict(log.features[rows])
        found[name] = Tables(*[np.where(p.free[:, m], 0.0, q.clip(p.low[m], p.high[m]))] * 2)
    return found


def by_hand(log, planner, outcome, tables):
    """Totals of tables, `(B,M,K,K)`: each row is looked up in each plan."""
    crossed = Crossed(log, FOLDS, SEED)
    members, pieces = crossed.rows.members, []
    for j, rows in enumerate(members):
        for k in range(FOLDS):
            known = apart(log, j, k)
            plans = planner(Fold(Aim.of(log, known, len(rows)), known[outcome].predicted, known, rows))
            pieces.append([[plan.of(t if len(t) == 1 else t[rows]).sum() for t in tables] for plan in plans])
    return np.moveaxis(np.array(pieces), 0, 2).reshape(-1, len(tables), FOLDS, FOLDS)


LOG = draw(1200, 8).evidence
NASH = drawn(AlphaFair(("sale", "visit"), alpha=1.0))[0]
CASES = {
    "known costs": (LOG, "cents", best(BUDGETS)),
    "evenly": (LOG, "cents", even(BUDGETS, LOG.groups["area"], 0.02)),
    "learned costs": (use_coverage.drawn(1200, 3), "call", best((0.05, 0.1, 0.3))),
    "welfare": (NASH, "cents", best((0.3, 0.8))),
}


@pytest.mark.parametrize("case", CASES)
def test_totals_of_pairs_are_those_of_plans_one_by_one(case):
    log, outcome, planner = CASES[case]
    crossed = Crossed(log, FOLDS, SEED)
    tables = [table.scores for table in crossed.aim.tables] + [crossed.tables[outcome].scores]
    plans = crossed.plans(planner, outcome, [crossed.rows.dealt(table) for table in tables])
    found = np.array([each.totals for each in plans])
    expected = by_hand(log, planner, outcome, tables)
    assert found == pytest.approx(expected, rel=1e-9 if case != "welfare" else 1e-5, abs=1e-9)
    assert len(np.unique(found[0, 0])) > FOLDS  # another fold less is another plan
    if case != "welfare":  # whose plans are mixtures, the best ones to 1e-7
        d = moves(found, log.rows)
        assert d == pytest.approx(moves(expected, log.rows), rel=1e-9, abs=1e-13)
        assert np.array_equal([at.moves for at in planned(crossed, planner, outcome)], d[:, 0])


def test_plans_that_are_the_same_move_nothing():
    """Totals that differ by rounding are the same, in any unit; what is small beside them is not."""
    same = np.array([[3.0, 0.1 + 0.2, 0.3], [2.0, 2.0 + 1e-15, 2.0], [1.0, 1.0 + 1e-9, 1.0]])
    expected = np.array([[0.0, 2.7, 2.7], [0.0, 0.0, 0.0], [0.0, -1e-9, 0.0]]) / 10
    for unit in (1.0, 1e-12, 1e12):
        found = moves(np.stack([unit * same, np.zeros((3, 3))]), 10)
        assert found[0] == pytest.approx(unit * expected, rel=1e-5, abs=0.0)
        assert not found[1].any()


def test_a_line_has_its_rows_one_fold_after_the_other():
    crossed = Crossed(LOG, FOLDS, SEED)
    cost, order = crossed.tables["cents"], crossed.rows.order
    for at, own in zip(planned(crossed, best(BUDGETS), "cents"), crossed.own(best(BUDGETS), "cents"), strict=True):
        plain = crossed.aim.at(own, cost)
        assert at.psi == pytest.approx(plain.psi[order], abs=1e-12)
        assert (at.value, at.spent, at.price) == pytest.approx((plain.value, plain.spent, plain.price), rel=1e-12)


def test_errors_by_weights_have_what_folds_move_of_the_weights():
    grown = {"ips": 0, "snips": 0, "sndr": 0}  # logs in which the folds have something in common
    for seed in range(4):
        log = draw(900, seed).evidence
        found = value(log, folds=FOLDS, seed=SEED, estimators=["sndr"])
        targeted = next(p for p in found.policies if p.policy.startswith("targeted"))
        played, y, w = log.actions, log.outcomes[:, 0], np.zeros((FOLDS, FOLDS, log.rows))
        sale, scored = Crossed(log, FOLDS, SEED).tables["sale"], np.zeros_like(w)
        for j, rows in enumerate(Crossed(log, FOLDS, SEED).rows.members):
            for k in range(FOLDS):
                known = apart(log, j, k)
                (plan,) = best([0.4])(Fold(Aim.of(log, known, len(rows)), known["cents"].predicted, known, rows))
                scored[j, k, rows] = (plan.probabilities(3) * sale.scores[rows]).sum(1)
                w[j, k, rows] = plan.probabilities(3)[np.arange(len(rows)), played[rows]] / log.propensities[rows]
        own = np.einsum("jji->i", w)
        one = normalised(own, y)
        missed = y - sale.predicted[np.arange(log.rows), played]
        off = float(own @ missed / own.sum())  # by which the model is
        model = np.einsum("jji->i", scored) - own * missed
        for name, each, psi in (
            ("ips", y, own * y - (own * y).mean()),
            ("sndr", -off, model - model.mean() + own * (missed - off) / own.mean()),
            ("snips", (y - one.value) / own.mean(), one.psi),
        ):
            terms = w * each + (scored if name == "sndr" else 0.0)
            d = np.array([[(terms[j, j] - terms[j, k]).sum() for k in range(FOLDS)] for j in range(FOLDS)]) / log.rows
            expected = Estimate.of(psi, 0.0, d).se
            grown[name] += expected > 1.001 * Estimate.of(psi, 0.0).se
            assert targeted.by[name].se == pytest.approx(expected, rel=1e-9)
    assert min(grown.values()) > 0


def test_models_by_sums_are_those_of_rows():
    """Of features far from 0, of which one is always the same, and an action that a fold lacks."""
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(400), 1e6 + rng.standard_normal(400), rng.standard_normal(400), np.full(400, -0.176)])
    actions, y = rng.integers(0, 3, 400), x[:, 2] + rng.standard_normal(400)
    members = tuple(np.arange(400)[k::4] for k in range(4))
    actions[members[1]] = np.minimum(actions[members[1]], 1)
    sums, rows = (fold_models(Asked(x, actions, y, members, m, np.array([2, 0]))) for m in (RidgeByErrors, ByRows))
    assert type(sums) is not type(rows)
    for j in range(4):
        assert sums.of(j) == pytest.approx(rows.of(j), rel=1e-7, abs=1e-9)
        for k in range(4):
            if k != j:
                assert sums.of(j, k) == pytest.approx(rows.of(j, k), rel=1e-7, abs=1e-9)
                assert not np.allclose(sums.of(j, k), sums.of(j), rtol=1e-4)


@pytest.mark.parametrize("constant", [-0.176, 0.1, 1 / 3, 0.7])
@pytest.mark.parametrize("model", [RidgeByErrors, ByRows])
def test_a_feature_that_is_always_the_same_explains_nothing(model, constant):
    """Its means by fold are the same to the last bit, as rounding would be divided by itself."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x, y = np.column_stack([np.ones(150), np.full(150, constant)]), rng.standard_normal(150)
        actions, members = rng.integers(0, 2, 150), tuple(np.arange(150)[k::5] for k in range(5))
        models = fold_models(Asked(x, actions, y, members, model, np.arange(2)))
        for j in range(5):
            outside = np.arange(150) % 5 != j
            means = [y[outside & (actions == a)].mean() for a in range(2)]
            assert models.of(j) == pytest.approx(np.tile(means, (30, 1)), abs=1e-12)


def test_a_feature_that_is_rare_moves_no_value():
    """It is the same in all rows of some action; every policy brings 10 on average."""
    p = problem(outcomes=(Outcome("sale", low=0.0, high=1000.0), LOG.problem.outcomes[1]))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rare = (rng.random(150) < 0.03).astype(float)
        x = np.column_stack([np.ones(150), (rare - rare.mean()) / rare.std()])
        actions = rng.integers(0, 3, 150)
        log = replace(
            draw(150, seed, stated=p).evidence,
            features=x,
            actions=actions,
            outcomes=10.0 + rng.standard_normal((150, 1)),
        )
        found = value(log, seed=seed).policies
        assert [one.value.value for one in found] == pytest.approx([10.0] * len(found), abs=1.0)
        assert [one.by["direct_method"].value for one in found] == pytest.approx([10.0] * len(found), abs=1.0)


@pytest.mark.parametrize("rows", [30, 60])
def test_units_change_no_value_where_there_are_as_many_features_as_rows(rows):
    """Of two actions and 30 features: about half as many rows of an action, or as many."""

    def drawn_in(unit, seed):
        rng = np.random.default_rng(seed)
        x, actions = rng.standard_normal((rows, 30)), rng.integers(0, 2, rows)
        y = (x[:, 0] + actions + rng.standard_normal(rows)) * unit
        p = problem(
            actions=("none", "small"),
            outcomes=(Outcome("sale", low=-100.0 * unit, high=100.0 * unit), Outcome("cents", known={"small": 1.0})),
        )
        return replace(
            draw(rows, seed).evidence,
            problem=p,
            features=np.column_stack([np.ones(rows), x]),
            actions=actions,
            propensities=np.full(rows, 0.5),
            outcomes=y[:, None],
            known=p.declared[None],
        )

    for seed in range(6):
        one, other = (value(drawn_in(unit, seed), seed=seed).policies for unit in (1.0, 3.0))
        for a, b in zip(one, other, strict=True):
            assert (b.value.value / 3.0, b.value.se / 3.0) == pytest.approx(a.value.pair, rel=1e-6)


class AtLeast(RidgeByErrors):
    """Predicts no less than 0."""

    def predict(self, x):
        return np.maximum(super().predict(x), 0.0)


class OfLogarithms(RidgeByErrors):
    """Is fitted to logarithms, and predicts by their inverse."""

    def fit(self, x, y):
        return super().fit(x, np.log1p(y))

    def predict(self, x):
        return np.expm1(super().predict(x))


class Shifted(RidgeByErrors):
    """Is fitted to something else."""

    def fit(self, x, y):
        return super().fit(x, y + 1.0)


class Renamed(RidgeByErrors):
    """The same regression by another name."""


@pytest.mark.parametrize("model", [AtLeast, OfLogarithms, Shifted, Renamed])
def test_subclasses_of_the_ridge_are_fitted_and_predict_in_their_own_way(model):
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(120), rng.standard_normal(120)])
    y, members = np.exp(x[:, 1] + 0.3 * rng.standard_normal(120)), tuple(np.arange(120)[k::4] for k in range(4))
    models = fold_models(Asked(x, np.zeros(120, int), y, members, model, np.arange(1)))
    for j in range(4):
        outside = np.arange(120) % 4 != j
        own = model().fit(x[outside], y[outside]).predict(x[members[j]])
        assert models.of(j)[:, 0] == pytest.approx(own, rel=1e-9)
    assert by_sums(model()) == (model is Renamed)


@pytest.mark.parametrize("model", [RidgeByErrors, ByRows])
def test_actions_that_two_folds_less_leave_hardly_any_rows_have_0(model):
    actions = np.array([0, 0, 1, 0, 0, 1, 0, 0, 1])
    members, y = tuple(np.arange(3) + 3 * k for k in range(3)), np.arange(9.0)
    models = fold_models(Asked(np.ones((9, 1)), actions, y, members, model, np.arange(2)))
    assert models.of(0, 1) == pytest.approx(np.tile([6.5, 0.0], (3, 1)))
    assert models.of(0) == pytest.approx(np.tile([5.0, 6.5], (3, 1)))


def test_sums_of_parts_are_those_of_all_rows():
    rng = np.random.default_rng(5)
    x, y = np.column_stack([np.ones(90), 1e8 + rng.standard_normal((90, 2))]), 1e7 + rng.standard_normal(90)
    whole, parts = Sums.of(x, y), Sums.together([Sums.of(x[a:b], y[a:b]) for a, b in ((0, 1), (1, 50), (50, 90))])
    assert parts.rows == whole.rows
    for name in ("mean", "level", "squares", "products", "square"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-6), name


@pytest.mark.parametrize("constant", [-0.176, 0.1, 1 / 3, 0.7])
def test_sums_of_a_feature_that_is_always_the_same_are_exactly_0(constant):
    y = np.random.default_rng(6).standard_normal(90)
    x = np.column_stack([np.ones(90), np.full(90, constant)])
    for a, b in ((1, 50), (7, 31), (29, 60), (30, 61)):
        parts = [Sums.of(x[i:j], y[i:j]) for i, j in ((0, a), (a, b), (b, 90))]
        for one in (*parts, Sums.together(parts)):
            assert (one.mean.tolist(), one.squares.tolist(), one.products.tolist()) == ([constant], [[0.0]], [0.0])


def test_rows_that_are_alike_are_predicted_alike_to_the_last_bit():
    log = draw(3000, 1).evidence
    x = np.column_stack([np.ones(3000), np.sign(log.features[:, 1:])])
    members = tuple(np.arange(3000)[k::3] for k in range(3))
    models = fold_models(Asked(x, log.actions, log.outcomes[:, 0], members, RidgeByErrors, np.arange(3)))
    for j in range(3):
        assert len(np.unique(models.of(j), axis=0)) == len(np.unique(x[members[j]], axis=0)) == 16


@pytest.mark.parametrize("kinds", [1, 3, 40, 10**9])
def test_equal_prices_stay_in_their_order(kinds):
    prices = np.random.default_rng(kinds).integers(0, kinds, 3000) / 7.0
    assert _order(prices).tolist() == np.argsort(prices, kind="stable").tolist()


@pytest.mark.parametrize("shared", [True, False])
def test_totals_along_a_frontier_are_those_of_rows(shared):
    rng = np.random.default_rng(6)
    worth, table = rng.standard_normal((2, 300, 4))
    cost = rng.random((1 if shared else 300, 4))
    frontier = Frontier.of(worth, cost)
    budgets = np.linspace(frontier.least, frontier.spend[-1], 30)
    stops = [*frontier.along(budgets), *(frontier.beyond(b) for b in budgets[::-1])]
    assert any(stop.share > 0.0 for stop in stops)
    for stop in stops:
        for some in (table, worth, cost):
            assert stop.total(some) == pytest.approx(stop.of(some).sum(), rel=1e-12, abs=1e-12)


def test_predictions_of_pairs_are_checked():
    class Endless(ByRows):
        def predict(self, x):
            return np.full(len(x), np.inf)

    with pytest.raises(ValueError, match="model: expected a finite prediction"):
        Crossed(LOG, FOLDS, SEED, Endless).tables  # noqa: B018
    assert np.isfinite(predicted(ByRows, LOG.features, LOG.outcomes[:, 0], LOG.features[:1])).all()
