"""The arguments of the programs, the same for all in one group."""

from __future__ import annotations

import argparse

__all__ = ["list_arguments", "operator_arguments"]


def list_arguments() -> argparse.Namespace:
    """What to list, after the namespaces."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--kind", choices=("pods", "foos"), required=True)
    parser.add_argument("--page-size", type=int, required=True)
    return parser.parse_args()


def operator_arguments() -> argparse.Namespace:
    """What to reconcile. The Go program has the same flags."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--namespace", required=True, help="the only namespace to look at")
    parser.add_argument("--objects", type=int, required=True, help="how many objects to reconcile")
    parser.add_argument("--writes", type=int, default=0, help="how many latencies to report")
    parser.add_argument("--workers", type=int, default=10, help="reconciles at a time")
    parser.add_argument("--work", action="store_true", help="make a child and write the status of each object")
    return parser.parse_args()
