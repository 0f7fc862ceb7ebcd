"""Creates a record in a name server, and stores its identifier afterwards."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import kubewright as kw


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""


class SiteStatus(kw.Model):
    """The observed state."""

    record: str = ""


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


class Records:
    """A name server in memory."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._records: dict[str, dict[str, str]] = state.setdefault("records", {})

    async def find(self, site: str) -> list[str]:
        """Returns the records of a site."""
        return [number for number, record in self._records.items() if record["site"] == site]

    async def create(self, site: str, target: str) -> str:
        """Creates a record, and returns its identifier."""
        number = str(uuid.uuid4())
        self._records[number] = {"site": site, "target": target}
        return number

    async def change(self, number: str, target: str) -> None:
        """Changes a record."""
        self._records[number]["target"] = target

    async def delete(self, number: str) -> None:
        """Deletes a record; one that is gone is fine."""
        self._records.pop(number, None)


async def connect() -> AsyncIterator[Records]:
    """There is no name server outside of the explorer."""
    raise NotImplementedError
    yield


records_of_broken = broken.provides(simulated=Records)(connect)
records_of_correct = correct.provides(simulated=Records)(connect)


@broken.reconciles(Site)
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Creates a second record if it is killed before it stores the first one."""
    records = ctx.use(records_of_broken)
    if not site.status.record:
        number = await records.create(site.metadata.uid, site.spec.message)
        await ctx.set_status(SiteStatus(record=number))
    else:
        await records.change(site.status.record, site.spec.message)


@broken.finalizes(Site)
async def clean_up_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the record that it knows."""
    if site.status.record:
        await ctx.use(records_of_broken).delete(site.status.record)


@correct.reconciles(Site)
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Finds the record by the site."""
    records = ctx.use(records_of_correct)
    found = await records.find(site.metadata.uid)
    if found:
        await records.change(found[0], site.spec.message)
    else:
        await records.create(site.metadata.uid, site.spec.message)


@correct.finalizes(Site)
async def clean_up_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes all records of the site."""
    records = ctx.use(records_of_correct)
    for number in await records.find(site.metadata.uid):
        await records.delete(number)
