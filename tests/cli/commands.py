"""What the tables of error paths have in common: a program, and how each command that needs a cluster is called."""

from __future__ import annotations

from pathlib import Path

import yaml

PROGRAM = '''
import kubewright as kw

class Spec(kw.Model):
    size: int = 1

@kw.resource("errors.example.com/v1")
class Page(kw.Resource[Spec, None]):
    """A Page."""

operator = kw.Operator("page-operator")

@operator.reconciles(Page)
async def sync(page: Page, ctx: kw.Context[Page]) -> None: ...
'''

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}\n"
"""The content of page.yaml."""

WITH_CLUSTER = {
    "apply": ["apply", "-f", "page.yaml"],
    "install": ["install", "page.py"],
    "uninstall": ["uninstall", "page.py", "--yes"],
    "deploy": ["deploy", "page.py", "--image", "registry.example.com/page:1.0.0"],
    "undeploy": ["undeploy", "page.py", "--yes"],
    "doctor": ["doctor", "page.py"],
    "pause": ["pause", "Page/one"],
    "resume": ["resume", "Page/one"],
    "migrate-storage": ["migrate-storage", "pages"],
    "codegen": ["codegen", "--cluster", "--out", "types.py"],
}
"""Commands that ask a cluster and end."""

STAYING = {"dev": ["dev", "page.py"], "ui": ["ui", "--no-open"]}
"""Those that ask one and stay, but for `run`, which tells everything in its log."""


def write_kubeconfig(path: Path, server: str, *, user: object = None, **cluster: object) -> Path:
    """A kubeconfig with two contexts: `staging`, which is the current one, and `production`."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "me", "user": user or {}}],
        "contexts": [
            {"name": name, "context": {"cluster": "here", "user": "me"}} for name in ("staging", "production")
        ],
        "current-context": "staging",
    }
    path.write_text(yaml.safe_dump(content))
    return path
