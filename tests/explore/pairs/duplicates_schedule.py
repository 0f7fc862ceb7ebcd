"""Runs something on a schedule, and runs it twice after a crash."""

from __future__ import annotations

import contextlib
from typing import Annotated

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import AlreadyExists


class BackupSpec(kw.Model):
    """The desired state."""

    minutes: Annotated[int, kw.Range(1)] = 15
    keep: Annotated[int, kw.Range(1)] = 3


class BackupStatus(kw.Model):
    """The observed state."""

    last: str = ""


@kw.resource("pairs.example.com/v1")
class Backup(kw.Resource[BackupSpec, BackupStatus]):
    """A backup."""


broken = kw.Operator("backup-operator")
correct = kw.Operator("backup-operator")
OWNS = [kw.Owns(core.ConfigMap, verbs=["get", "list", "watch", "create", "delete"])]


async def prune(backup: Backup, ctx: kw.Context[Backup]) -> None:
    """Deletes all backups except the last ones."""
    made = sorted(ctx.owned(core.ConfigMap), key=lambda each: (each.metadata.labels["slot"], each.metadata.name))
    for old in made[: -backup.spec.keep]:
        await ctx.delete(old)


def next_slot(backup: Backup, ctx: kw.Context[Backup]) -> kw.Result:
    """Returns the time until the next slot."""
    every = backup.spec.minutes * 60
    return kw.Result(requeue_after=every - ctx.clock.now().timestamp() % every)


def slot_of(backup: Backup, ctx: kw.Context[Backup]) -> str:
    """Returns the time at which the current slot begins."""
    every = backup.spec.minutes * 60
    return str(int(ctx.clock.now().timestamp() // every * every))


@broken.reconciles(Backup, owns=OWNS)
async def sync_broken(backup: Backup, ctx: kw.Context[Backup]) -> kw.Result:
    """Writes to the status that the slot has run, after it has."""
    slot = slot_of(backup, ctx)
    if backup.status.last != slot:
        metadata = meta.ObjectMeta(generate_name=f"{backup.metadata.name}-", labels={"slot": slot})
        await ctx.create(core.ConfigMap(metadata=metadata))
        await ctx.patch_status(last=slot)
    await prune(backup, ctx)
    return next_slot(backup, ctx)


@correct.reconciles(Backup, owns=OWNS)
async def sync_correct(backup: Backup, ctx: kw.Context[Backup]) -> kw.Result:
    """Names each backup after its slot."""
    slot = slot_of(backup, ctx)
    if backup.status.last != slot:
        metadata = meta.ObjectMeta(name=f"{backup.metadata.name}-{slot}", labels={"slot": slot})
        with contextlib.suppress(AlreadyExists):
            await ctx.create(core.ConfigMap(metadata=metadata))
        await ctx.patch_status(last=slot)
    await prune(backup, ctx)
    return next_slot(backup, ctx)
