"""Attacks on a console that an operator serves, by a viewer who has signed in and has no other rights."""

from __future__ import annotations

import aiohttp
import pytest

from kubewright.api import ObjectMeta, core
from kubewright.client import Client, load_config
from tests.attacks.harness import COPIES, Victim, assault
from tests.attacks.pages import attack_editor, signed_in
from tests.attacks.payloads import (
    DEEP_YAML,
    alias_bomb,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("shape", [*DEEP_YAML, "aliases"])
async def test_survives_hostile_yaml_from_a_viewer(console: Victim, shape: str) -> None:
    text = {**DEEP_YAML, "aliases": alias_bomb()}[shape].decode()
    async with signed_in(console) as session:
        await attack_editor(session, console, text)


async def test_survives_a_filter_of_many_letters(console: Victim) -> None:
    async with signed_in(console) as session:

        async def attack() -> None:
            for text in ("(a%2B)%2B$", "%5C" * 2_000, "a" * 8_000):
                async with session.get(f"/kinds/core/configmaps?filter={text}") as answer:
                    assert answer.status in (200, 400, 414, 429, 431), await answer.text()

        await assault(console, attack)


async def test_keeps_other_viewers_signed_in_while_one_signs_in_again_and_again(console: Victim) -> None:
    tokens = {name: await token_of(console, name) for name in ("mallory", "ann")}
    url = "/".join(console.facts["console"].split("/")[:3])
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(url, cookie_jar=jar, headers={"Origin": url}) as ann:
        async with ann.post("/sign-in", data={"token": tokens["ann"]}, allow_redirects=False) as answer:
            assert answer.status == 303, await answer.text()

        async def attack() -> None:
            async with aiohttp.ClientSession(url, cookie_jar=aiohttp.DummyCookieJar(), headers={"Origin": url}) as one:
                for _ in range(1_005 if COPIES == 1 else 20):
                    async with one.post("/sign-in", data={"token": tokens["mallory"]}, allow_redirects=False) as answer:
                        assert answer.status in (303, 429)

        await assault(console, attack)
        async with ann.get("/", headers={"Accept": "text/html"}, allow_redirects=False) as answer:
            assert answer.status == 200, "another viewer's sign-ins ended this session"


async def token_of(victim: Victim, name: str) -> str:
    """A bearer token of a new service account."""
    async with Client(load_config(kubeconfig=victim.facts["kubeconfig"])) as client:
        await client.create(core.ServiceAccount(metadata=ObjectMeta(name=name, namespace="default")))
        made = await client.create_token(name, "default")
        assert made.status is not None
        return made.status.token or ""


async def test_bounds_the_pages_of_one_viewer(console: Victim) -> None:
    async with signed_in(console) as session:

        async def attack() -> None:
            for _ in range(150 if COPIES == 1 else 3):
                async with session.get("/") as answer:
                    assert answer.status in (200, 429)

        await assault(console, attack)
