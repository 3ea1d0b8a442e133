"""How quiet the machine was: the same small piece of work, again and again."""

from __future__ import annotations

import platform
import statistics
import time
from typing import Any

PIECES, ROUNDS = 60, 400


def noise() -> dict[str, float]:
    """How far the slowest tenth and the fastest of equal pieces of work are from the median, on the wall and in CPU time."""
    walls, cpus = [], []
    for _ in range(PIECES):
        wall, cpu = time.perf_counter(), time.process_time()
        for number in range(ROUNDS):
            sum(range(number))
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {
        f"{clock}_{name}": value / statistics.median(values)
        for clock, values in (("wall", walls), ("cpu", cpus))
        for name, value in (("fastest", min(values)), ("slowest_tenth", statistics.quantiles(values, n=10)[-1]))
    }


def about() -> dict[str, Any]:
    return {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
