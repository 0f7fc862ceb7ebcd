"""The console: a web UI for every custom resource, and for the operator behind it.

    async with Console.connect(kubeconfig=None) as console, console.serving(port=8080) as url:
        ...

Requires the extra `kubewright[console]` (NiceGUI). Its front end comes from the wheel; nothing is loaded from other
hosts. A process can serve only one console.

- `access`: a `Viewer` acts with their own credentials and sees only what those allow.
- `oidc`: sign-in with OpenID Connect.
- `kinds` and `caches`: one `ObjectCache` per kind, shared by all pages. The API server serves one watch per kind.
- `objects`: state, conditions, events, owned objects and timeline, computed from cached objects.
- `operators`: reports of an operator in this process, or of a remote one.
- `actions`: what a viewer can do with an object beyond editing it.
- `extensions`: pages and actions that operator authors add.
- `forms`: fields, documents, validation and writes, without a page.
- `pages` and `server`: what browsers see. Both import NiceGUI, and are imported when the console starts to serve.

Read `_backend.py` first: it holds the state that all pages share.
"""

from __future__ import annotations

from kubewright.console._audit import audit_to
from kubewright.console._connection import Connection
from kubewright.console._console import Console
from kubewright.console._limits import Limits
from kubewright.console._operator_console import attach_console
from kubewright.console.access import ALL, SignInError, Viewer, Visibility
from kubewright.console.caches import Batch, CacheHealth, ObjectCache, Row, Subscription
from kubewright.console.extensions import ActionContext, Extension, ExtensionError, ExtensionPage, Needs
from kubewright.console.kinds import Column, Kind
from kubewright.console.oidc import OIDC

__all__ = [
    "ALL",
    "OIDC",
    "ActionContext",
    "Batch",
    "CacheHealth",
    "Column",
    "Connection",
    "Console",
    "Extension",
    "ExtensionError",
    "ExtensionPage",
    "Kind",
    "Limits",
    "Needs",
    "ObjectCache",
    "Row",
    "SignInError",
    "Subscription",
    "Viewer",
    "Visibility",
    "attach_console",
    "audit_to",
]
