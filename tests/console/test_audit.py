"""The audit log. It records which user changed which fields, and never a value."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kubewright.client import Conflict
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.console import Console, audit_to
from kubewright.console.forms import Writer, changed_fields

SECRET = "czNjcjN0LXZhbHVl"


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": True}, {"a": 1}, ["a"]),
        ({}, {"spec": {"size": 1, "ports": [{"port": 80}]}}, ["spec.ports[0].port", "spec.size"]),
        ({"spec": {"size": 1}}, {}, ["spec.size"]),
        ({"a": {"b": 1}}, {"a": [1]}, ["a"]),
        ({"a": [1, 2, 3]}, {"a": [1, 4]}, ["a[1]", "a[2]"]),
        ({"a": {}}, {"a": None}, ["a"]),
        ({}, {"labels": {"example.com/a": "x"}}, ['labels["example.com/a"]']),
        ({}, {"data": {'a"\n\x1b[31m': "x"}}, ['data["a\\"\\n\\u001b[31m"]']),
    ],
)
def test_names_the_fields_that_differ(before: Any, after: Any, fields: list[str]) -> None:
    assert changed_fields(before, after) == fields


@pytest.fixture
async def console(cluster: Cluster) -> AsyncIterator[Console]:
    async with Console(cluster.client(), clock=VirtualClock()) as made:
        yield made


async def writer(console: Console, path: str) -> Writer:
    kind = await console.kind(path)
    assert kind is not None
    return Writer(console.viewer("ann").client, kind.resource, console.audit.of("ann", kind))


def records(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    lines = [record.getMessage() for record in caplog.records if record.name == "kubewright.console.audit"]
    return [{name: value for name, value in json.loads(line).items() if name != "time"} for line in lines]


@pytest.mark.promise(
    "Access to the console and its cost",
    "The audit log records who changed which fields, and never a value.",
)
async def test_records_who_changed_which_fields_and_no_value(
    console: Console, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    secrets = await writer(console, "core/secrets")
    about = {"name": "db", "namespace": "default"}
    made = {"apiVersion": "v1", "kind": "Secret", "metadata": about, "data": {"password": SECRET}}
    await secrets.create(made, dry_run=True)
    await secrets.create(made)
    before = await secrets.read("db", "default")
    changed = {**before, "data": {"password": "b3RoZXI=", "user": SECRET}}
    await secrets.change(before, changed, dry_run=True)
    await secrets.change(before, changed)
    with pytest.raises(Conflict):
        await secrets.change(before, {**before, "data": {}})
    await secrets.delete("db", "default", before["metadata"]["uid"], "Background")

    same = {"user": "ann", "apiVersion": "v1", "kind": "Secret", "namespace": "default", "name": "db"}
    found = records(caplog)
    assert found[0].pop("fields") == ["apiVersion", "data.password", "kind", "metadata.name", "metadata.namespace"]
    assert found == [
        {**same, "verb": "create", "outcome": "ok"},
        {**same, "verb": "update", "outcome": "ok", "fields": ["data.password", "data.user"]},
        {**same, "verb": "update", "outcome": "Conflict", "fields": ["data.password"]},
        {**same, "verb": "delete", "outcome": "ok", "fields": []},
    ]
    assert SECRET not in caplog.text


async def test_bounds_the_number_of_fields_in_a_record(console: Console, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    maps = await writer(console, "core/configmaps")
    about = {"name": "many", "namespace": "default"}
    data = {f"key-{number}": "x" for number in range(1_000)}
    await maps.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": data})
    [record] = records(caplog)
    assert (len(record["fields"]), record["fieldsOmitted"]) == (100, 904)


async def test_records_sign_ins(console: Console, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    console.audit.signed_in("ann", "192.0.2.1", "token")
    console.audit.sign_in_failed("192.0.2.1")
    console.audit.signed_out("ann")
    assert records(caplog) == [
        {"user": "ann", "verb": "sign-in", "address": "192.0.2.1", "how": "token", "outcome": "ok"},
        {"user": "", "verb": "sign-in", "address": "192.0.2.1", "outcome": "refused"},
        {"user": "ann", "verb": "sign-out", "outcome": "ok"},
    ]


def modes(folder: Path) -> set[tuple[str, int]]:
    return {(one.name, one.stat().st_mode & 0o777) for one in folder.iterdir()}


async def test_writes_a_file_that_only_its_owner_can_read(
    console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubewright.console._audit._FILE_BYTES", 100)  # private: a real file would have megabytes
    file, audit = tmp_path / "audit.log", console.audit
    handler = audit_to(str(file))
    try:
        audit.signed_out("ann")
        audit.signed_out("ben")
    finally:
        logging.getLogger("kubewright.console.audit").removeHandler(handler)
        handler.close()
    assert modes(tmp_path) == {
        ("audit.log", 0o600),
        ("audit.log.1", 0o600),
    }
    assert json.loads(file.read_text())["user"] == "ben"
