import copy
import math
import pickle
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest

from evenhand.core.errors import InvalidInput, MissingExtra
from evenhand.environments import Lessons
from evenhand.environments.lessons import SUBJECTS
from evenhand.models import Ridge
from evenhand.objectives import AlphaFair, Concave, GeneralizedGini, Linear, WeightedSum
from evenhand.objectives.smoothing import moreau_gradient
from evenhand.policy.saving import fingerprint
from evenhand.recipes import fw_linucb
from evenhand.run import simulate
from tests.examples.objectives import roots

NAMES = ("a", "b", "c")
Z = 0.05 + 0.9 * np.random.default_rng(1).random((5, 3))
WEIGHTS = np.array([0.123456789012, 1.0, 0.5])

# A user's objective beside the one of ours that it is; kinks are away from Z.
PAIRS = {
    "sum": (lambda z: WEIGHTS @ z, Linear(dict(zip(NAMES, WEIGHTS, strict=True)))),
    "Nash welfare": (lambda z: cp.sum(cp.log(z)), AlphaFair(NAMES, 1.0)),
    "roots": (lambda z: cp.sum(cp.sqrt(z + 0.1)), AlphaFair.welfare(NAMES, 0.5, offset=0.1)),
    "Gini": (lambda z: 0.5 * cp.min(z) + 0.25 * cp.sum_smallest(z, 2) + 0.25 * cp.sum(z), GeneralizedGini(NAMES)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_it_is_the_objective_that_it_writes(name):
    build, ours = PAIRS[name]
    written = Concave(NAMES, build)
    np.testing.assert_allclose(written.value(Z), ours.value(Z), rtol=1e-12)
    np.testing.assert_allclose(written.supergradient(Z), ours.supergradient(Z), rtol=1e-4, atol=1e-5)
    for beta in (1e-5, 0.01, 1.0):
        ours_smoothed = moreau_gradient(ours, Z, beta)
        np.testing.assert_allclose(moreau_gradient(written, Z, beta), ours_smoothed, rtol=1e-4, atol=2e-5)


def test_the_prox_brings_averages_into_the_domain():
    nash = Concave(NAMES, PAIRS["Nash welfare"][0])
    z = np.array([-0.5, 0.0, 0.3])
    np.testing.assert_allclose(nash.prox(z, 0.1), AlphaFair(NAMES, 1.0).prox(z, 0.1), atol=1e-5)


def test_what_was_solved_before_leaves_no_trace():
    written = Concave(NAMES, roots)
    first = written.prox(Z, 0.01), written.supergradient(Z)
    written.prox(100.0 * Z, 7.0)
    written.supergradient(Z[::-1])
    for before, after in zip(first, (written.prox(Z, 0.01), written.supergradient(Z)), strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(first[0][3], Concave(NAMES, roots).prox(Z[3], 0.01))


def test_in_a_sum_it_is_a_part_like_any_other():
    both = WeightedSum(((2.0, Concave(("a", "b"), lambda z: cp.sum(cp.log(z)))), (1.0, Linear({"c": 1.0}))))
    ours = WeightedSum(((2.0, AlphaFair(("a", "b"), 1.0)), (1.0, Linear({"c": 1.0}))))
    np.testing.assert_allclose(moreau_gradient(both, Z, 0.1), moreau_gradient(ours, Z, 0.1), atol=1e-4)


def test_outside_the_domain_its_value_is_minus_infinity():
    assert Concave(NAMES, lambda z: cp.sum(cp.sqrt(z))).value(np.array([0.1, -0.1, 0.1])) == -math.inf
    assert Concave(NAMES, lambda z: cp.sum(cp.log(z))).value(np.array([0.1, 0.0, 0.1])) == -math.inf
    assert Concave(NAMES, lambda z: -cp.quad_over_lin(z[0], z[1])).value(np.array([0.1, -0.2, 0.1])) == -math.inf


@pytest.mark.parametrize("z", [[0.1, 0.0, 0.1], [0.1, -0.2, 0.1]])
@pytest.mark.parametrize("build", [lambda z: cp.sum(cp.sqrt(z)), lambda z: cp.sum(cp.log(z))], ids=["sqrt", "log"])
def test_an_average_that_is_not_inside_the_domain_is_refused_with_the_way_out(build, z):
    expected = (
        r"outcome 'b': expected an average inside the domain of Sum\(.*z.*: 0\.0 <= z, strictly; "
        r"add an offset to the variable, such as z \+ 0\.01"
    )
    with pytest.raises(InvalidInput, match=rf"^the average after round 4, {expected}, got {z[1]}$"):
        Concave(NAMES, build).check(np.array([Z[0], z]), "the average after round 4")
    with pytest.raises(InvalidInput, match=r"^Concave\.supergradient, outcome 'b'"):
        Concave(NAMES, build).supergradient(np.array(z))


@pytest.mark.parametrize(
    ("build", "z", "message"),
    [
        (lambda z: cp.sum(cp.log(z)), [-0.1, 0.5, -0.2], r"outcome 'c': expected an average .*, got -0\.2$"),
        (lambda z: cp.sum(cp.log(z)), [0.5, 0.0, 0.0], r"outcome 'b': expected an average .*, got 0\.0$"),
        (lambda z: cp.sum(z) + cp.log(1 - z[2]), [0.1, 0.2, 1.5], r"outcome 'c': expected an average .*, got 1\.5$"),
        (lambda z: -cp.quad_over_lin(z[0], z[1]), [0.1, -0.2, 0.1], r"outcome 'b': expected an average .*, got -0\.2$"),
        (lambda z: cp.sqrt(cp.min(z)), [0.1, -0.2, 0.1], r"outcome 'b': expected an average .*, got -0\.2$"),
        (lambda z: cp.log(cp.sqrt(z[1])), [0.1, -0.2, 0.1], r"outcome 'b': expected an average .*, got -0\.2$"),
        (lambda z: cp.log_det(cp.diag(z)), [0.1, 0.3, -0.2], r"outcome 'c': expected an average .*, got -0\.2$"),
        (lambda z: cp.log_det(cp.diag(z)), [0.1, 0.0, 0.2], r"outcome 'b': expected an average .*, got 0\.0$"),
        (
            lambda z: cp.log(z[0] + z[2]),
            [0.1, 0.5, -0.2],
            r"outcomes 'a', 'c': expected averages .*, got \{'a': 0\.1, 'c': -0\.2\}$",
        ),
    ],
)
def test_whoever_keeps_it_outside_is_named(build, z, message):
    with pytest.raises(InvalidInput, match=rf"^the average after round 4, {message}"):
        Concave(NAMES, build).check(np.array(z), "the average after round 4")


def test_where_a_part_is_zero_and_never_negative_there_is_no_edge():
    written = Concave(NAMES, lambda z: -cp.sum(cp.power(cp.pos(z - 0.5), 3)))
    z = np.array([0.2, 0.5, 0.9])
    written.check(z, "z")
    np.testing.assert_allclose(written.supergradient(z), [0.0, 0.0, -3 * 0.4**2], atol=1e-6)


def test_a_problem_that_cannot_be_solved_is_an_error_not_a_number():
    with pytest.raises(
        InvalidInput,
        match=r"^Concave\(Sum\(log.*\): expected a problem that the solver can solve, such as with .*, got",
    ):
        Concave(("a",), lambda z: cp.sum(cp.log(z)) - 1e200 * cp.sum(cp.power(z, 8))).prox(np.array([1e80]), 1e-30)


def test_two_of_them_are_told_apart_by_every_digit():
    marks = [
        fingerprint(Concave(NAMES, lambda z, w=w: w @ z))
        for w in (WEIGHTS, WEIGHTS.copy(), WEIGHTS + np.array([1e-12, 0, 0]), 2 * WEIGHTS)
    ]
    assert marks[0] == marks[1]
    assert len(set(marks)) == 3
    assert fingerprint(Concave(NAMES, roots)) != fingerprint(Concave(NAMES, roots, smooth=True))


def test_two_that_are_built_alike_are_equal_and_others_are_not():
    def bent(where):
        return lambda z: -cp.sum(cp.huber(z, where))

    one = Concave(NAMES, roots)
    assert one == Concave(NAMES, lambda z: roots(z))
    assert hash(one) == hash(Concave(NAMES, roots))
    others = [
        Concave(("a", "b", "d"), roots),
        Concave(NAMES, roots, smooth=True),
        Concave(NAMES, roots, lipschitz=9.0),
        *(Concave(NAMES, lambda z, w=w: w @ z) for w in (WEIGHTS, WEIGHTS + np.array([1e-12, 0, 0]))),
        *(Concave(NAMES, bent(where)) for where in (0.1, 0.1 + 1e-12)),
        *(Concave(NAMES, lambda z, p=p: cp.sum(cp.power(z, p))) for p in (0.5, 0.25)),
        *(Concave(NAMES, lambda z, k=k: cp.sum_smallest(z, k)) for k in (1, 2)),
        AlphaFair(NAMES, 1.0),
    ]
    for i, other in enumerate([one, *others]):
        assert [j for j, another in enumerate([one, *others]) if another == other] == [i]
    assert len({fingerprint(other) for other in [one, *others]}) == len(others) + 1


def test_a_problem_that_is_stated_twice_is_one_problem():
    def lessons():
        return Lessons(objective=Concave(SUBJECTS, lambda z: cp.sum(cp.log(z + 0.1))))

    assert lessons().problem == lessons().problem
    assert lessons() == lessons()


def test_a_function_without_a_name_cannot_go_to_another_process_and_says_so():
    expected = (
        r"^Concave\.build: expected a function of a module rather than a lambda, where runs are divided among "
        r"processes, got <function .*lambda"
    )
    lonely = Concave(NAMES, lambda z: cp.sum(z))
    for thing in (lonely, WeightedSum(((1.0, lonely),))):
        with pytest.raises(InvalidInput, match=expected):
            pickle.dumps(thing)
    assert copy.copy(lonely) is lonely  # within a process there is nothing to send
    assert copy.deepcopy(lonely) == lonely


@pytest.mark.slow
def test_a_run_in_two_processes_says_so_too():
    world = Lessons(objective=Concave(SUBJECTS, lambda z: cp.sum(cp.log(z + 0.1))), horizon=5, constrained=False)
    policy = fw_linucb(world.problem, Ridge(n_features=world.n_features, n_outcomes=4))
    with pytest.raises(InvalidInput, match=r"^Concave\.build: expected a function of a module rather than a lambda"):
        simulate(policy, world, replicas=2, jobs=2, progress=False)


@pytest.mark.slow
def test_another_process_has_the_same_mark_and_the_same_numbers():
    code = (
        "import cvxpy as cp, numpy as np\n"
        "for _ in range(17): cp.Variable(2)\n"  # numbers by which cvxpy knows its variables are others there
        "from tests.examples.objectives import roots\n"
        "from evenhand.objectives import Concave\n"
        "from evenhand.policy.saving import fingerprint\n"
        "f = Concave(('a', 'b', 'c'), roots)\n"
        "print(fingerprint(f), f.prox(np.array([0.1, 0.2, 0.3]), 0.1).tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    here = Concave(NAMES, roots)
    assert done.stdout.strip() == f"{fingerprint(here)} {here.prox(np.array([0.1, 0.2, 0.3]), 0.1).tolist()}"


def test_it_can_be_sent_to_another_process():
    here = Concave(NAMES, roots, smooth=True, lipschitz=3.0)
    here.prox(Z, 0.1)
    there = pickle.loads(pickle.dumps(here))
    assert (there.smooth, there.lipschitz, there.expression) == (True, 3.0, here.expression)
    np.testing.assert_array_equal(there.prox(Z, 0.1), here.prox(Z, 0.1))


def test_without_cvxpy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(MissingExtra, match=r"^objectives of your own need .*pip install 'evenhand\[convex\]'"):
        Concave(NAMES, roots)
