"""Streams of pods in an embedded server: logs, exec, attach and port-forward, from the kubelet of the pod's node.

As kube-apiserver does, the server connects to the address and port in the status of the Node. A node without a kubelet,
such as a `FakeNode`, has none, and such requests are rejected with status 501.
"""

from __future__ import annotations

from kubewright.cluster.kubelets._pod_streams import PodStreams

__all__ = ["PodStreams"]
