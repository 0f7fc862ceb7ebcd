"""Patterns that are slow for an engine that backtracks, wherever we evaluate them."""

from __future__ import annotations

import itertools
import json

import pytest

from tests.attacks.conftest import Api
from tests.attacks.harness import Victim, assault
from tests.attacks.pages import NEW_SLOW, attack_editor, signed_in
from tests.attacks.payloads import (
    BACKTRACKING,
    SLOW_TEXT,
    definition,
)
from tests.attacks.requests import (
    DEFINITIONS,
    refused,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_evaluates_patterns_in_linear_time(api: Api) -> None:
    status, text = await api.send("POST", DEFINITIONS, definition("slows", {"pattern": BACKTRACKING}))
    assert status == 201, text
    names = itertools.count()

    async def attack() -> None:
        obj = {"apiVersion": "attacks.example.com/v1", "kind": "Slow", "metadata": {"name": f"s{next(names)}"}}
        body = json.dumps({**obj, "spec": {"text": SLOW_TEXT}}).encode()
        path = "/apis/attacks.example.com/v1/namespaces/default/slows"
        await refused(api, "POST", path, body, "application/json", 422)

    await assault(api.victim, attack)


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "(?>a)", "(", "a{1001}"])
async def test_rejects_a_pattern_that_is_not_re2(api: Api, pattern: str) -> None:
    status, text = await api.send("POST", DEFINITIONS, definition("bads", {"pattern": pattern}))
    assert (status, "pattern" in text) == (422, True), text


async def test_evaluates_cel_patterns_in_linear_time_for_text_with_nul(api: Api) -> None:
    rule = {"rule": f"self.matches('{BACKTRACKING}')", "message": "only a"}
    status, text = await api.send(
        "POST", DEFINITIONS, definition("rules", {"maxLength": 100, "x-kubernetes-validations": [rule]})
    )
    assert status == 201, text
    names = itertools.count()

    async def attack() -> None:
        obj = {"apiVersion": "attacks.example.com/v1", "kind": "Rule", "metadata": {"name": f"r{next(names)}"}}
        body = json.dumps({**obj, "spec": {"text": SLOW_TEXT + "\0"}}).encode()
        path = "/apis/attacks.example.com/v1/namespaces/default/rules"
        await refused(api, "POST", path, body, "application/json", 422)

    await assault(api.victim, attack)


async def test_checks_patterns_of_forms_in_linear_time(console: Victim) -> None:
    text = f"apiVersion: attacks.example.com/v1\nkind: Slow\nmetadata: {{name: a}}\nspec: {{text: '{SLOW_TEXT}'}}\n"
    async with signed_in(console) as session:
        await attack_editor(session, console, text, NEW_SLOW)
