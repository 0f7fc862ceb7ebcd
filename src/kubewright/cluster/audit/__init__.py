"""The audit log of the API server, in the format of kube-apiserver."""

from __future__ import annotations
