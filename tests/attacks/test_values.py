"""Values that JSON cannot have, and bytes that are not text."""

from __future__ import annotations

import pytest

from tests.attacks.conftest import Api
from tests.attacks.harness import assault
from tests.attacks.requests import (
    MAPS,
    YAML,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"u"},"data":{"a":"\xff\xfe"}}', "application/json"),
        (b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: u}\ndata: {a: \xff\xfe}\n", YAML),
        (b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: u, generation: " + b"9" * 5_000 + b"}\n", YAML),
        (b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: u, generation: 0x" + b"f" * 50_000 + b"}\n", YAML),
        (b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: u, generation: .nan}\n", YAML),
        (b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: u, generation: .inf}\n", YAML),
        (b'{"kind":"ConfigMap","metadata":{"name":"u","generation":' + b"9" * 100_000 + b"}}", "application/json"),
        (b'{"kind":"ConfigMap","metadata":{"name":"u","generation":1e999999999}}', "application/json"),
    ],
    ids=["json-utf8", "yaml-utf8", "yaml-digits", "yaml-hex", "nan", "infinity", "json-digits", "json-exponent"],
)
async def test_never_answers_500_to_invalid_values(api: Api, body: bytes, kind: str) -> None:
    await api.send("DELETE", f"{MAPS}/u")

    async def attack() -> None:
        status, text = await api.send("POST", MAPS, body, kind)
        # The real server replaces invalid UTF-8, and stores the object.
        assert status in (201, 400, 409, 422), f"{status}: {text[:500]}"
        stored, text = await api.send("GET", f"{MAPS}/u")
        assert "NaN" not in text
        assert stored in (200, 404)

    await assault(api.victim, attack)
