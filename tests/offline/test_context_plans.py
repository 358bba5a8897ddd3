"""Plans over contexts in arrays, data frames, Parquet files and partitions of Dask."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import evenhand as eh
from evenhand.core.errors import InfeasibleProblem
from evenhand.offline import plan
from evenhand.offline.contexts.plans import stated
from evenhand.offline.contexts.reading import added
from evenhand.offline.contexts.sources import source_of
from evenhand.offline.plans.allocation import Resource, allocate
from tests.offline.crowds import ALL, BUDGET, TIME, TOWNS, arrays, problem, table

COUNT = 70_000
KNOWN = np.array([0.0, 80.0, 200.0])


@pytest.fixture(scope="module")
def crowd():
    return arrays(COUNT)


@pytest.fixture
def dask():
    """Dask, which works in the process of the test."""
    found = pytest.importorskip("dask", reason="needs dask")
    pytest.importorskip("dask.dataframe", reason="needs dask")
    with found.config.set(scheduler="synchronous"):
        yield found


@pytest.fixture(scope="module")
def planned(crowd):
    return plan(ALL, crowd)


@pytest.fixture(scope="module")
def folder(crowd, tmp_path_factory):
    """Five files of several row groups each."""
    place, frame = tmp_path_factory.mktemp("crowd"), table(crowd)
    for i in range(5):
        part = pa.Table.from_pandas(frame.iloc[i * 14_000 : (i + 1) * 14_000], preserve_index=False)
        pq.write_table(part, place / f"{i}.parquet", row_group_size=5_000)
    return place


def same(one, other):
    assert one.value == pytest.approx(other.value, rel=2e-6)
    assert one.use == pytest.approx(other.use, rel=1e-3, abs=1e-2)
    assert one.contexts == other.contexts == COUNT


def test_the_plan_is_that_of_the_list(crowd, planned):
    resources = [
        Resource.budget(KNOWN[None], 30.0),
        Resource.budget(crowd["minutes"], 0.3),
        Resource.parity(KNOWN[None], crowd["town"], 2.0),
    ]
    best = allocate(crowd["sale"], resources, np.arange(COUNT))
    assert planned.gap <= 1e-6
    assert planned.value <= best.value * (1.0 + 1e-8)
    assert planned.value >= best.value * (1.0 - 1.1e-6)
    assert planned.bound >= best.value * (1.0 - 1e-8)
    assert len(planned.weights) <= len(planned.use) + 1 == 9
    assert planned.use.tolist()[:2] == pytest.approx([30.0, 0.3], rel=1e-9)
    assert (planned.use <= planned.limits * (1.0 + 1e-9)).all()


def test_lotteries_keep_to_the_limits(crowd, planned):
    chances = planned.lottery(crowd)
    assert chances.shape == (COUNT, 3)
    assert chances.sum(1) == pytest.approx(np.ones(COUNT))
    cents = chances @ KNOWN
    assert (chances * crowd["sale"]).sum(1).mean() == pytest.approx(planned.value, rel=1e-10)
    assert cents.mean() == pytest.approx(30.0, rel=1e-10)
    assert (chances * crowd["minutes"]).sum(1).mean() == pytest.approx(0.3, rel=1e-10)
    apart = [cents[crowd["town"] == g].mean() - cents.mean() for g in range(3)]
    assert max(np.abs(apart)) <= 2.0 + 1e-9
    assert ((chances > 0.0) & (chances < 1.0)).any(1).sum() < 0.01 * COUNT


def test_assigned_actions_exceed_limits_by_a_few_contexts(crowd, planned):
    for seed in range(5):
        actions = planned.assign(crowd, seed=seed)
        each = np.arange(COUNT)
        assert KNOWN[actions].sum() <= COUNT * 30.0 + 10 * 200.0
        assert crowd["minutes"][each, actions].sum() <= COUNT * 0.3 + 10 * crowd["minutes"].max()
        assert crowd["sale"][each, actions].mean() == pytest.approx(planned.value, rel=1e-3)
        assert (planned.lottery(crowd)[each, actions] > 0.0).all()
    assert (planned.assign(crowd, seed=1) == planned.assign(crowd, seed=1)).all()
    assert (planned.assign(crowd, seed=1) != planned.assign(crowd, seed=2)).any()


def test_draws_are_even_among_contexts_that_are_alike():
    alike = {"sale": np.tile([0.0, 0.2, 0.3], (10_000, 1))}
    found = plan(problem(BUDGET), alike)
    assert found.lottery(alike)[0] == pytest.approx([0.625, 0.375, 0.0])
    for seed in range(5):
        actions = found.assign(alike, seed=seed)
        assert abs((actions == 1).sum() - 3750) <= 3  # independent draws differ by some 50
        assert 0.3 < (actions[:1000] == 1).mean() < 0.45


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_parts_have_luck_of_their_own(size):
    """Within four standard errors of independent draws of whole parts, of which one may have one letter too many."""
    alike = {"sale": np.tile([0.0, 0.2, 0.0], (4000, 1))}
    found = plan(problem(BUDGET), alike)
    assert found.lottery(alike)[0] == pytest.approx([0.625, 0.375, 0.0])
    parts = [{"sale": alike["sale"][i : i + size]} for i in range(0, 4000, size)]
    letters = np.array([(found.assign(each, seed=3, part=i) == 1).sum() for i, each in enumerate(parts)])
    assert abs(letters.sum() - 1500) <= 4 * max(1.0, np.sqrt(len(parts)))
    assert np.abs(letters - 0.375 * size).max() <= 3
    with pytest.raises(eh.core.errors.InvalidInput, match=r"^part: expected a whole number of at least 0"):
        found.assign(alike, part=-1)


def test_tables_are_read_as_arrays_are(crowd, planned, folder):
    frame = table(crowd)
    for contexts in (frame, pa.Table.from_pandas(frame), folder, str(folder), pa.dataset.dataset(folder)):
        found = plan(ALL, contexts)
        same(found, planned)
        assert (found.assign(contexts) == found.assign(crowd)).all()
        assert (found.lottery(contexts) == found.lottery(crowd)).all()


def test_a_single_file_and_folders_that_name_groups(crowd, planned, folder, tmp_path):
    one, other = plan(ALL, folder / "0.parquet"), plan(ALL, {k: v[:14_000] for k, v in crowd.items()})
    assert one.value == pytest.approx(other.value, rel=2e-6)
    assert one.contexts == other.contexts == 14_000
    pa.dataset.write_dataset(
        pa.Table.from_pandas(table(crowd)), tmp_path / "towns", format="parquet",
        partitioning=["town"], partitioning_flavor="hive",
    )  # fmt: skip
    same(plan(ALL, tmp_path / "towns"), planned)


def test_groups_are_names_or_places(crowd, planned):
    texts = np.array(TOWNS)[crowd["town"]]
    for town in (texts, texts.astype(object), crowd["town"].astype(np.int8)):
        assert plan(ALL, crowd | {"town": town}).value == planned.value


def test_groups_whose_names_are_whole_numbers_are_read_by_name(crowd):
    """A table reads "1" as a number, which is the second place of all but the first name here."""
    stated = replace(ALL, groups=(eh.Groups("town", ("1", "0", "2")),))
    texts = plan(stated, crowd | {"town": np.array(["1", "0", "2"])[crowd["town"]]})
    numbers = plan(stated, crowd | {"town": np.array([1, 0, 2])[crowd["town"]]})
    assert numbers.value == texts.value
    assert numbers.use.tolist() == texts.use.tolist()
    with pytest.raises(eh.core.errors.InvalidInput, match="got 3"):
        plan(stated, crowd | {"town": crowd["town"] + 1})


def test_single_precision(crowd):
    single = {k: v.astype(np.float32) if k != "town" else v for k, v in crowd.items()}
    double = {k: v.astype(float) if k != "town" else v for k, v in single.items()}
    assert plan(ALL, single).value == plan(ALL, double).value


def test_blocks_and_files_on_the_disk_change_no_bit(crowd, planned, tmp_path, monkeypatch):
    mapped = {}
    for name, z in crowd.items():
        np.save(tmp_path / f"{name}.npy", z)
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    monkeypatch.setattr("evenhand.offline.contexts.sources.AT_ONCE", 1000)
    found = plan(ALL, mapped)
    assert found.value == planned.value
    assert (found.prices == planned.prices).all()
    assert (found.weights == planned.weights).all()


def test_known_outcomes_may_differ_by_context(crowd):
    cents = np.random.default_rng(3).uniform(0.5, 1.5, (COUNT, 3)) * KNOWN
    found = plan(ALL, crowd | {"cents": cents})
    chances = found.lottery(crowd | {"cents": cents})
    assert (chances * cents).sum(1).mean() == pytest.approx(30.0, rel=1e-9)
    same(plan(ALL, table(crowd | {"cents": cents})), found)


def test_floors_ratios_and_weighted_sums(crowd):
    floor = problem(
        eh.Floor("cents", rate=90.0), eh.Budget("cents", rate=100.0), eh.Ratio("minutes", over="sale", at_most=4.0)
    )
    found = plan(floor, crowd)
    chances = found.lottery(crowd)
    assert 90.0 * (1.0 - 1e-9) <= (chances @ KNOWN).mean() <= 100.0 * (1.0 + 1e-9)
    minutes, sale = ((chances * crowd[o]).sum(1).mean() for o in ("minutes", "sale"))
    assert minutes <= 4.0 * sale * (1.0 + 1e-9)
    weighed = plan(problem(maximize=eh.objectives.Linear({"sale": 1000.0, "cents": -1.0})), crowd)
    best = (1000.0 * crowd["sale"] - KNOWN).max(1).mean()
    assert weighed.value == pytest.approx(best, rel=1e-12)
    assert weighed.prices.shape == (1, 0)


def test_a_group_without_contexts_asks_for_nothing(crowd):
    two = {k: v[crowd["town"] < 2] for k, v in crowd.items()}
    found = plan(ALL, two)
    chances = found.lottery(two)
    cents = chances @ KNOWN
    assert abs(cents[two["town"] == 0].mean() - cents.mean()) <= 2.0 + 1e-9
    assert found.use[0] == pytest.approx(30.0, rel=1e-9)


def test_withdrawn_actions_are_not_played(crowd):
    stopped = eh.Problem(
        actions=ALL.actions, outcomes=ALL.outcomes, maximize="sale", groups=ALL.groups, subject_to=(BUDGET,),
        horizon=1000, withdrawn=("letter",),
    )  # fmt: skip
    without = {k: v[:, [0, 2]] if v.ndim == 2 else v for k, v in crowd.items()}
    found = plan(stopped, without)
    assert set(found.assign(without).tolist()) == {0, 2}
    assert found.lottery(without)[:, 1].tolist() == [0.0] * COUNT


def test_a_few_contexts_and_one():
    few = arrays(7, seed=2)
    found = plan(problem(BUDGET, TIME), few)
    assert found.gap <= 1e-6
    one = plan(problem(BUDGET), {"sale": np.array([[0.0, 0.3, 0.9]])})
    assert one.lottery({"sale": np.array([[0.0, 0.3, 0.9]])}) == pytest.approx(np.array([[0.85, 0.0, 0.15]]))


def test_units_change_nothing(crowd, planned):
    hours = eh.Problem(
        actions=ALL.actions,
        outcomes=(ALL.outcomes[0], eh.Outcome("cents", known={"letter": 8e5, "call": 2e6}), ALL.outcomes[2]),
        maximize="sale",
        groups=ALL.groups,
        subject_to=(eh.Budget("cents", rate=3e5), eh.Budget("minutes", rate=0.005), eh.Parity("cents", "town", 2e4)),
        horizon=1000,
    )
    found = plan(hours, crowd | {"minutes": crowd["minutes"] / 60.0})
    assert found.value == pytest.approx(planned.value, rel=1e-9)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask
def test_partitions_of_dask_and_files_have_the_same_bits(folder, planned, dask):
    frame = dask.dataframe.read_parquet(folder)
    found = plan(ALL, frame)
    assert (found.assign(frame) == found.assign(folder)).all()
    with dask.config.set(scheduler="threads", num_workers=3):
        other = plan(ALL, frame)
    assert found.value == other.value
    assert (found.prices == other.prices).all()
    assert (found.weights == other.weights).all()
    same(found, planned)


def spread(crowd, contexts):
    """Whether a sample is of all contexts: the first outcome tells them apart."""
    order = np.argsort(crowd["sale"][:, 1])
    source = source_of(contexts)
    found = source.sample(stated(ALL, source).reading, 2000, 0).outcomes[0, 1]
    at = order[np.searchsorted(crowd["sale"][order, 1], found)]
    assert len(set(at.tolist())) == 2000
    return at.min() < 0.1 * COUNT and at.max() > 0.9 * COUNT and np.histogram(at, 7)[0].min() > 100


def test_samples_are_spread_over_all_contexts(crowd, folder):
    for contexts in (crowd, table(crowd), folder):
        assert spread(crowd, contexts)


def test_samples_are_spread_over_all_partitions_of_dask(crowd, dask):
    assert spread(crowd, dask.dataframe.from_pandas(table(crowd), npartitions=3))


def test_empty_partitions_of_dask_leave_samples_whole(crowd, dask):
    """Of 40 partitions all contexts are in one, which is none of those that are tried first."""
    frame = table({k: v[:4000] for k, v in crowd.items()})
    empty = frame.iloc[:0]
    mixed = dask.dataframe.from_map(lambda i: frame if i == 1 else empty, range(40), meta=empty)
    source = source_of(mixed)
    assert len(source.sample(stated(ALL, source).reading, 2000, 0).cell) > 0
    assert plan(ALL, mixed).value == pytest.approx(plan(ALL, frame).value, rel=2e-6)


def test_sums_are_added_in_their_order():
    found = added(iter([(np.array([1e16]),), (np.array([1.0]),), (np.array([-1e16]),), (np.array([1.0]),)]))
    assert found[0].tolist() == [1.0]  # in other orders it is 0 or 2


def test_datasets_of_other_files_are_refused(crowd, tmp_path):
    pa.dataset.write_dataset(pa.Table.from_pandas(table(crowd)), tmp_path / "x", format="feather")
    with pytest.raises(eh.core.errors.InvalidInput, match="contexts: expected a dataset of Parquet files, got one of"):
        plan(ALL, pa.dataset.dataset(tmp_path / "x", format="feather"))


def test_limits_that_exclude_each_other_are_named(crowd):
    with pytest.raises(InfeasibleProblem, match=r"no plan keeps to these limits at once: minutes per round, cents per"):
        plan(problem(eh.Budget("minutes", rate=0.1), eh.Floor("cents", rate=150.0)), crowd)


WRONG = {
    "a missing outcome": (lambda c: {k: v for k, v in c.items() if k != "minutes"}, "what is predicted of 'minutes'"),
    "another number of actions": (
        lambda c: c | {"sale": c["sale"][:, :2]},
        "contexts: 'sale': expected an arr",
    ),
    "rows that differ": (lambda c: c | {"sale": c["sale"][:9]}, "a row per context each"),
    "a number that is none": (
        lambda c: c | {"sale": at(c["sale"], np.nan)},
        "row 60001: 'sale' of 'letter': exp",
    ),
    "an infinite number": (lambda c: c | {"minutes": at(c["minutes"], np.inf)}, "row 60001: 'minutes' of 'letter'"),
    "texts": (lambda c: c | {"sale": c["sale"].astype(str)}, "contexts: 'sale': expected numbers"),
    "no group": (lambda c: {k: v for k, v in c.items() if k != "town"}, "contexts: 'town': expected an array of shape"),
    "another group": (lambda c: c | {"town": at(c["town"], 3)}, "row 60001: 'town': expected one of the groups"),
    "a name of no group": (
        lambda c: c | {"town": np.array(["Bonn", "Rom"] * (COUNT // 2))},
        r"row \d+: 'town'.*got Rom",
    ),
    "no contexts": (lambda c: {k: v[:0] for k, v in c.items()}, "contexts: expected at least one"),
    "a number": (lambda c: 3, "contexts: expected arrays by name, a data frame"),
    "a column that is missing": (lambda c: table(c).drop(columns="sale_call"), "a column 'sale_call'"),
    "a hole in a column": (lambda c: table(c).assign(minutes_call=at(c["minutes"], np.nan)[:, 1]), "row 60001"),
    "a group that is missing": (lambda c: table(c).assign(town="Rom"), "row 1: 'town'.*got Rom"),
}


def at(values, wrong):
    found = values.copy()
    found[60_000, ...] = wrong if values.ndim == 1 else [0.0, wrong, 0.0]
    return found


@pytest.mark.parametrize("case", WRONG)
def test_contexts_that_cannot_be_used(case, crowd):
    make, phrase = WRONG[case]
    with pytest.raises(eh.core.errors.InvalidInput, match=phrase):
        plan(ALL, make(crowd))


def test_a_file_that_is_not_whole_and_a_bad_number_in_one(folder, crowd, tmp_path):
    (tmp_path / "x.parquet").write_bytes((folder / "0.parquet").read_bytes()[:1000])
    with pytest.raises(eh.core.errors.InvalidInput, match=r"x.parquet: expected a complete Parquet file"):
        plan(ALL, tmp_path / "x.parquet")
    frame = table(crowd)
    frame.loc[39_500, "sale_call"] = np.nan
    (tmp_path / "two").mkdir()
    for i in range(2):
        frame.iloc[i * 35_000 : (i + 1) * 35_000].to_parquet(tmp_path / "two" / f"{i}.parquet", row_group_size=1000)
    with pytest.raises(eh.core.errors.InvalidInput, match=r"1.parquet, row 4501: 'sale' of 'call'"):
        plan(ALL, tmp_path / "two")


def test_problems_that_are_no_linear_program(crowd):
    for wrong, phrase in (
        (problem(maximize=eh.objectives.AlphaFair(("sale", "minutes"), alpha=0.5)), "problem.maximize: expected"),
        (eh.Problem(actions=ALL.actions, outcomes=ALL.outcomes, maximize="sale", n_plays=2, horizon=9), "n_plays"),
        (problem(eh.Within(("sale", "minutes"), eh.sets.Ball((0.0, 0.0), 1.0))), "problem.subject_to"),
    ):
        with pytest.raises(eh.core.errors.InvalidInput, match=phrase):
            plan(wrong, crowd)


def test_a_plan_is_printed(planned):
    said = str(planned)
    assert "per context over 70,000 contexts; no plan exceeds" in said
    assert "cents per round" in said
    assert repr(planned).startswith(said.splitlines()[0])
    assert repr(planned).endswith("`print` shows all")


@pytest.mark.parametrize("gap", [0.0, 1.0, float("nan")])
def test_gaps_that_are_none(gap, crowd):
    with pytest.raises(eh.core.errors.InvalidInput, match="gap"):
        plan(ALL, crowd, gap=gap)
