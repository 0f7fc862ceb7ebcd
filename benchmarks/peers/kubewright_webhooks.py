"""A webhook server in a separate process: prints its address, and serves until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import uvloop

import kubewright as kw
from benchmarks.peers.protocol import say
from kubewright.webhook import FieldError, ThrowAwayCertificate, WebhookServer


class ToySpec(kw.Model):
    """What is asked for."""

    size: int
    color: str | None = None


@kw.resource("example.com/v1")
class Toy(kw.Resource[ToySpec, None]):
    """A small object."""


operator = kw.Operator("webhooks")


@operator.validates(Toy, name="async.toys.example.com")
async def check(toy: Toy) -> FieldError | None:
    return FieldError.invalid("spec.size", toy.spec.size, "must be 10 or less") if toy.spec.size > 10 else None


@operator.validates(Toy, name="plain.toys.example.com")
def check_in_a_thread(toy: Toy) -> FieldError | None:
    return FieldError.invalid("spec.size", toy.spec.size, "must be 10 or less") if toy.spec.size > 10 else None


@operator.defaults(Toy, name="fill.toys.example.com")
async def fill_in(toy: Toy) -> None:
    toy.spec.color = toy.spec.color or "red"


async def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ca", type=Path, required=True)
    arguments = parser.parse_args()
    certificate = ThrowAwayCertificate(["127.0.0.1"])
    arguments.ca.write_bytes(certificate.ca_bundle)
    async with WebhookServer(operator.webhooks, certificate, port=0) as server:
        say("serving", port=server.port)
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main())
