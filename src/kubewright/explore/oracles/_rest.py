"""Writes at rest: an operator that has nothing to do writes nothing."""

from __future__ import annotations

import msgspec

from kubewright.counts import counted
from kubewright.explore.model import Checkpoint, Finding, Outcome
from kubewright.explore.worlds import scrubbed

__all__ = ["written_at_rest"]

_FEW_WRITES = 3
"""Up to this many writes of an object in an hour are not a pattern."""


def written_at_rest(outcome: Outcome, checkpoint: Checkpoint) -> list[Finding]:
    """While nothing changes, the operator does not write the same object again and again.

    Writes on a schedule are not a violation: they create or delete objects, or change more than times. So the oracle
    counts only writes that change nothing but times, or that change a value back and forth.
    """
    requests = outcome.requests[slice(*checkpoint.rest)]
    if any(sent.verb in ("create", "delete") and sent.status < 300 for sent in requests):
        return []
    stored = {write.request: write for write in outcome.writes if write.request}
    counts: dict[tuple[str, ...], int] = {}
    states: dict[tuple[str, ...], set[bytes]] = {}
    for sent in requests:
        if sent.status >= 300 or not sent.status:
            continue
        target: tuple[str, ...] = (*sent.key, sent.subresource)
        counts[target] = counts.get(target, 0) + 1
        write = stored.get(sent.number)
        if write is None or write.after is None:
            states.setdefault(target, set()).add(b"")
        else:
            after = scrubbed(msgspec.json.decode(write.after))
            after.get("metadata", {}).pop("generation", None)
            states.setdefault(target, set()).add(msgspec.json.encode(after, order="deterministic"))
    for target, count in counts.items():
        if count > _FEW_WRITES and len(states[target]) <= max(2, count // 3):
            resource, namespace, name, subresource = target[:4]
            what = f"{resource}{'/' + subresource if subresource else ''} {namespace}/{name}"
            return [
                Finding(
                    "writes-at-rest",
                    f"the operator writes {what} although nothing changes: {counted(count, 'time')} in an hour",
                    subject=f"{resource}/{subresource}",
                )
            ]
    return []
