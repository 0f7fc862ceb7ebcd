"""Rules for a bundle as a whole: consistent parts, size, metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubewright.olm._files import ANNOTATIONS, SUPPORTED
from kubewright.olm._problems import Problem, problem
from kubewright.olm._read import ANNOTATION, Bundle

__all__ = ["check_format", "check_parts"]

_MOST_PACKED: Final = 1 << 20
"""OLM stores a compressed bundle in one ConfigMap."""
_NEEDED: Final = {
    f"{ANNOTATION}.mediatype.v1": "registry+v1",
    f"{ANNOTATION}.manifests.v1": "manifests/",
    f"{ANNOTATION}.metadata.v1": "metadata/",
    f"{ANNOTATION}.package.v1": "the name of the package",
    f"{ANNOTATION}.channels.v1": "the channels, such as stable",
}


def check_parts(bundle: Bundle) -> Iterator[Problem]:
    """Checks that the ClusterServiceVersion owns exactly the definitions of the bundle, the accounts, and the size."""
    yield from _definitions(bundle)
    yield from _accounts(bundle)
    if bundle.packed_size > _MOST_PACKED:
        yield _bundle_problem(
            "", "", f"it has {bundle.packed_size:,} bytes when compressed", f"OLM stores at most {_MOST_PACKED:,}"
        )
    elif bundle.packed_size > _MOST_PACKED * 0.85:
        text = f"it has {bundle.packed_size:,} bytes when compressed, and OLM stores at most {_MOST_PACKED:,}"
        yield problem("warning", "", text, "shorten the descriptions of the definitions", check="bundle")


def _bundle_problem(file: str, field: str, message: str, advice: str) -> Problem:
    return problem("error", file, message, advice, field=field, check="bundle")


def _definitions(bundle: Bundle) -> Iterator[Problem]:
    there: dict[tuple[str, str, str], str] = {}
    for path, definition in bundle.of_kind("CustomResourceDefinition"):
        for key in _versions(definition):
            if key in there:
                yield _bundle_problem(
                    path, "spec.versions", f"{_shown(key)} is also in {there[key]}", "remove one of them"
                )
            there[key] = path
    owned = _owned(bundle)
    field = "spec.customresourcedefinitions.owned"
    for key in sorted(owned - set(there)):
        yield _bundle_problem(
            bundle.csv_path,
            field,
            f"{_shown(key)} has no definition in manifests/",
            "add the definition, or remove the entry",
        )
    kinds = {(group, kind) for group, _, kind in owned & set(there)}
    for key in sorted(set(there) - owned):
        if (key[0], key[2]) not in kinds:
            yield _bundle_problem(
                there[key], "", f"{bundle.csv_path} does not own {_shown(key)}", f"add it to its {field}"
            )


def _versions(definition: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    spec = definition.get("spec") or {}
    kind = (spec.get("names") or {}).get("kind") or ""
    for version in spec.get("versions") or []:
        if isinstance(version, Mapping):
            yield spec.get("group") or "", version.get("name") or "", kind


def _owned(bundle: Bundle) -> set[tuple[str, str, str]]:
    found = set()
    for one in (bundle.spec.get("customresourcedefinitions") or {}).get("owned") or []:
        name = one.get("name") or ""
        found.add((name.partition(".")[2] or name, one.get("version") or "", one.get("kind") or ""))
    return found


def _shown(key: tuple[str, str, str]) -> str:
    group, version, kind = key
    return f"{kind} of {group}/{version}"


def _accounts(bundle: Bundle) -> Iterator[Problem]:
    install = (bundle.spec.get("install") or {}).get("spec") or {}
    used = {
        (((one.get("spec") or {}).get("template") or {}).get("spec") or {}).get("serviceAccountName") or ""
        for one in install.get("deployments") or []
    }
    for path, account in bundle.of_kind("ServiceAccount"):
        name = (account.get("metadata") or {}).get("name") or ""
        if name in used and account.get("apiVersion") == "v1":
            yield _bundle_problem(path, "metadata.name", f"OLM creates the account {name!r} itself", "remove the file")


def check_format(bundle: Bundle) -> Iterator[Problem]:
    """Checks the requirements of catalogs: annotations with the locations of the files, and kinds that OLM installs."""
    if not bundle.annotations:
        advice = "run `kubewright bundle`, or add the annotations of the bundle format"
        yield problem("error", ANNOTATIONS, "there are no annotations", advice)
        return
    for name, wanted in _NEEDED.items():
        value = bundle.annotations.get(name)
        field = f"annotations[{name}]"
        if not value:
            yield problem("error", ANNOTATIONS, "it is missing", f"set {wanted}", field=field)
        elif name.endswith(("mediatype.v1", "manifests.v1", "metadata.v1")) and value != wanted:
            yield problem("error", ANNOTATIONS, f"it is {value!r}", f"set {wanted}", field=field)
    if bundle.channels and bundle.default_channel not in bundle.channels:
        field = f"annotations[{ANNOTATION}.channel.default.v1]"
        message = (
            f"{bundle.default_channel!r} is not one of the channels" if bundle.default_channel else "it is missing"
        )
        yield problem("error", ANNOTATIONS, message, f"set it to one of {', '.join(bundle.channels)}", field=field)
    for path, document in bundle.manifests.items():
        kind = document.get("kind")
        if kind not in SUPPORTED and kind != "ClusterServiceVersion":
            yield problem(
                "error", path, f"OLM does not install a {kind} from a bundle", "remove the file", field="kind"
            )
