"""What one world's function is: drawn from everything that construction accepts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from idem.errors import ConfigurationError
from idem.policy import Kind, Lapsed, Policy
from tests.simulation import catalogue as kinds
from tests.simulation.choices import Choices
from tests.simulation.works import ForgottenError, PermanentError, TransientError

SECONDS: dict[str, float] = {
    "0": 0,
    "20 ms": 0.02,
    "50 ms": 0.05,
    "100 ms": 0.1,
    "300 ms": 0.3,
    "500 ms": 0.5,
    "1 s": 1,
    "2 s": 2,
    "3 s": 3,
    "4 s": 4,
    "5 s": 5,
    "6 s": 6,
    "10 s": 10,
    "30 s": 30,
    "40 s": 40,
    "1 min": 60,
    "5 min": 300,
    "15 min": 900,
    "20 min": 1_200,
    "900 s": 900,
    "1 h": 3_600,
    "5400 s": 5_400,
    "29 d": 29 * 86_400,
}
SKEW_INSIDE_MS, SKEW_OUTSIDE_MS = 1_900, 32_000


def ms(label: str) -> int:
    return round(SECONDS[label] * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One world's function, queue and policy. Times are ms; timeout None: nothing says when an invocation ends."""

    source: str
    mode: str
    is_async: bool
    timeout: int | None
    environments: int
    clocks: str
    concurrency: int
    record_within: int
    reserve: int
    singly: bool
    policy: Policy
    check: bool
    visibility: int
    receives_max: int
    moves: bool
    dead_letters: bool
    ttl: bool
    rate: str

    @property
    def horizon(self) -> int:
        """How long an attempt can last as far as its lease knows."""
        return self.timeout if self.timeout is not None else _ms(self.policy.lease)

    @property
    def retention(self) -> int | None:
        return None if self.policy.retention is None else _ms(self.policy.retention)

    @property
    def margin(self) -> int:
        return _ms(self.policy.skew_margin)

    @property
    def batches(self) -> bool:
        return self.source in {"sqs", "fifo", "stream"}

    @property
    def grouped(self) -> bool:
        return self.source in {"fifo", "stream"}


def _ms(duration: timedelta) -> int:
    return round(duration.total_seconds() * 1000)


def draw(choices: Choices) -> Settings:
    pick = choices.pick
    mode = pick("mode", kinds.MODE)
    source = pick("source", kinds.SOURCE)
    if source == "once" and mode == "guard":
        mode = "claim"
    context = pick("context", kinds.CONTEXT)
    settings = Settings(
        source=source,
        mode=mode,
        is_async=pick("style", kinds.STYLE) == "coroutine",
        timeout=None if context == "none" else ms(context),
        environments=int(pick("environments", kinds.ENVIRONMENTS)),
        clocks=pick("clocks", kinds.CLOCKS),
        concurrency=int(pick("concurrency", kinds.CONCURRENCY)),
        record_within=ms(pick("record_within", kinds.RECORD_WITHIN)),
        reserve=ms(pick("reserve", kinds.RESERVE)),
        singly=pick("together", kinds.TOGETHER) == "singly",
        policy=_policy(choices, plans=mode == "guard"),
        check=pick("check", kinds.CHECK) == "content",
        visibility=0,
        receives_max=int(pick("receives", kinds.RECEIVES)),
        moves=pick("moves", kinds.MOVES) == "yes",
        dead_letters=pick("dead letters", kinds.DEAD_LETTERS) == "at once",
        ttl=pick("ttl", kinds.TTL) == "at once",
        rate=pick("faults", kinds.RATE),
    )
    share = {"six times": 6.0, "once": 1.0, "a third": 1 / 3}[pick("visibility", kinds.VISIBILITY)]
    reserve = settings.reserve if settings.reserve < _ms(settings.policy.lease) else 0  # anything else is refused
    return replace(settings, reserve=reserve, visibility=max(1_000, round(settings.horizon * share)))


def _policy(choices: Choices, *, plans: bool) -> Policy:
    """The drawn policy, or as much of it as construction accepts."""
    pick = choices.pick
    retention = pick("retention", kinds.RETENTION)
    starts = pick("starts_max", kinds.STARTS_MAX)
    wanted: dict[str, Any] = {
        "retention": None if retention == "for ever" else timedelta(milliseconds=ms(retention)),
        "lease": timedelta(milliseconds=ms(pick("lease", kinds.LEASE))),
        "lease_margin": timedelta(milliseconds=ms(pick("lease_margin", kinds.LEASE_MARGIN))),
        "starts_max": None if starts == "none" else int(starts),
        "wait": timedelta(milliseconds=ms(pick("wait", kinds.WAIT))),
        "lapsed": Lapsed.HOLD if pick("lapsed", kinds.LAPSED) == "hold" else Lapsed.TAKE_OVER,
        "otherwise": {"transient": Kind.TRANSIENT, "permanent": Kind.PERMANENT, "forget": Kind.FORGET}[
            pick("otherwise", kinds.OTHERWISE)
        ],
        "classify": CLASSIFIERS[pick("classify", kinds.CLASSIFY)],
        "result_bytes_max": int(pick("result_bytes", kinds.RESULT_BYTES)),
        "transient": (TransientError,),
        "permanent": (PermanentError,),
        "forget": (ForgottenError,),
    }
    if plans:
        del wanted["starts_max"], wanted["wait"]  # they say nothing to a plan, and are refused
    for dropped in ("", "wait", "lapsed", "starts_max", "lease"):
        wanted.pop(dropped, None)
        try:
            return Policy(**wanted)
        except ConfigurationError:
            continue
    raise AssertionError("no policy was accepted")


def _raises(error: Exception) -> Kind | None:
    raise KeyError(type(error).__name__)


CLASSIFIERS: dict[str, Any] = {
    "none": None,
    "silent": lambda _error: None,
    "raises": _raises,
    "junk": lambda _error: "transient",
}
