"""Conversion webhooks: requests, validation of responses, and a cache of converted objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from kubewright.cluster._state import State
from kubewright.cluster.conversion._webhook import AsyncConversion, Unconverted
from kubewright.cluster.crds._custom import CustomStrategy
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._field_errors import FieldError, invalid
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.machinery._responses import encode
from kubewright.cluster.storage._storage import Entry
from kubewright.cluster.webhooks._client import WebhookCallError
from kubewright.names import label_value_problems, qualified_name_problems

__all__ = ["REVIEW_VERSIONS", "ConversionWebhook", "WebhookConversion"]

REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_GROUP: Final = "apiextensions.k8s.io"
_SECONDS: Final = 30
_MOST_AT_ONCE: Final = 500
_MOST_REMEMBERED: Final = 10_000


class _Result(msgspec.Struct):
    status: str = ""
    message: str = ""


class _Response(msgspec.Struct, rename="camel"):
    uid: str = ""
    converted_objects: list[Any] | None = None
    result: _Result = msgspec.field(default_factory=_Result)


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    response: _Response | None = None


_reviews: Final = msgspec.json.Decoder(_Review)


class _InvalidResponse(Exception):
    """An invalid response."""


class ConversionWebhook:
    """The conversion webhook of one definition."""

    def __init__(self, state: State, conversion: JSONObject) -> None:
        webhook = conversion.get("webhook") or {}
        self._state = state
        self._config: JSONObject = webhook.get("clientConfig") or {}
        self._versions: list[str] = webhook.get("conversionReviewVersions") or []

    async def convert(self, objects: Sequence[JSONObject], api_version: str) -> list[JSONObject]:
        """Converts objects of one kind to another version. Raises the failure with the message of the real server."""
        made: list[JSONObject] = []
        for start in range(0, len(objects), _MOST_AT_ONCE):
            made += await self._request(objects[start : start + _MOST_AT_ONCE], api_version)
        return made

    async def _request(self, objects: Sequence[JSONObject], api_version: str) -> list[JSONObject]:
        first = objects[0]
        about = f"conversion webhook for {first['apiVersion']}, Kind={first['kind']}"
        version = next((each for each in self._versions if each in REVIEW_VERSIONS), "v1")
        uid = self._state.uid()
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"{_GROUP}/{version}",
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)},
        }
        try:
            content = await self._state.webhook_client.post(self._config, review, _SECONDS)
            answered = _answered(content, uid, version)
        except (WebhookCallError, _InvalidResponse) as error:
            raise _failure(f"{about} failed: {error}") from None
        if len(answered) != len(objects):
            raise _failure(f"{about} returned {len(answered)} objects, expected {len(objects)}")
        where = "invalid object" if len(objects) == 1 else "invalid converted object"
        for index, (before, after) in enumerate(zip(objects, answered, strict=True)):
            try:
                _check(before, after, api_version)
            except _WrongVersion as error:
                raise _failure(f"{about} returned {where} at index {index}: {error}") from None
            except _InvalidResponse as error:
                position = "" if len(objects) == 1 else f" at index {index}"
                raise _failure(f"{about} returned {where}{position}: {error}") from None
            try:
                after["metadata"] = _restored(before["metadata"], after.get("metadata"))
            except _InvalidResponse as error:
                position = "" if len(objects) == 1 else f" in object at index {index}"
                raise _failure(f"{about} returned invalid metadata{position}: {error}") from None
        return answered


def _failure(problem: str) -> Failure:
    return Failure(500, "", problem)


def _answered(content: bytes, uid: str, version: str) -> list[JSONObject]:
    try:
        review = _reviews.decode(content)
    except msgspec.DecodeError as error:
        raise _InvalidResponse(str(error)) from None
    response = review.response
    if version == "v1":
        wanted, got = f"{_GROUP}/v1, Kind=ConversionReview", f"{review.api_version}, Kind={review.kind}"
        if got != wanted and review.kind:
            raise _InvalidResponse(f"expected webhook response of {wanted}, got {got}")
    if response is None:
        raise _InvalidResponse("no response provided")
    if version == "v1" and response.uid != uid:
        raise _InvalidResponse(f'expected response.uid="{uid}", got "{response.uid}"')
    if response.result.status != "Success":
        default = f"response.result.status was '{response.result.status}', not 'Success'"
        raise _InvalidResponse(response.result.message or default)
    return [each if isinstance(each, dict) else {} for each in response.converted_objects or []]


class _WrongVersion(_InvalidResponse):
    """An object in the response has the wrong version or kind."""


def _check(before: JSONObject, after: JSONObject, api_version: str) -> None:
    """Checks that the conversion changed neither the kind nor the identity of an object."""
    got = after.get("apiVersion") or ""
    if got != api_version:
        raise _WrongVersion(f"invalid groupVersion (expected {api_version}, received {got})")
    kind, wanted = after.get("kind") or "", before["kind"]
    if kind != wanted:
        raise _WrongVersion(f"invalid kind (expected {wanted}, received {kind})")
    metadata = after.get("metadata")
    was, now = before["metadata"], metadata if isinstance(metadata, dict) else {}
    for field, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        if was.get(field, "") != now.get(field, ""):
            raise _InvalidResponse(f"must have the same {shown}: {was.get(field, '')} != {now.get(field, '')}")


def _restored(before: JSONObject, after: Any) -> JSONObject:
    """Returns the metadata of a converted object: unchanged except for labels and annotations."""
    if not isinstance(after, dict):
        raise _InvalidResponse("missing metadata in converted object")
    made = {**before}
    for field, check in (("labels", _label_errors), ("annotations", _annotation_errors)):
        values = after.get(field)
        if values is None:
            made.pop(field, None)
            continue
        if not isinstance(values, dict):
            raise _InvalidResponse(f"invalid metadata.{field} of type {type(values).__name__} in converted object")
        for key, value in values.items():
            if not isinstance(value, str):
                problem = f"metadata.{field}[{key}] must be a string, but is {_go_type(value)}"
                raise _InvalidResponse(f"{problem} in converted object")
        if values != before.get(field) and (errors := check(values)):
            messages = [str(error) for error in errors]
            raise _InvalidResponse(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")
        made[field] = values
    return made


def _go_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    names = {int: "int64", float: "float64", dict: "map[string]interface {}", list: "[]interface {}"}
    return names.get(type(value), "<nil>")


def _label_errors(labels: Mapping[str, str]) -> list[FieldError]:
    errors = []
    for key, value in labels.items():
        errors += [invalid("metadata.labels", key, problem) for problem in qualified_name_problems(key)]
        errors += [invalid("metadata.labels", value, problem) for problem in label_value_problems(value)]
    return errors


def _annotation_errors(annotations: Mapping[str, str]) -> list[FieldError]:
    return [
        invalid("metadata.annotation", key, problem)
        for key in annotations
        for problem in qualified_name_problems(key.lower())
    ]


class WebhookConversion(AsyncConversion):
    """One served version of a kind with a conversion webhook.

    A stored object is defaulted with the schema of its stored version, converted, and pruned with the schema of this
    one.
    """

    def __init__(
        self,
        webhook: ConversionWebhook,
        *,
        api_version: str,
        kind: str,
        stored_version: str,
        strategies: Mapping[str, CustomStrategy],
    ) -> None:
        super().__init__()
        self._webhook = webhook
        self._api_version = api_version
        self._kind = kind
        self._stored_version = stored_version
        self._strategies = strategies
        self._known: dict[tuple[str, str, bytes], bytes] = {}

    # Reading

    async def prepare(self, entries: Iterable[Entry]) -> None:
        """Converts all entries that are not cached, in one request."""
        wanted = list(entries)
        if len(self._known) > _MOST_REMEMBERED:
            self._known.clear()
        while missing := [entry for entry in wanted if self._key(entry) not in self._known and not self._is_own(entry)]:
            objects = [self._filled(entry) for entry in missing]
            # All objects of one review must have the same version, as on the real server.
            version = objects[0]["apiVersion"]
            chosen = [pair for pair in zip(missing, objects, strict=True) if pair[1]["apiVersion"] == version]
            answered = await self._webhook.convert([obj for _, obj in chosen], self._api_version)
            for (entry, _), made in zip(chosen, answered, strict=True):
                self._known[self._key(entry)] = encode(self._pruned(made, self._api_version))

    def shown(self, entry: Entry) -> JSONObject:
        """Returns a new copy of a stored object in this version. Raises `Unconverted`."""
        if self._is_own(entry):
            return self._pruned(self._filled(entry), self._api_version)
        known = self._known.get(self._key(entry))
        if known is None:
            raise Unconverted(lambda: self.prepare([entry]))
        made: JSONObject = msgspec.json.decode(known)
        return made

    def _version_of(self, entry: Entry) -> str:
        return entry.version or self._stored_version

    def _is_own(self, entry: Entry) -> bool:
        return self._version_of(entry) == self._api_version

    def _key(self, entry: Entry) -> tuple[str, str, bytes]:
        return self._version_of(entry), self._api_version, entry.raw

    def _filled(self, entry: Entry) -> JSONObject:
        version = self._version_of(entry)
        made = {"apiVersion": version, "kind": self._kind, **entry.decode()}
        if (strategy := self._strategies.get(version)) is not None:
            strategy.default(made)
        return made

    def _pruned(self, obj: JSONObject, api_version: str) -> JSONObject:
        strategy = self._strategies.get(api_version)
        read = obj if strategy is None else strategy.read({**obj, "metadata": {}}, problems=None)
        return {**read, "metadata": obj["metadata"], "apiVersion": api_version, "kind": self._kind}

    # Writing and other conversions

    def to_storage(self, obj: JSONObject) -> JSONObject:
        """Returns the object in the storage version. Raises `Unconverted`."""
        return self._in(obj, self._stored_version)

    def between(self, obj: JSONObject, target: ResourceType) -> JSONObject:
        """Converts an object between any two versions. Raises `Unconverted`."""
        return self._in(obj, target.api_version)

    def _in(self, obj: JSONObject, api_version: str) -> JSONObject:
        if obj["apiVersion"] == api_version:
            return obj
        key = (obj["apiVersion"], api_version, encode(obj))
        known = self._known.get(key)
        if known is not None:
            made: JSONObject = msgspec.json.decode(known)
            return made

        async def resolve() -> None:
            answered = await self._webhook.convert([obj], api_version)
            self._known[key] = encode(self._pruned(answered[0], api_version))

        raise Unconverted(resolve)
