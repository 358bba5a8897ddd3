"""The interface of a campaign that reports read."""

from __future__ import annotations

from typing import Any, Protocol

from evenhand.live.fold.cases import Encoder
from evenhand.live.fold.first_event import Terms
from evenhand.live.fold.lags import Lags
from evenhand.live.log.store import Store
from evenhand.policy.policy import Policy
from evenhand.policy.status import Status


class CampaignView(Protocol):
    """The contract between campaigns and reports, so that neither module imports the other."""

    @property
    def name(self) -> str: ...

    @property
    def policy(self) -> Policy: ...

    @property
    def terms(self) -> Terms: ...

    @property
    def store(self) -> Store: ...

    @property
    def encoder(self) -> Encoder: ...

    @property
    def ahead(self) -> float: ...

    @property
    def lags(self) -> Lags: ...

    @property
    def waiting_bytes(self) -> int: ...

    @property
    def retention(self) -> dict[str, Any] | None: ...

    def status(self) -> Status: ...
