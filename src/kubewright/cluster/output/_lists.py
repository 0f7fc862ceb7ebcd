"""Encodes lists over several turns of the event loop, so that a list of thousands of objects does not block it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kubewright.cluster._state import State
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.conversion._webhook import AsyncConversion, retry_converting
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._responses import encode
from kubewright.cluster.machinery._work_budget import PROCESSED, SCANNED, WorkBudget
from kubewright.cluster.output._format import OutputFormat
from kubewright.cluster.storage._storage import Entry

__all__ = ["encode_list", "in_turns"]

T = TypeVar("T")


async def in_turns(
    entries: Sequence[Entry], read: Callable[[Entry], T], *, decodes: bool, converts: bool = False
) -> list[T]:
    """Returns what `read` returns for each object. Yields to the event loop whenever a turn's budget is spent.

    Args:
        decodes: whether `read` decodes the object.
        converts: whether a webhook may have to convert the object first. Raises `Failure` if that fails.
    """
    budget, cost, results = WorkBudget(), PROCESSED if decodes else SCANNED, []
    for entry in entries:
        results.append(await retry_converting(lambda entry=entry: read(entry)) if converts else read(entry))  # type: ignore[misc]
        await budget.spend(cost)
    return results


async def encode_list(state: State, output: OutputFormat, entries: Sequence[Entry], metadata: JSONObject) -> bytes:
    """Encodes a list of stored objects, which do not change: writes in between are not part of it."""
    output.check_form(of_list=True)
    converts = isinstance(output.type.conversion, AsyncConversion)
    if output.form == "Table":
        now = state.clock.now()
        rows = await in_turns(
            entries, lambda entry: encode(output.row(decoded(output.type, entry), now)), decodes=True, converts=converts
        )
        head = encode(output.table(state, [], metadata, first=True)).removesuffix(b"]}")
        return _joined(head, rows)
    head = output.list_head(metadata)
    if output.form and not entries:  # Go encodes an empty list as null here
        return head + b"null}"
    items = await in_turns(
        entries, lambda entry: output.encode_item(state, entry), decodes=output.decodes, converts=converts
    )
    return _joined(head + b"[", items)


def _joined(head: bytes, items: list[bytes]) -> bytes:
    """Returns the encoded list. Copies the items once: a list may have dozens of megabytes."""
    if not items:
        return head + b"]}"
    items[0] = head + items[0]
    items[-1] += b"]}"
    return b",".join(items)
