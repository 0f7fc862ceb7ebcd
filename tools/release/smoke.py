"""A smoke test of an installed Kubewright: `python smoke.py VERSION [EXTRA...]`. It needs nothing but the installation.

Every installation runs an operator on the embedded cluster and the command line. An extra also runs what it is for.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import kubewright as kw
from kubewright.api import core, meta
from kubewright.cluster import Cluster


class CupSpec(kw.Model):
    size: int = 1


class CupStatus(kw.Model):
    filled: bool = False


@kw.resource("smoke.example.com/v1")
class Cup(kw.Resource[CupSpec, CupStatus]):
    """A kind without rules, which need an extra."""


class RoomSpec(kw.Model):
    name: Annotated[str, kw.Pattern("^[a-z]+$")] = "a"
    beds: Annotated[int, kw.Rule("self % 2 == 0")] = 2


@kw.resource("smoke.example.com/v1")
class Room(kw.Resource[RoomSpec, CupStatus]):
    """A kind with rules."""


operator = kw.Operator("smoke")


@operator.reconciles(Cup, owns=[core.ConfigMap])
async def fill(cup: Cup, ctx: kw.Context[Cup]) -> None:
    await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=cup.metadata.name), data={"size": str(cup.spec.size)}))
    await ctx.set_status(CupStatus(filled=True))


async def runs_an_operator() -> None:
    async with Cluster() as cluster, operator.running(cluster) as running:
        client = cluster.client()
        await client.create(Cup(metadata=meta.ObjectMeta(name="mug"), spec=CupSpec(size=3)))
        await running.settled()
        made = await client.get(core.ConfigMap, "mug")
        assert made.data == {"size": "3"}, made
        assert (await client.get(Cup, "mug")).status.filled


def has_a_command_line(expected: str) -> None:
    def run(*words: str) -> str:
        command = [sys.executable, "-m", "kubewright", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert run("--version").strip() == f"kubewright {expected}"
    assert run("docs", "exit-codes", "--text").startswith("# Exit codes")
    assert run("explain", "KW101").startswith("KW101")
    with tempfile.TemporaryDirectory() as folder:
        project = str(Path(folder) / "guestbook")
        run("init", project, "--domain", "my.domain")
        assert (Path(project) / "kubewright.toml").is_file()


def checks_rules() -> None:
    for spec in (RoomSpec(name="1"), RoomSpec(beds=3)):
        try:
            kw.validate(Room(metadata=meta.ObjectMeta(name="a", namespace="b"), spec=spec))
        except kw.ValidationError:
            continue
        raise AssertionError(f"{spec} is valid")


def has_a_console() -> None:
    import nicegui

    from kubewright.console import Console

    assert nicegui.__version__
    assert Console.__name__ == "Console"


def builds_with_go() -> None:
    from kubewright.testing.binaries import find_go

    assert find_go().version


def traces() -> None:
    from kubewright.observe import Tracing

    assert Tracing().tracer is not None


def reads_pydantic() -> None:
    import pydantic

    from kubewright.crd import crd_of

    class Spec(pydantic.BaseModel):
        guests: int = 2

    @kw.resource("smoke.example.com/v1")
    class Hotel(kw.Resource[Spec, CupStatus]):
        """A kind with a pydantic model."""

    assert "guests" in repr(crd_of(Hotel))


CHECKS: dict[str, list[Callable[[], None]]] = {
    "": [],
    "test": [checks_rules],
    "console": [has_a_console],
    "dev": [checks_rules, has_a_console],
    "go": [builds_with_go],
    "otel": [traces],
    "pydantic": [reads_pydantic],
}


def main(expected: str, *extras: str) -> None:
    """Runs all checks of an installation; the first failure is raised."""
    assert version("kubewright") == kw.__version__ == expected, kw.__version__
    asyncio.run(runs_an_operator())
    has_a_command_line(expected)
    for extra in extras:
        for check in CHECKS[extra]:
            check()


if __name__ == "__main__":
    main(*sys.argv[1:])
