"""`delete_page`: deletes an open page before its browser has been gone for long."""

from __future__ import annotations

from nicegui import Client

__all__ = ["delete_page"]


def delete_page(page: Client) -> None:
    """Deletes an open page immediately. A page that is already deleted stays deleted.

    When a browser disconnects, NiceGUI schedules the deletion of its page. That task would delete the page a second
    time, and log a KeyError, so it is canceled first.
    """
    for document in [*page._delete_tasks]:
        page._cancel_delete_task(document)
    if not page.is_deleted:
        page.delete()
