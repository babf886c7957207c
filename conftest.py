"""Where the packages of the service are not installed, its modules have no examples to try."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if all(map(find_spec, ("fastapi", "httpx", "prometheus_client"))) else ["src/excise/service/*"]
