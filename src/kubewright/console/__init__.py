"""The console: a web page for every custom resource, and for the operator behind it.

    async with Console.connect(kubeconfig=None) as console, console.serving(port=8080) as url:
        ...

Needs the extra `kubewright[console]` (NiceGUI): its front end comes from the wheel, nothing from outside. There is one
console in a process.

- Whoever looks is a `Viewer`, with credentials of his own. What he does is done with them; what he sees is filtered by
  them.
- Objects come from `Shelf`s: one cache per kind, shared by all pages. The API server pays for one watch per kind.
- What an operator knows comes from an operator in this process, or from the pages that one serves elsewhere.
"""

from __future__ import annotations

from kubewright.console._access import ALL, Sight
from kubewright.console._app import Console
from kubewright.console._attach import attach
from kubewright.console._audit import audit_to
from kubewright.console._columns import Column
from kubewright.console._connections import Limits
from kubewright.console._kinds import Kind
from kubewright.console._shelves import Batch, Row, Shelf, ShelfHealth, Subscription
from kubewright.console._viewers import SignInError, Viewer

__all__ = [
    "ALL",
    "Batch",
    "Column",
    "Console",
    "Kind",
    "Limits",
    "Row",
    "Shelf",
    "ShelfHealth",
    "Sight",
    "SignInError",
    "Subscription",
    "Viewer",
    "attach",
    "audit_to",
]
