"""``excise serve``, started as a user starts it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

KEY = "a-key-for-the-page-0123456789"


class Demo(NamedTuple):
    url: str
    feedback: Path


@contextmanager
def service(*options: object) -> Iterator[str]:
    """The address of ``excise serve`` with these options, until the block ends."""
    command = [sys.executable, "-m", "excise", "serve", "--port", "0", *map(str, options)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    try:
        said = ""
        while not (found := re.search(r"documents at (http://\S+?)/? ", said)):
            line = process.stderr.readline()
            assert line, f"the service did not start: {said}"
            said += line
        yield found[1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
