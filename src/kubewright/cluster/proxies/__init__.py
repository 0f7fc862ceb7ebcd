"""`pods/proxy` and `services/proxy` of an embedded server: requests that it passes on to programs on this machine.

Requests, responses and errors are those of kube-apiserver, with these differences: bodies of requests have the limit of
all requests, links in HTML pages of more than 1 MiB are not rewritten, and pods may have loopback addresses if the
cluster runs them (`service_range`). Requests to simulated pods, which have no address on this machine, get a 501.
"""

from __future__ import annotations

from kubewright.cluster.proxies._proxies import Proxies

__all__ = ["Proxies"]
