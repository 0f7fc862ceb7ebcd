"""The console: a web page for every custom resource, and for the operator behind it.

    async with Console.connect(kubeconfig=None) as console, console.serving(port=8080) as url:
        ...

Needs the extra `kubewright[console]` (NiceGUI): its front end comes from the wheel, nothing from outside. There is one
console in a process.

- Whoever looks is a `Viewer`, with credentials of his own. What he does is done with them; what he sees is filtered by
  them.
- Objects come from `ObjectCache`s: one cache per kind, shared by all pages. The API server pays for one watch per kind.
- What an operator knows comes from an operator in this process, or from the pages that one serves elsewhere.
"""

from __future__ import annotations

from kubewright.console._audit import audit_to
from kubewright.console._console import Console
from kubewright.console._limits import Limits
from kubewright.console._operator_console import attach_console
from kubewright.console.access import ALL, SignInError, Viewer, Visibility
from kubewright.console.caches import Batch, CacheHealth, ObjectCache, Row, Subscription
from kubewright.console.kinds import Column, Kind

__all__ = [
    "ALL",
    "Batch",
    "CacheHealth",
    "Column",
    "Console",
    "Kind",
    "Limits",
    "ObjectCache",
    "Row",
    "SignInError",
    "Subscription",
    "Viewer",
    "Visibility",
    "attach_console",
    "audit_to",
]
