"""Whether a server can decide now: the store takes writes, the policy and the clock are right, nothing is behind."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor

from evenhand.core.errors import EvenhandError
from evenhand.live.campaign import Campaign
from evenhand.live.events import Busy, Conflict
from evenhand.live.http.answers import LOG
from evenhand.live.life import State
from evenhand.live.phases import Missing

SECONDS = 2.0  # until a server that does not answer counts as behind
_KEPT = 1.0  # seconds for which an answer counts, so that probes do not load the store
_BEHIND = "the worker is behind the log, or the store is locked"
_BUSY = "the store cannot be written, or its clock jumped"


class _Undone(Exception):
    """Rolls the trial back."""


class Readiness:
    """Tries a write that is rolled back, once for all probes that ask within a second.

    Args:
        campaign: the campaign that decides.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> asyncio.run(Readiness(Campaign.open("memory://", "shop", eh.uniform(shop, 1))).reason()) is None
    True
    """

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._thread = ThreadPoolExecutor(1, "evenhand readiness")  # apart from reports, which may take long
        self._trial: Future[str | None] | None = None
        self._until = 0.0
        self._state: State = "running"

    def standing(self) -> dict[str, str]:
        """Return the state of a campaign that does not decide; outcomes have to arrive all the same."""
        return {} if self._state == "running" else {"state": self._state}

    async def reason(self) -> str | None:
        """Return why the server is not ready, None if it is."""
        if self._trial is None or (self._trial.done() and time.monotonic() > self._until):
            self._trial = self._thread.submit(self._try)
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._trial)), SECONDS)
        except TimeoutError:
            return _BEHIND

    def _try(self) -> str | None:
        campaign = self._campaign
        try:
            campaign.refresh()  # reads the log, and checks the policy and the clock
            self._state = campaign.life.state
            try:
                with campaign.store.write(campaign.name) as log:
                    log.append("decided", "{}")  # without a key, as a client may state any key
                    raise _Undone
            except _Undone:
                return None
        except Missing:
            return "the campaign was switched to another policy of Python: start the server with that one"
        except Conflict:
            return "a later version of evenhand decides for the campaign: start the server with that one"
        except Busy as error:
            LOG.warning("not ready: %s", error)
            return _BUSY
        except EvenhandError as error:
            LOG.error("not ready", exc_info=error)
            return "the log cannot be read, or was replaced by another one"
        except Exception as error:
            LOG.error("not ready", exc_info=error)
            return "an error of the server, recorded in its log"
        finally:
            self._until = time.monotonic() + _KEPT
