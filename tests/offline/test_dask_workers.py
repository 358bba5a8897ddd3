"""A plan on two workers of Dask, one of which is killed in a pass."""

import os
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenhand.offline import plan
from evenhand.offline.contexts.plans import stated
from evenhand.offline.contexts.sources import Partitions, Read, source_of
from evenhand.planning.moments import SmoothJob
from tests.offline.crowds import ALL, arrays, table

dd = pytest.importorskip("dask.dataframe", reason="needs dask")
distributed = pytest.importorskip("distributed", reason="needs dask's workers")


class KillsOnce:
    """A job that kills the process in which it first runs, once it has read half of a partition."""

    def __init__(self, job, mark):
        self.job, self.mark = job, mark

    def __call__(self, blocks):
        blocks = list(blocks)
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return self.job(blocks)
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Dask, about a worker that died
def test_a_killed_worker_changes_no_bit(tmp_path):
    frame = table(arrays(60_000))
    for i in range(6):
        part = pa.Table.from_pandas(frame.iloc[i * 10_000 : (i + 1) * 10_000], preserve_index=False)
        pq.write_table(part, tmp_path / f"{i}.parquet")
    alone = plan(ALL, tmp_path)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        contexts = dd.read_parquet(tmp_path)
        before = set(client.run(os.getpid).values())
        found = plan(ALL, contexts)
        asked = stated(ALL, source_of(contexts))
        job = SmoothJob(found.terms, found.prices[0], 1e-3)
        undisturbed = Read(Partitions(contexts), asked.reading).over(job)
        disturbed = Read(Partitions(contexts), asked.reading).over(KillsOnce(job, str(tmp_path / "mark")))
        client.wait_for_workers(2)
        assert set(client.run(os.getpid).values()) != before
        again = plan(ALL, contexts)
    assert (tmp_path / "mark").exists()
    for one, other in zip(undisturbed, disturbed, strict=True):
        assert np.array_equal(one, other)
    for other in (found, again):
        assert (other.value, other.bound) == (alone.value, alone.bound)
        assert np.array_equal(other.prices, alone.prices)
        assert np.array_equal(other.weights, alone.weights)
        assert np.array_equal(other.use, alone.use)
