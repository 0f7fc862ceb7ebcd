"""Extensions: pages and actions that operator authors add to the console.

    fleet = Extension("fleet", title="Fleet")

    @fleet.page("ships", title="Ships", needs=[Needs("list", Ship)])
    async def ships(page: ExtensionPage) -> None: ...

    @fleet.action(Ship, "refit", title="Refit", confirm="Takes the ship out of service.", needs="patch")
    async def refit(action: ActionContext[Ship]) -> str: ...

The contract:

- An extension is a value that a console gets: `attach_console(operator, extensions=[fleet])`,
  `operator.extend_console("fleet.ui:fleet")`, `kubewright ui --extension fleet.ui:fleet`. There is no registry.
- Pages and actions act with the viewer's own credentials. `needs` names the required permissions. If the viewer
  lacks one, the page or the disabled action names it. A read-only console disables actions that need a verb that
  writes.
- An exception is shown on the page or in the dialog of the action, and logged with its traceback. Other pages are not
  affected.
- This package does not import NiceGUI. Import it inside your functions, or in a module that only the console imports.

Sections, labels and initial values of forms, columns and states are not part of an extension: they are declared on the
kind (`@resource(form=..., columns=..., states=...)`), so every console shows them, without your code.
"""

from __future__ import annotations

from kubewright.console.extensions._context import ActionContext, Cluster, ExtensionPage
from kubewright.console.extensions._extension import Action, Extension, Page
from kubewright.console.extensions._loading import ExtensionError, check_extensions, load_extension
from kubewright.console.extensions._needs import Needs, missing_need, path_of

__all__ = [
    "Action",
    "ActionContext",
    "Cluster",
    "Extension",
    "ExtensionError",
    "ExtensionPage",
    "Needs",
    "Page",
    "check_extensions",
    "load_extension",
    "missing_need",
    "path_of",
]
