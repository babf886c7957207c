"""What several benchmarks measure with. It needs nothing of excise: older checkouts are measured too."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def peak_megabytes() -> float:
    """The most memory that this process has had so far; mapped files count as far as they were read."""
    status = Path("/proc/self/status")
    if status.exists():  # what the system says of resources would include the process that began this one
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
