"""`@resource("example.com/v1")`, which makes a class a kind.

It attaches a `ResourceInfo`, which is all that the client needs, and a `Definition`. There is no registry.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

from kubewright.api._object import Object, ResourceInfo, info_of
from kubewright.api._spec_status import Resource, bind_spec_and_status, model_in
from kubewright.api.kinds._definition import Column, Conversion, Definition, Scale, make_definition
from kubewright.api.kinds._form import Form
from kubewright.api.kinds._states import States
from kubewright.arguments import check_string, known_options

__all__ = ["definition_of", "pluralize", "resource"]

ObjectT = TypeVar("ObjectT", bound="type[Object]")

_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
# The server also accepts `postgresql`. Allowed only with an explicit plural, for a kind that another project defines.
_ANY_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_VERSION = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@known_options
def resource(
    api_version: str,
    *,
    kind: str | None = None,
    plural: str | None = None,
    singular: str | None = None,
    list_kind: str | None = None,
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    scope: Literal["Namespaced", "Cluster"] = "Namespaced",
    status_subresource: bool | None = None,
    scale_subresource: bool | Scale = False,
    columns: Mapping[str, str | Column] | None = None,
    states: States | None = None,
    form: Form | None = None,
    selectable_fields: Sequence[str] = (),
    served: bool = True,
    storage: bool | None = None,
    deprecated: bool | str = False,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    api_approved: str | None = None,
    conversion: Conversion | None = None,
) -> Callable[[ObjectT], ObjectT]:
    """Makes a class a kind.

    The client needs only the names. The rest is for the CustomResourceDefinition (`kubewright.crd`). Raises TypeError
    for a constraint that does not apply to its field, and for a path that does not exist. If annotations name classes
    that are defined later in the file, both are checked with the definition instead.

    Args:
        api_version: group and version, `example.com/v1alpha1`.
        kind: the name of the kind. Default: the name of the class.
        plural: the name of the resource in URLs. Default: the plural of the kind, in lower case.
        singular: the singular name. Default: the kind in lower case.
        list_kind: the kind of lists. Default: the kind followed by `List`.
        short_names: names that `kubectl get` accepts instead of the plural.
        categories: groups of kinds that `kubectl get` accepts, such as `all`.
        scope: whether objects are in a namespace.
        status_subresource: whether the status is written through `/status`. Default: true if the status is a model,
            also an optional one (`FooStatus | None`).
        scale_subresource: whether the kind has `/scale`, and its paths. True is `Scale()`.
        columns: the columns of `kubectl get` by title: a path, or a `Column`.
        states: the words of the status that name the state of an object, for the console.
        form: the sections, labels and initial values of the console's form.
        selectable_fields: the paths of fields that field selectors can use.
        served: whether the server serves this version.
        storage: whether objects are stored in this version. Needed only if a kind has several versions.
        deprecated: whether the server warns about this version, or the warning itself.
        labels: the labels of the definition.
        annotations: the annotations of the definition.
        api_approved: for groups that Kubernetes protects (`*.k8s.io`): the URL of the approval, or
            `unapproved, <reason>`.
        conversion: the webhook that converts between the versions of the kind. Without one, the server only changes
            `apiVersion`. Set it on one version.
    """
    from kubewright.api.schema._structural import check_kind  # loads the schema code, which only own kinds need

    given: object = api_version
    if isinstance(given, type):
        raise TypeError(
            f"@kw.resource needs the group and version of {given.__name__}: write"
            ' @kw.resource("example.com/v1") above the class'
        )
    check_string("@resource: the api version", given, '"example.com/v1"')
    group, version = _split_api_version(api_version)

    def decorate(cls: ObjectT) -> ObjectT:
        if not issubclass(cls, Object):
            raise TypeError(f"@resource is for classes that derive from Resource or Object, not for {cls!r}")
        name = kind or cls.__name__
        if not (_ANY_KIND if kind and plural else _KIND).fullmatch(name):
            raise ValueError(f"kind {name!r} must be CamelCase letters and digits, at most 63 of them")
        if scope not in ("Namespaced", "Cluster"):
            raise ValueError(f'scope of {name} must be "Namespaced" or "Cluster", not {scope!r}')
        resource_name = plural or pluralize(name.lower())
        for what, value in (("plural", resource_name), ("singular", singular or name.lower())):
            if not _LABEL.fullmatch(value):
                raise ValueError(f"{what} {value!r} of kind {name} must be lower case letters, digits and '-'")
        status_type = bind_spec_and_status(cls) if issubclass(cls, Resource) else None
        own_status = model_in(status_type) is not None if status_subresource is None else status_subresource
        cls.__resource__ = ResourceInfo(
            group=group,
            version=version,
            kind=name,
            plural=resource_name,
            singular=singular or name.lower(),
            namespaced=scope == "Namespaced",
            subresources=frozenset(
                part for part, there in (("status", own_status), ("scale", bool(scale_subresource))) if there
            ),
        )
        cls.__definition__ = make_definition(
            name,
            list_kind=list_kind,
            short_names=short_names,
            categories=categories,
            columns=columns or {},
            states=states,
            form=form,
            selectable_fields=selectable_fields,
            scale=scale_subresource if isinstance(scale_subresource, Scale) else None,
            served=served,
            storage=storage,
            deprecated=deprecated,
            labels=labels or {},
            annotations=annotations or {},
            api_approved=api_approved,
            conversion=conversion,
        )
        # The name of a class that is defined later: the definition checks again, and decoding needs the name anyway.
        with contextlib.suppress(NameError):
            check_kind(cls)
            cls.__definition__.check(cls)
        return cls

    return decorate


def definition_of(kind: type[Object]) -> Definition:
    """Returns the definition of a kind. Raises TypeError for a class without `@resource`."""
    info_of(kind)
    found = getattr(kind, "__definition__", None)
    if isinstance(found, Definition):
        return found
    raise TypeError(f"{kind.__name__} is not a kind of your own: only classes under @resource have a definition")


def _split_api_version(api_version: str) -> tuple[str, str]:
    group, slash, version = api_version.partition("/")
    labels = group.split(".")
    if not slash or len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(
            f'api version {api_version!r} must be "group/version" with a DNS name as group: example.com/v1'
        )
    if not _VERSION.fullmatch(version):
        raise ValueError(f"version {version!r} in {api_version!r} must be lower case, such as v1 or v1alpha1")
    return group, version


def pluralize(word: str) -> str:
    """Returns the English plural of a lower-case word: policies, ingresses, gateways."""
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    return word + "s"
