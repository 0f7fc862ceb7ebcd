"""The server of a pool: reads plans from its input, and writes outcomes to its output."""

from __future__ import annotations

from kubewright.explore.runner._server import serve

if __name__ == "__main__":
    serve()
