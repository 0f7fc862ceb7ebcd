"""Admission plugins that resolve the class of an object: priority of pods, storage of claims, Ingress controllers.

`Priorities` sets the priority of pods by their PriorityClass and rejects pods that name an unknown one.
`DefaultStorageClass` and `DefaultIngressClass` set the class of objects that name none, if there is a default one.
`PRIORITY_CLASSES` are the two classes that every cluster has.
"""

from __future__ import annotations

from kubewright.cluster.classes._defaulting import DefaultIngressClass, DefaultStorageClass
from kubewright.cluster.classes._priorities import PRIORITY_CLASSES, Priorities

__all__ = ["PRIORITY_CLASSES", "DefaultIngressClass", "DefaultStorageClass", "Priorities"]
