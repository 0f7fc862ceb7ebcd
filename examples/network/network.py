"""Network: an external system, OpenStack Neutron, kept in sync with objects in the cluster.

Each Network has one network with one subnet in Neutron. The operator finds it by a tag with the object's uid, creates,
changes and replaces what differs, and deletes it when the object is deleted.

    python neutron_server.py &        # a small test server; or set NEUTRON_URL and NEUTRON_TOKEN to a real Neutron
    kubectl apply --server-side -k config/crd
    python network.py --kubeconfig ~/.kube/config
    kubectl apply -f example-network.yaml
"""

import argparse
from collections.abc import AsyncIterator
from typing import Annotated

from neutron import Neutron, NeutronError
from simulated_neutron import SimulatedNeutron

import kubewright as kw
from kubewright.api import meta

_CIDR = kw.Rule("isCIDR(self)", message="must be a CIDR such as 192.168.0.0/16")
_ADDRESS = kw.Rule("isIP(self)", message="must be an IP address")
_INSIDE = kw.Rule(
    "!isCIDR(self.cidr) || !isIP(self.gateway) || cidr(self.cidr).containsIP(self.gateway)",
    message="must be an address inside the cidr",
    field_path=".gateway",
)


@kw.constrain(_INSIDE)
class NetworkSpec(kw.Model):
    """The desired state."""

    cidr: Annotated[str, kw.Length(maximum=43), _CIDR]
    gateway: Annotated[str, kw.Length(maximum=39), _ADDRESS]


class NetworkStatus(kw.Model):
    """The observed state."""

    conditions: list[meta.Condition] | None = None


@kw.resource(
    "samplecrd.k8s.io/v1",
    api_approved="unapproved, sample",  # Kubernetes protects the groups under k8s.io
    columns={"CIDR": ".spec.cidr", "Synced": ".status.conditions[?(@.type=='Synced')].status"},
)
class Network(kw.Resource[NetworkSpec, NetworkStatus]):
    """A network in Neutron."""


operator = kw.Operator("network-controller", concurrency=2, resync=30)


@operator.provides(simulated=SimulatedNeutron)
async def neutron() -> AsyncIterator[Neutron]:
    """Connects to Neutron. The explorer uses a simulated one."""
    async with Neutron() as client:
        yield client


@operator.reconciles(Network)
async def sync(network: Network, ctx: kw.Context[Network]) -> None:
    """Makes Neutron match the Network. Each resync repairs drift."""
    try:
        changed = await match(network, ctx.use(neutron))
    except NeutronError as error:
        report_failure(ctx, error)
        raise  # retried with backoff
    ctx.set_condition("Synced", True, "Synced", "Neutron has this network")
    if changed:
        ctx.record("Synced", "Network synced successfully")


@operator.finalizes(Network)
async def clean_up(network: Network, ctx: kw.Context[Network]) -> None:
    """Deletes the network in Neutron, also if the Network was deleted while the operator was down."""
    try:
        for found in await ctx.use(neutron).networks(network.metadata.uid):
            await ctx.use(neutron).delete_network(found["id"])
    except NeutronError as error:
        report_failure(ctx, error)
        raise


async def match(network: Network, neutron: Neutron) -> bool:
    """Creates, changes and deletes in Neutron what differs. Returns whether anything did."""
    name, tag = network.metadata.name, network.metadata.uid
    first, *surplus = await neutron.networks(tag) or [await neutron.create_network(name, tag)]
    changed = bool(surplus)
    for extra in surplus:  # created twice, because a response was lost
        await neutron.delete_network(extra["id"])
    if tag not in first["tags"]:
        await neutron.tag_network(first["id"], tag)
        changed = True
    if first["name"] != name:
        await neutron.rename_network(first["id"], name)
        changed = True
    return await match_subnet(first["id"], network.spec, neutron) or changed


async def match_subnet(network: str, spec: NetworkSpec, neutron: Neutron) -> bool:
    """Does the same for the subnet. Neutron cannot change a CIDR, so the subnet is replaced."""
    changed, fitting = False, False
    for subnet in await neutron.subnets(network):
        if subnet["cidr"] != spec.cidr or fitting:
            await neutron.delete_subnet(subnet["id"])
            changed = True
        else:
            fitting = True
            if subnet["gateway_ip"] != spec.gateway:
                await neutron.change_gateway(subnet["id"], spec.gateway)
                changed = True
    if not fitting:
        await neutron.create_subnet(network, spec.cidr, spec.gateway)
    return changed or not fitting


def report_failure(ctx: kw.Context[Network], error: NeutronError) -> None:
    """Reports a Neutron error in the status and as an event."""
    ctx.set_condition("Synced", False, "NeutronFailed", str(error))
    ctx.record("SyncFailed", str(error), type="Warning")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, argument_default=argparse.SUPPRESS)
    parser.add_argument("--kubeconfig", help="path of the kubeconfig")
    parser.add_argument("--master", dest="server", help="URL of the API server; overrides the kubeconfig")
    operator.run(**vars(parser.parse_args()))
