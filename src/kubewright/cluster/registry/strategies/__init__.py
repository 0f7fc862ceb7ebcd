"""Strategies of built-in kinds: defaults, the fields that only the server sets, and the validation of each kind.

A strategy implements `kubewright.cluster.machinery._resources.Strategy`, as in kube-apiserver's registry.
"""

from __future__ import annotations
