"""A store that fails at a statement, or in the middle of a transaction."""

from __future__ import annotations

from contextlib import contextmanager


class Struck(Exception):
    """The process ended here."""


class Striking:
    """A store on which a failure strikes at a statement that is named by its number, counted from now."""

    def __init__(self, inner):
        self.inner, self.left, self.error, self.hit = inner, None, None, False

    def strike(self, left, error):
        self.left, self.error, self.hit = left, error, False

    def step(self):
        if self.left == 0:
            self.left, self.hit = None, True
            raise self.error
        if self.left is not None:
            self.left -= 1

    def campaigns(self):
        return self.inner.campaigns()

    @contextmanager
    def write(self, campaign):
        self.step()
        with self.inner.write(campaign) as log:
            self.step()
            yield _Striking(self, log)
            self.step()
        self.step()  # the reply to a commit can be lost

    def scan(self, campaign, after=0, kinds=()):
        self.step()
        yield from self.inner.scan(campaign, after, kinds)

    def about(self, campaign, ref):
        self.step()
        return self.inner.about(campaign, ref)

    def snapshot(self, campaign, mark, before=None):
        self.step()
        return self.inner.snapshot(campaign, mark, before)

    def snapshots(self, campaign, mark):
        self.step()
        return self.inner.snapshots(campaign, mark)

    def keep(self, campaign, mark, seq, blob, drop=()):
        self.step()
        self.inner.keep(campaign, mark, seq, blob, drop)
        self.step()


class _Striking:
    """A transaction that fails before or after a statement."""

    def __init__(self, store, log):
        self._store, self._log, self.clock, self.distrust = store, log, log.clock, log.distrust

    @property
    def now(self):
        return self._log.now

    @property
    def last(self):
        return self._log.last

    def _said(self, call):
        self._store.step()
        found = call()
        self._store.step()
        return found

    def tail(self, after):
        return self._said(lambda: list(self._log.tail(after)))

    def find(self, key):
        return self._said(lambda: self._log.find(key))

    def get(self, seq):
        return self._said(lambda: self._log.get(seq))

    def about(self, ref):
        return self._said(lambda: self._log.about(ref))

    def append(self, kind, body, *, ref=None, key=None, own=None):
        return self._said(lambda: self._log.append(kind, body, ref=ref, key=key, own=own))

    def erase(self, events):
        return self._said(lambda: self._log.erase(events))

    def unload(self, last, waiting, emptied):
        return self._said(lambda: self._log.unload(last, waiting, emptied))

    def moved(self, keys):
        return self._said(lambda: self._log.moved(keys))
