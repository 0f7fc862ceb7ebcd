"""`apply_file`: applies the objects of files in an order in which the server accepts them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from kubewright.api import Object, ResourceInfo, Untyped, encode, info_of
from kubewright.api.kinds import builtin_kind
from kubewright.arguments import check_field_manager
from kubewright.client._errors import ApiError, NotFound, NotKubernetes, Unauthorized, Unavailable
from kubewright.client._reads import Reads
from kubewright.client._requests import APPLY_TYPE, with_body
from kubewright.client.files import Action, AppliedObject, ApplyFileError, Document, Failure, FilePath, read_documents
from kubewright.clock import TimeLimitExceeded, within
from kubewright.durations import Duration, check_duration, format_duration
from kubewright.suggestions import nearest

__all__ = ["FileApplies"]

_DEFINITIONS: Final = Untyped.kind_of(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", plural="customresourcedefinitions", namespaced=False
)
_DEFINITION: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_NAMESPACE: Final = ("v1", "Namespace")
_FIRST: Final = {_NAMESPACE: 0, _DEFINITION: 1}
_POLL: Final = 0.05
_SERVER_FIELDS: Final = frozenset(
    [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "selfLink",
    ]
)
_FATAL: Final = (NotKubernetes, Unauthorized, Unavailable)
"""Errors that every further object would have, too."""
_FIELDS: Final = (
    re.compile(r'unknown field "([^"]+)"'),
    re.compile(r"(\.[\w.\-\[\]\"=]+): (?:field not declared|expected )"),
)


class FileApplies(Reads):
    """The verb for objects in files."""

    async def apply_file(
        self,
        *paths: FilePath,
        kinds: Sequence[type[Object]] = (),
        namespace: str | None = None,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        recursive: bool = False,
        timeout: Duration = 30.0,
        report: Callable[[AppliedObject], None] | None = None,
    ) -> list[AppliedObject]:
        """Applies all objects of files, folders and binary streams (server-side apply), and returns the results.

        Namespaces come first, then CustomResourceDefinitions, then everything else in the order of the files. Waits
        until the definitions are served. All files are read before the first request.

        Results are typed for built-in kinds and for `kinds`, and `Untyped` otherwise. The server gets the documents as
        they are: a field that it does not know is an error.

        Args:
            paths: files, folders with `.yaml`, `.yml` and `.json` files, or streams such as `sys.stdin.buffer`.
            kinds: classes of custom resources, for typed results.
            namespace: the namespace of objects that name none; an object that names another one is an error.
            field_manager: the name under which the fields are owned. Default: the client's.
            force: take over fields that other managers own.
            dry_run: the server validates and stores nothing. Objects that depend on a definition or namespace of the
                same files that does not exist yet are skipped.
            recursive: also use the folders inside a folder.
            timeout: how long to wait until definitions are served.
            report: called with each result when it is known.

        Raises `ApplyFileError` with all problems. After a problem with one object, the others are still applied.
        """
        seconds = check_duration("timeout", timeout)
        if field_manager is not None:
            check_field_manager(field_manager)
        with self.clock.hold("the files to apply"):
            documents = await asyncio.to_thread(read_documents, *paths, recursive=recursive)
        work = _Work(documents, kinds, namespace)
        await self._check_kinds(work)
        for document in sorted(documents, key=lambda one: _FIRST.get(_kind(one), len(_FIRST))):
            if _kind(document) not in _FIRST:
                await self._wait_for_definitions(work, seconds)
            try:
                done = await self._apply_document(work, document, field_manager, force=force, dry_run=dry_run)
            except (ApiError, ValueError) as error:
                work.fail(document, error)
                if isinstance(error, _FATAL):
                    break
                continue
            work.applied.append(done)
            if report is not None:
                report(done)
            if _kind(document) == _DEFINITION and not dry_run:
                work.new_definitions.append(document)
        await self._wait_for_definitions(work, seconds)
        return work.result()

    async def _check_kinds(self, work: _Work) -> None:
        """Raises `ApplyFileError` for kinds that neither the server nor the files define, before anything is sent."""
        failures = []
        for document in work.documents:
            if _kind(document) in work.infos or _kind(document) in work.defined:
                continue
            try:
                work.infos[_kind(document)] = await self.discovery.find(*_kind(document))
            except NotFound:
                failures.append(Failure(document.at("kind"), await self._unknown_kind(document)))
        failures += [
            Failure(
                document.at("metadata.namespace"),
                f"the object is in the namespace {document.namespace!r}, but {work.namespace!r} was given",
            )
            for document in work.documents
            if work.namespace and document.namespace and document.namespace != work.namespace
        ]
        if failures:
            raise ApplyFileError(failures)

    async def _unknown_kind(self, document: Document) -> str:
        served = [one.info for one in await self.discovery.resources()]
        message = f"the server does not serve {document.kind} of {document.api_version}"
        versions = [info.api_version for info in served if info.kind == document.kind]
        if versions:
            return f"{message}; it serves {document.kind} of {', '.join(dict.fromkeys(versions))}"
        meant = nearest(document.kind, {info.kind for info in served})
        hint = f"did you mean {meant}?" if meant else "install its CustomResourceDefinition first"
        return f"{message}; {hint}"

    async def _wait_for_definitions(self, work: _Work, seconds: float) -> None:
        """Waits until the definitions that were applied are served."""
        waiting, work.new_definitions = work.new_definitions, []
        for document in waiting:
            try:
                await within(self._clock, seconds, self._established(document))
            except TimeLimitExceeded:
                problem = f"the definition was applied, but is not served after {format_duration(seconds)}"
                work.failures.append(Failure(document.location, f"{document.name}: {problem}"))
            except ApiError as error:
                work.fail(document, error)

    async def _established(self, document: Document) -> None:
        found = await self.wait_for(_DEFINITIONS, document.name, _is_established)
        spec = found["spec"]
        for version in spec["versions"]:
            wanted = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
            while version["served"] and wanted not in _served(await self.discovery.resources(refresh=True)):
                await self._clock.sleep(_POLL)

    async def _apply_document(
        self, work: _Work, document: Document, field_manager: str | None, *, force: bool, dry_run: bool
    ) -> AppliedObject:
        info = work.infos.get(_kind(document))
        if info is None:  # its definition is in these files
            try:
                info = work.infos[_kind(document)] = await self.discovery.find(*_kind(document))
            except NotFound:
                if not dry_run:
                    raise
                return work.skipped(document, work.defined[_kind(document)])
        where = self._namespace(info, document.namespace or work.namespace)
        untyped = _untyped(info)
        before = await self.find(untyped, document.name, where or None)
        query = self._write_query(dry_run=dry_run, field_manager=field_manager)
        if force:
            query.append(("force", "true"))
        request = self._for_object("PATCH", "patch", info, where or None, document.name, query=query)
        body = encode(_body(document.content, info))
        kind = work.classes.get(_kind(document)) or builtin_kind(*_kind(document)) or untyped
        try:
            after = await self._object(kind, with_body(request, body, APPLY_TYPE, repeatable=True))
        except NotFound:
            if dry_run and where in work.namespaces:
                return work.skipped(document, info)
            raise
        action = _action(before, after, dry_run=dry_run)
        return AppliedObject(action, info, document.name, where, document.location, after, dry_run)


class _Work:
    """The state of one `apply_file`."""

    def __init__(self, documents: list[Document], kinds: Sequence[type[Object]], namespace: str | None) -> None:
        self.documents = documents
        self.namespace = namespace or ""
        self.classes = {(info_of(kind).api_version, info_of(kind).kind): kind for kind in kinds}
        self.infos: dict[tuple[str, str], ResourceInfo] = {}
        self.defined = {key: info for one in documents if _kind(one) == _DEFINITION for key, info in _defined(one)}
        self.namespaces = {one.name for one in documents if _kind(one) == _NAMESPACE}
        self.new_definitions: list[Document] = []
        self.applied: list[AppliedObject] = []
        self.failures: list[Failure] = []

    def skipped(self, document: Document, info: ResourceInfo) -> AppliedObject:
        where = (document.namespace or self.namespace) if info.namespaced else ""
        return AppliedObject("skipped", info, document.name, where, document.location, dry_run=True)

    def fail(self, document: Document, error: Exception) -> None:
        fields = _fields_of(error)
        location = document.at(fields[0]) if fields else document.location
        self.failures.append(Failure(location, str(error)))

    def result(self) -> list[AppliedObject]:
        if self.failures:
            untried = len(self.documents) - len(self.applied) - len(self.failures)
            raise ApplyFileError(self.failures, self.applied, untried=max(untried, 0), sent=True)
        return self.applied


def _kind(document: Document) -> tuple[str, str]:
    return document.api_version, document.kind


def _defined(document: Document) -> list[tuple[tuple[str, str], ResourceInfo]]:
    """Returns the kinds of a definition; none if it is not a valid one, which the server reports."""
    try:
        spec = document.content["spec"]
        names = spec["names"]
        return [
            (
                (f"{spec['group']}/{version['name']}", names["kind"]),
                ResourceInfo(
                    group=spec["group"],
                    version=version["name"],
                    kind=names["kind"],
                    plural=names["plural"],
                    singular=names.get("singular") or names["kind"].lower(),
                    namespaced=spec["scope"] == "Namespaced",
                ),
            )
            for version in spec["versions"]
        ]
    except (KeyError, TypeError, AttributeError):
        return []


def _is_established(definition: Untyped) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


def _served(resources: Sequence[Any]) -> set[tuple[str, str]]:
    return {(one.info.api_version, one.info.kind) for one in resources}


def _untyped(info: ResourceInfo) -> type[Untyped]:
    return Untyped.kind_of(
        info.api_version,
        info.kind,
        plural=info.plural,
        singular=info.singular,
        namespaced=info.namespaced,
        subresources=info.subresources,
    )


def _body(content: Mapping[str, Any], info: ResourceInfo) -> dict[str, Any]:
    """Returns the document without fields that only the server writes, as `kubectl get -o yaml` prints them."""
    metadata = {name: value for name, value in content["metadata"].items() if name not in _SERVER_FIELDS}
    kept = {name: value for name, value in content.items() if name != "status" or "status" not in info.subresources}
    return {**kept, "metadata": metadata}


def _action(before: Object | None, after: Object, *, dry_run: bool) -> Action:
    if before is None or before.metadata.uid != after.metadata.uid:
        return "created"
    if dry_run:
        return "unchanged" if _content(before) == _content(after) else "configured"
    return "unchanged" if before.metadata.resource_version == after.metadata.resource_version else "configured"


def _content(obj: Object) -> Any:
    """Returns an object for a comparison. A dry run changes the managed fields even if nothing else changes."""
    origin = obj.metadata.origin
    assert origin is not None
    content: dict[str, Any] = msgspec.json.decode(origin.raw)
    content["metadata"].pop("managedFields", None)
    return content


def _fields_of(error: Exception) -> list[str]:
    """Returns the fields that an error is about."""
    if not isinstance(error, ApiError):
        return []
    fields = [cause.field for cause in error.causes if cause.field]
    return fields or [found for pattern in _FIELDS for found in pattern.findall(error.status.message)]
