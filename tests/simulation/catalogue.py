"""All kinds of choices, the dullest label of each first. What a label means stands where it is used."""

from __future__ import annotations

from tests.simulation.choices import Kind

# --- the function and what wakes it ---

SOURCE = Kind("source", {"sqs": 4, "fifo": 3, "stream": 2, "webhook": 2, "invoke": 2, "once": 3})
MODE = Kind("mode", {"claim": 6, "commit": 3, "guard": 2})
STYLE = Kind("style", {"plain": 3, "coroutine": 2})
CONTEXT = Kind(
    "context", {"30 s": 6, "3 s": 1, "6 s": 2, "900 s": 2, "5400 s": 1, "none": 3}
)  # none: a container, or a handler that passes no context on
ENVIRONMENTS = Kind("environments", {"2": 4, "1": 2, "3": 2})
CLOCKS = Kind("clocks", {"together": 6, "inside the margin": 3, "outside the margin": 1})
CONCURRENCY = Kind("concurrency", {"1": 4, "2": 2, "3": 3})
RECORD_WITHIN = Kind("record_within", {"50 ms": 5, "0": 3, "2 s": 2, "1 h": 1})
TOGETHER = Kind("together", {"statements": 5, "singly": 1})
RESERVE = Kind("reserve", {"500 ms": 5, "6 s": 2, "0": 1})

# --- its policy ---

RETENTION = Kind("retention", {"29 d": 6, "for ever": 2, "1 h": 2, "15 min": 2, "5 min": 2, "1 min": 1, "5 s": 1})
LEASE = Kind("lease", {"15 min": 5, "1 min": 3, "5 s": 1})
LEASE_MARGIN = Kind("lease_margin", {"1 s": 5, "0": 1, "1 min": 1})
STARTS_MAX = Kind("starts_max", {"none": 6, "1": 2, "2": 2, "3": 1})
WAIT = Kind("wait", {"0": 5, "2 s": 1, "10 s": 2})
LAPSED = Kind("lapsed", {"take over": 5, "hold": 2})
OTHERWISE = Kind("otherwise", {"transient": 5, "permanent": 2, "forget": 2})
CLASSIFY = Kind("classify", {"none": 6, "silent": 1, "raises": 2, "junk": 1})
RESULT_BYTES = Kind("result_bytes", {"4096": 6, "0": 1})
CHECK = Kind("check", {"none": 3, "content": 2})

# --- messages and their queue ---

MESSAGES = Kind("messages", {"2": 4, "1": 1, "3": 3, "4": 3, "6": 1})
KEY = Kind("key", {"K0": 5, "K1": 3, "K2": 2, "K3": 1})
CONTENT = Kind("content", {"same": 24, "other": 2, "unreadable": 1})
GROUP = Kind("group", {"g0": 3, "g1": 2})
GAP = Kind("gap", {"0": 5, "100 ms": 2, "4 s": 2, "40 s": 2, "20 min": 1})
BATCH = Kind("batch", {"4": 5, "1": 2, "2": 2, "3": 1})
VISIBILITY = Kind("visibility", {"six times": 5, "once": 2, "a third": 2})
RECEIVES = Kind("receives", {"5": 4, "3": 2, "8": 1})
MOVES = Kind("moves visibility", {"no": 3, "yes": 2})
DEAD_LETTERS = Kind("dead letters", {"by redrive": 4, "at once": 1})
TWICE = Kind("twice", {"no": 8, "at once": 1, "soon after": 1})
ENVIRONMENT = Kind("environment", {"first": 5, "last": 2, "new": 2})
CALL = Kind("call", {"plain": 3, "within": 3, "wait_for 4 ms": 1, "wait_for 30 ms": 1, "wait_for 2 s": 1})
TTL = Kind("ttl", {"never": 5, "at once": 1})

# --- the table ---

_FAULTS = {
    "crash before": 2,
    "crash after": 3,
    "lost": 3,
    "late": 2,
    "unsent": 2,
    "throttled": 2,
    "conflict": 2,
    "denied": 1,
    "server error": 1,
    "repeated": 2,
    "slow": 2,
    "slow answer": 2,
    "to the brink": 2,
    "answer at the brink": 2,
    "stall": 2,
    "answer after a stall": 2,
}
FAULTS = {
    "none": Kind("fault", {"none": 1} | dict.fromkeys(_FAULTS, 0)),
    "few": Kind("fault", {"none": 24 * sum(_FAULTS.values())} | _FAULTS),
    "some": Kind("fault", {"none": 8 * sum(_FAULTS.values())} | _FAULTS),
    "many": Kind("fault", {"none": 2 * sum(_FAULTS.values())} | _FAULTS),
}
RATE = Kind("faults", {"none": 2, "few": 4, "some": 3, "many": 1})
WHICH = Kind("which statements", {"all": 2, "first": 2, "last": 2})
LATENESS = Kind("late by", {"40 ms": 2, "3 s": 1, "a lease": 2})

# --- the work ---

DURATION = Kind(
    "duration",
    {"20 ms": 8, "0": 1, "300 ms": 3, "2 s": 3, "half": 2, "to the brink": 2, "over": 1, "a lease": 1, "hangs": 1},
)
EFFECT = Kind("effect", {"yes": 6, "no": 1})
DEPTH = Kind("depth", {str(more): 1 for more in range(40)})
AWAITING = Kind("awaiting", {"awaits": 4, "blocks": 1})

VALUES = {
    "None": 1,
    "text": 1,
    "tuple": 1,
    "decimal": 1,
    "set": 1,
    "bytes": 1,
    "object": 1,
    "not a number": 1,
    "deep": 2,
    "big": 1,
    "names that meet": 2,
    "result id": 1,
    "not kept": 1,
    "dataclass": 1,
    "an error": 1,
    "http shape": 1,
}
NEVER_RUN = {"coroutine": 1, "generator": 1, "async generator": 2, "future": 2, "map": 2, "filter": 1}
MISPLACED = {"[Commit]": 2, "(Commit, text)": 1, "Put": 1, "[Put]": 1, "{commit: Commit}": 1}
RAISES = {
    "transient": 4,
    "permanent": 4,
    "forgotten": 3,
    "unlisted": 3,
    "frozen": 3,
    "no text": 1,
    "own IdemError": 1,
    "own ClaimLost": 1,
    "group": 1,
    "StopIteration": 1,
    "recursion": 1,
}
LEAVES = {"SystemExit": 2, "KeyboardInterrupt": 1, "GeneratorExit": 1, "CancelledError": 3, "BaseException": 1}
DIES = {"dies before its effect": 2, "dies after its effect": 3}
AWAITED = {"a cancelled task": 3, "cancels itself": 2, "times out inside": 1}
COMMITS = {
    "commit": 40,
    "commit of a tuple": 2,
    "commit of a generator": 2,
    "commit of a raising generator": 4,
    "commit without writes": 1,
    "commit refused": 3,
    "commit of two on one item": 1,
    "commit of no writes at all": 1,
    "commit of an odd result": 2,
}
_ENDS = RAISES | LEAVES | DIES
ENDINGS = {
    ("claim", "plain"): Kind("ending", {"ok": 45} | VALUES | NEVER_RUN | MISPLACED | _ENDS),
    ("claim", "coroutine"): Kind("ending", {"ok": 45} | VALUES | NEVER_RUN | MISPLACED | _ENDS | AWAITED),
    ("commit", "plain"): Kind("ending", COMMITS | NEVER_RUN | MISPLACED | _ENDS),
    ("commit", "coroutine"): Kind("ending", COMMITS | NEVER_RUN | MISPLACED | _ENDS | AWAITED),
    ("guard", "plain"): Kind("ending", COMMITS | NEVER_RUN | MISPLACED | _ENDS),
    ("guard", "coroutine"): Kind("ending", COMMITS | NEVER_RUN | MISPLACED | _ENDS | AWAITED),
}
