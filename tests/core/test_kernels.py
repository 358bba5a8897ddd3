"""Kernels run interpreted until compiling pays, with the same bits either way."""

import math
import os
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from evenhand.core import kernel as ways
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import Kernel, Outlook, code_of, in_python, inlined, kernel, kernels
from evenhand.core.machine_code import Code

ROOT = Path(__file__).parents[2]


@kernel
def strange(x, step, n):
    x[0] += 1.0
    x[1] = 1.0 / step
    x[2] = step / step
    x[3] = math.log(step) + math.log1p(step - 1.0)
    x[4] = math.sqrt(step - 1.0)
    x[5] = math.exp(1e3 + step) * math.expm1(1e3 + step)
    x[6] = float(n) / step
    x[7] = math.cos(1e308 * 1e308 + step)
    x[8] = (1e300 + step) ** 2.0
    return step / (step * 2.0)


def both(function, *arguments):
    """What a kernel makes of arrays, interpreted and compiled."""
    found = []
    for run in (function, code_of(function)):
        own = [z.copy() if isinstance(z, np.ndarray) else z for z in arguments]
        found.append((run(*own), own))
    return found


def test_infinities_and_nan_are_those_of_compiled_code_and_arrays_were_put_back():
    with kernels("interpreted"):
        (value, (x, *_)), (compiled, (y, *_)) = both(strange, np.zeros(9), 0.0, 3)
    np.testing.assert_array_equal(x, y)
    assert x[0] == 1.0  # and not 2, though the call was begun twice
    assert math.isnan(value) == math.isnan(compiled)
    assert np.isinf(x[[1, 3, 5, 6, 8]]).all()
    assert np.isnan(x[[2, 4, 7]]).all()


@kernel
def whole(x, n):
    x[0] += 1
    return 1 // n


@pytest.fixture
def new():
    """A kernel that nobody called yet, with the body of another one."""
    return lambda function: Kernel(function.py_func, "never")


def test_what_python_cannot_do_is_compiled_in_auto_and_an_error_otherwise(new):
    own, other = new(whole), np.zeros(1)
    with kernels("interpreted"), pytest.raises(ZeroDivisionError):
        own(other, 0)
    assert other[0] == 0.0  # put back
    with kernels("auto"):
        own(other, 0)
    assert other[0] == 1.0
    assert own.calls_code


@kernel
def interrupted(x, stop):
    x[0] += 1.0
    stop()
    return x[0]


def test_ctrl_c_leaves_arrays_as_they_were():
    def stop():
        raise KeyboardInterrupt

    x = np.zeros(1)
    with kernels("interpreted"), pytest.raises(KeyboardInterrupt):
        interrupted(x, stop)
    assert x[0] == 0.0


@inlined
def _wraps(x, y):
    return x * y


@in_python(_wraps)
def _wraps_in_python(x, y):
    number = int(x) * int(y) & 2**64 - 1
    return number - 2**64 if number >= 2**63 else number


@kernel
def mixed(x, records, names):
    total = 0
    for i in range(len(x)):
        total = _wraps(total + int(x[i]), 6364136223846793005)
        total += records[i].count
    return total, total > 0, names[0][0], 0


mixed.py_func.__annotations__["return"] = "tuple[int, bool, float, float]"


def test_wrapped_numbers_records_and_tuples_come_out_as_of_compiled_code():
    records = np.array([(i, 0.5) for i in range(5)], [("count", np.int64), ("share", np.float64)])
    names = (np.arange(2.0), 1.0)
    with kernels("interpreted"):
        (value, _), (compiled, _) = both(mixed, np.arange(5.0), records, names)
    assert value[:3] == compiled[:3]
    assert [type(z) for z in value] == [int, bool, float, float]


def takes(monkeypatch, seconds):
    """Let every call of a kernel take so long."""
    monkeypatch.setattr(ways.time, "thread_time", (seconds * i for i in count()).__next__)


@kernel
def plain(x):
    return x[0] + 1.0


@pytest.fixture
def process(monkeypatch):
    """A process that has done nothing yet but to import the compiler, on a machine that has no machine code."""
    own = ways._Process("auto")
    own.loaded = True
    monkeypatch.setattr(ways, "_process", own)
    monkeypatch.setattr(Code, "has", lambda *_: False)
    return own


@pytest.mark.parametrize("each", [0.1, 0.34, 2.0])
def test_a_kernel_is_compiled_once_it_has_cost_its_price(new, process, monkeypatch, each):
    own = new(plain)
    takes(monkeypatch, each)
    own.__dict__["price"] = 1.0
    calls = 0
    while not own.calls_code:
        calls += 1
        assert own(np.zeros(1)) == 1.0
    paid = (calls - 1) * each  # the last call was compiled
    assert 1.0 - each <= paid <= max(1.0, each)


def test_the_compiler_is_not_imported_for_what_costs_less(new, process, monkeypatch):
    process.loaded = False
    own = new(plain)
    takes(monkeypatch, 0.01)
    own.__dict__["price"] = 0.05
    for _ in range(int(ways.LOAD / 0.01) - 1):
        own(np.zeros(1))
        assert not own.calls_code
    for _ in range(3):
        own(np.zeros(1))
    assert own.calls_code


def test_a_run_whose_length_is_known_compiles_at_once_what_pays(new, process, monkeypatch):
    dear, cheap = new(plain), new(strange)
    takes(monkeypatch, 0.01)
    dear.__dict__["price"], cheap.__dict__["price"] = 1.0, 5.0
    outlook, x = Outlook(), np.zeros(9)
    dear(x), cheap(x, 1.0, 1)
    outlook.tell(1, 20)  # .2 s to come
    assert not dear.calls_code
    dear(x), cheap(x, 1.0, 1)
    outlook.tell(2, 200)  # 2 s
    dear(x), cheap(x, 1.0, 1)
    assert dear.calls_code
    assert not cheap.calls_code


def test_a_machine_that_compiles_slowly_waits_for_longer(new, process):
    own = new(plain)
    own.__dict__["price"] = 1.0
    own(np.zeros(1))
    assert own._tenancy.price == 1.0
    ways.record_time(2.0, 6.0)
    assert own._tenancy.price == pytest.approx(3.0)


def test_threads_get_the_same_numbers_while_a_kernel_is_compiled(new, process):
    own = new(strange)
    own.__dict__["price"] = 0.002
    found, x = [], np.zeros(9)
    expected = own(x.copy(), 2.0, 1), own(x.copy(), 0.5, 1)

    def work():
        found.extend((own(x.copy(), 2.0, 1), own(x.copy(), 0.5, 1)) == expected for _ in range(300))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 1200
    assert own.calls_code


def run(code, **environment):
    own = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


SHIFTED = """
import numpy as np
from evenhand.core.kernel import kernel

@kernel
def shifted(x, by):
    return x[0] + by

@kernel
def twice(x, by):
    return shifted(x, by) + shifted(x, 1)

print(twice.code(np.ones(1), 3), len(shifted.code.overloads))
"""


def test_a_part_is_compiled_once_for_constants_and_variables():
    assert run(SHIFTED) == ["6.0 1"]


FORK = """
import os, threading, time
import numpy as np
from evenhand.core.kernel import Outlook, compile_in_background, kernel
from evenhand.policy.entries import first_misfit, take_prices

(beside := compile_in_background()).__enter__()
x, o = np.zeros(2), np.zeros(2, bool)
ask = lambda: (first_misfit(x, o), take_prices(np.zeros((1, 1, 2, 1)), np.zeros((1, 1), np.int64)))
ask()
outlook = Outlook()
while not first_misfit.calls_code:  # a child is begun at any time of compiling
    ask()
    outlook._before = {}
    outlook.tell(1, 10**9)
    child = os.fork()
    if child == 0:
        ask()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    time.sleep(0.01)
print("compiled in", [t.name for t in threading.enumerate() if t.name == "evenhand-kernels"])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_children_of_a_process_that_compiles_in_a_thread_do_not_wait(tmp_path):
    assert run(FORK, NUMBA_CACHE_DIR=str(tmp_path)) == ["compiled in ['evenhand-kernels']"]


ASIDE = """
import gc, time
from evenhand.core.kernel import _process, compile_in_background
with compile_in_background():
    while not _process.loaded:
        time.sleep(0.01)
    print(gc.get_freeze_count() > 20_000, len(gc.get_objects()) < 2_000)
"""


def test_searches_for_garbage_leave_the_compiler_out():
    assert run(ASIDE) == ["True True"]


DECIDE = """
import sys
import evenhand as eh
from evenhand.core.kernel import way
shop = eh.Problem(actions=("no", "yes"), features=(eh.Numeric("age", 0, 99),), outcomes=(eh.Outcome("won"),),
                  maximize="won", horizon=9)
policy = eh.resolving(shop)
state = policy.start(seed=3)
for i in range(4):
    decision = policy.act(state, policy.encode({"age": 9 * i}))
    policy.observe(state, decision, {"won": i % 2})
print(way(), [m for m in ("numba", "llvmlite") if m in sys.modules], decision.action)
"""


def test_first_decisions_need_no_compiler(tmp_path):
    (auto,) = run(DECIDE, EVENHAND_KERNELS="", NUMBA_DISABLE_JIT="0")
    (off,) = run(DECIDE, NUMBA_DISABLE_JIT="1")
    assert auto.startswith("auto [] ")
    assert off == auto.replace("auto", "interpreted", 1)


def test_another_way_is_refused_by_name():
    with pytest.raises(InvalidInput, match="EVENHAND_KERNELS: expected auto, compiled or interpreted, got fast"):
        ways.way_of("fast", None)


def digests(*arguments, way):
    return run(
        f"import sys; sys.argv[1:] = {arguments!r}; from tests.fingerprints import main; main()", EVENHAND_KERNELS=way
    )


@pytest.mark.slow
def test_all_recipes_take_the_same_actions_in_every_way():
    interpreted, compiled = (digests("--replicas", "1", way=way) for way in ("interpreted", "compiled"))
    assert len(interpreted) > 100
    assert interpreted == compiled


@pytest.mark.slow
def test_all_recipes_take_the_same_actions_while_kernels_change():
    compiled = digests("--replicas", "3", way="compiled")
    assert len(compiled) > 100
    assert digests("--replicas", "3", "--price", "1e-6", way="auto") == compiled
