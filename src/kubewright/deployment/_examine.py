"""`examine`: checks whether a program will work on a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Final

from kubewright.api import Object, apiextensions, authorization, core, is_condition_true, to_dict
from kubewright.client import ApiError, Client, Forbidden, NotFound
from kubewright.controller.registration import resolve_caches
from kubewright.counts import counted
from kubewright.crd import crds_of, describe_blockers, objects_with_finalizers
from kubewright.deployment._caches import cache_findings
from kubewright.deployment._finding import Finding
from kubewright.deployment._serving import not_served
from kubewright.deployment._webhooks import webhook_findings
from kubewright.manifests import Project, objects
from kubewright.operator import Operator, for_reviewing
from kubewright.rbac import CLUSTER, OWN, WATCHED, Permission
from kubewright.version import TESTED_KUBERNETES

__all__ = ["Finding", "examine"]

_OLDEST_MINOR: Final = 29  # older servers lack features that Kubewright uses
Definition = apiextensions.CustomResourceDefinition


async def examine(
    client: Client,
    operators: Sequence[Operator],
    kinds: Sequence[type[Object]],
    *,
    converted: Collection[str] = (),
    projects: Sequence[Project] = (),
) -> AsyncIterator[Finding]:
    """Checks whether a program will work on a cluster, and yields a finding for each check.

    Checks the version, definitions, webhooks, namespaces and permissions, and describes the caches. `projects` are the
    deployed projects. `converted` contains the names of definitions whose objects the program converts, as in
    `kubewright.manifests.Program`.
    """
    try:
        version = await client.server_version()
    except ApiError as error:
        yield Finding(
            "error",
            f"the API server does not answer: {error}",
            "check that the cluster is running and its address is right",
        )
        return
    yield _version(version.git_version, version.minor)
    optional = {kind for operator in operators for kind in _optional_kinds(operator)}
    for definition in crds_of(*(kind for kind in kinds if kind not in optional), descriptions=False):
        yield await _definition(client, definition, converted)
    async for finding in webhook_findings(client, kinds):
        yield finding
    for project in projects:
        for missing in await not_served(client, objects(project)):
            yield Finding("error", f"{missing.what}: `kubewright deploy` cannot work", missing.advice)
    for operator in operators:
        for namespace in operator.settings.namespaces:
            yield await _namespace(client, namespace)
        async for finding in _permissions(client, operator):
            yield finding
        async for finding in cache_findings(client, operator):
            yield finding
        if operator.settings.metrics_secure is not False:
            async for finding in _secure_metrics(client, operator):
                yield finding
        if (write_loop := await _newest_write_loop(client, operator)) is not None:
            yield write_loop


def _optional_kinds(operator: Operator) -> set[type[Object]]:
    """Returns the kinds that the operator does not require. `cache_findings` reports the missing ones."""
    uses = [use for one in operator.registrations() for use in one.caches]
    return {use.kind for use in resolve_caches(uses) if use.options.optional}


async def _newest_write_loop(client: Client, operator: Operator) -> Finding | None:
    """Returns a finding for the newest write loop that the operator recorded as an event; None without one."""
    try:
        events = await client.list(core.Event, "", fields="reason=WriteLoop")
    except ApiError:
        return None  # this account is not allowed to read events
    mine = [one for one in events if operator.name in (one.reporting_component, one.source and one.source.component)]
    if not mine:
        return None
    newest = max(mine, key=lambda one: str(one.last_timestamp or one.event_time or one.metadata.creation_timestamp))
    about = newest.involved_object
    where = f"{about.kind} {about.namespace}/{about.name}" if about.namespace else f"{about.kind} {about.name}"
    return Finding("warning", f"operator {operator.name} is in a write loop: {where}", newest.message or "")


def _version(git_version: str, minor: str) -> Finding:
    number = int("".join(character for character in minor if character.isdigit()) or 0)
    oldest, newest = (minor for _, minor in TESTED_KUBERNETES)
    tested = f"1.{oldest} to 1.{newest}" if oldest < newest else f"1.{newest}"
    what = f"the API server is {git_version}"
    if number < _OLDEST_MINOR:
        advice = f"Kubewright is tested with {tested}; servers before 1.{_OLDEST_MINOR} lack features that it uses"
        return Finding("warning", what, advice)
    if not oldest <= number <= newest:
        age = "older" if number < oldest else "newer"
        return Finding("warning", what, f"it is {age} than the versions that Kubewright is tested with: {tested}")
    return Finding("ok", what)


async def _definition(client: Client, wanted: Definition, converted: Collection[str]) -> Finding:
    name = wanted.metadata.name or ""
    try:
        found = await client.get(Definition, name)
    except NotFound:
        return Finding("error", f"{name} is not defined", "run `kubewright install`")
    except Forbidden:
        return Finding("warning", f"cannot check whether {name} is defined", "you are not allowed to read definitions")
    if found.metadata.deletion_timestamp is not None:
        return Finding(
            "error",
            f"{name} is being deleted",
            f"it waits: {describe_blockers(await objects_with_finalizers(client, found))}",
        )
    if not is_condition_true(found.status, "Established"):
        return Finding("error", f"{name} is defined, but not served", "see `kubectl describe crd " + name + "`")
    if name in converted and not _is_converted(found):
        return Finding(
            "error",
            f"{name} is not converted in the cluster: objects are misread in versions other than the stored one",
            "let the API server call the operator: `kubewright run --install-crds --webhook-url ...`, or"
            " `kubewright deploy`",
        )
    schemas = [{one.name: to_dict(one.schema) for one in definition.spec.versions} for definition in (found, wanted)]
    if _without_descriptions(schemas[0]) != _without_descriptions(schemas[1]):
        return Finding(
            "warning", f"{name} in the cluster differs from the program's definition", "run `kubewright install`"
        )
    return Finding("ok", f"{name} is defined and served")


def _is_converted(definition: Definition) -> bool:
    return definition.spec.conversion is not None and definition.spec.conversion.webhook is not None


def _without_descriptions(schema: object) -> object:
    """Returns a schema without its descriptions, which do not affect validation."""
    if isinstance(schema, dict):
        return {
            key: _without_descriptions(value)
            for key, value in schema.items()
            if key != "description" or isinstance(value, dict)
        }
    return [_without_descriptions(value) for value in schema] if isinstance(schema, list) else schema


async def _namespace(client: Client, name: str) -> Finding:
    try:
        await client.get(core.Namespace, name)
    except NotFound:
        return Finding("warning", f"the namespace {name} does not exist", f"run `kubectl create namespace {name}`")
    except Forbidden:
        return Finding(
            "warning", f"cannot check whether the namespace {name} exists", "you are not allowed to read namespaces"
        )
    return Finding("ok", f"the namespace {name} exists")


async def _permissions(client: Client, operator: Operator) -> AsyncIterator[Finding]:
    """Yields a finding for each of the operator's calls that this account may not make.

    In a pod, the operator uses another account.
    """
    permissions = operator.permissions()
    missing = [one for one in permissions if not await _has_permission(client, operator, one)]
    if not missing:
        count = counted(len(permissions), "permission")
        yield Finding("ok", f"this account is allowed to do everything that {operator.name} does: {count}")
    for one in missing:
        why = f", required by {one.why}" if one.why else ""
        yield Finding(
            "warning" if one.rare else "error",
            f"this account is not allowed to {one}{why}",
            "use another account, or run the operator with its own: `kubewright deploy`",
        )


async def _secure_metrics(client: Client, operator: Operator) -> AsyncIterator[Finding]:
    """Checks whether secure metrics would work. An operator in a cluster uses them by default."""
    if missing := [one for one in for_reviewing() if not await _is_allowed(client, one, "")]:
        yield Finding(
            "warning",
            f"this account is not allowed to {' and '.join(map(str, missing))}: secure metrics would answer 503",
            f"apply the ClusterRole {operator.name}-metrics-auth, as `kubewright deploy` does; or serve plain HTTP"
            " to every client: metrics_secure=False",
        )


async def _has_permission(client: Client, operator: Operator, wanted: Permission) -> bool:
    namespaces = {
        WATCHED: operator.settings.namespaces or ("",),
        OWN: (client.namespace,),
        CLUSTER: ("",),
    }.get(wanted.where, (wanted.where,))
    return all([await _is_allowed(client, wanted, namespace) for namespace in namespaces])


async def _is_allowed(client: Client, wanted: Permission, namespace: str) -> bool:
    resource, _, subresource = wanted.resource.partition("/")
    spec = authorization.SelfSubjectAccessReviewSpec()
    if wanted.url:
        spec.non_resource_attributes = authorization.NonResourceAttributes(path=wanted.url, verb=wanted.verb)
    else:
        spec.resource_attributes = authorization.ResourceAttributes(
            group=wanted.group,
            resource=resource,
            subresource=subresource or None,
            verb=wanted.verb,
            namespace=namespace or None,
            name=wanted.name or None,
        )
    answer = await client.create(authorization.SelfSubjectAccessReview(spec=spec))
    return bool(answer.status and answer.status.allowed)
