"""The benchmark's operator on Kubewright, in deployed shape: probes, metrics and leader election are on."""

import os

import kubewright as kw
from benchmarks.peers.arguments import operator_arguments
from benchmarks.peers.kubewright_types import Foo, FooStatus
from benchmarks.peers.protocol import Progress
from benchmarks.samples import WRITTEN
from kubewright.api import core, meta

arguments = operator_arguments()
progress = Progress(arguments.objects, arguments.writes)
operator = kw.Operator(
    "benchmark",
    namespaces=[arguments.namespace],
    health_bind="127.0.0.1:0",
    metrics_bind="127.0.0.1:0",
    leader_elect=True,
    lease_name=f"benchmark-{os.getpid()}",  # the operator of the round before may not have released its Lease
    lease_namespace=arguments.namespace,
)


@operator.reconciles(Foo, owns=[core.ConfigMap] if arguments.work else [], concurrency=arguments.workers)
async def reconcile(foo: Foo, ctx: kw.Context[Foo]) -> None:
    progress.began()
    if arguments.work:
        child = core.ConfigMap(
            metadata=meta.ObjectMeta(name=foo.metadata.name), data={"deploymentName": foo.spec.deployment_name}
        )
        await ctx.apply(child)
        await ctx.set_status(FooStatus(available_replicas=1))
    progress.reconciled(ctx.key, (foo.metadata.annotations or {}).get(WRITTEN))


operator.run(kubeconfig=arguments.kubeconfig)
