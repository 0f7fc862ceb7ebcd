"""Decodes request bodies: JSON, YAML and registered formats. Then fits them to the kind and sets defaults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from kubewright.cluster._state import State
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure, bad_request, invalid_as, unsupported_media_type
from kubewright.cluster.machinery._field_errors import invalid
from kubewright.cluster.machinery._json import UnreadableJSON, UnreadableNumber, decode_json, rounded
from kubewright.cluster.machinery._resources import JSONObject, ReadProblem, ResourceType, UnreadableObject
from kubewright.cluster.machinery._responses import encode
from kubewright.cluster.registry._scheme import wrong_kind
from kubewright.yaml import InvalidYAML, load_yaml, load_yaml_in_turns

__all__ = [
    "UnreadableYAML",
    "bad_patch",
    "check_size",
    "decode_body",
    "decode_yaml",
    "fit_to_schema",
    "json_name",
    "media_type_of",
    "parse_yaml_in_turns",
    "read_object",
]

# as in the real server's messages
_ACCEPTED: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_YAML: Final = "application/yaml"
_APPLY: Final = "application/apply-patch+yaml"
_LONG_BODY: Final = 16 * 1024  # of YAML; it takes a few milliseconds
_MAX_BODY_BYTES: Final = 3 * 1024 * 1024
_MAX_VALUES: Final = 250_000  # in a YAML document, so that it is decoded in less than a second
_META_FIELDS: Final = 'APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\""'
_SHOWN: Final = 30  # bytes of a body that an error quotes

_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion")


def media_type_of(call: Call) -> str:
    """Returns the content type without parameters. Default: JSON."""
    return call.header("Content-Type").partition(";")[0].strip().lower() or "application/json"


def read_object(state: State, call: Call, type_: ResourceType | None = None) -> JSONObject:
    """Returns the object in the body, fitted to its kind and with defaults."""
    type_ = type_ or call.type
    obj = decode_body(state, call, type_)
    _check_kind(call, type_, obj)
    text = call.request.body if media_type_of(call) == "application/json" else None
    # A body that encodes back to the same bytes has no duplicate fields.
    made = fit_to_schema(call, type_, obj, b"" if text is None or encode(obj) == text else text)
    metadata = made.get("metadata") or {}
    call.sent = {name: metadata[name] for name in _IDENTITY if metadata.get(name)}
    return made


def fit_to_schema(
    call: Call,
    type_: ResourceType,
    obj: JSONObject,
    text: bytes = b"",
    *,
    patched: bool = False,
    quoted: str | None = None,
) -> JSONObject:
    """Returns an object fitted to its kind, with defaults. Unknown fields are dropped, warned of, or rejected.

    If a patch made it, the error quotes the object, or `quoted`.
    """
    validation = call.field_validation
    problems: list[ReadProblem] | None = None if validation == "Ignore" else []
    try:
        made = type_.strategy.read(obj, problems=problems)
    except UnreadableObject as error:
        raise (
            bad_patch(obj, str(error), quoted) if patched else bad_request(_cannot_be_handled(type_, str(error)))
        ) from None
    if problems is not None and text:
        from kubewright.cluster.machinery._duplicate_fields import duplicate_fields

        problems += [ReadProblem(f'duplicate field "{path}"') for path in duplicate_fields(text)]
    if problems:
        if validation == "Strict":
            listed = ", ".join(problem.message for problem in problems)
            if patched:
                raise bad_patch(obj, f"strict decoding error: {listed}", quoted)
            raise bad_request(_cannot_be_handled(type_, f"strict decoding error: {listed}"))
        call.warnings += [problem.message for problem in problems]
    made["apiVersion"], made["kind"] = type_.api_version, type_.kind
    if (obj.get("metadata") or {}).get("managedFields") == []:
        made["metadata"]["managedFields"] = []  # unlike no managedFields, an empty list asks the server to clear them
    type_.strategy.default(made)
    return made


def bad_patch(obj: JSONObject, problem: str, quoted: str | None = None) -> Failure:
    """Returns the error for a patch whose result cannot be decoded; it quotes the result, or `quoted`."""
    error = invalid("patch", encode(obj).decode() if quoted is None else quoted, problem)
    causes = [{"reason": error.reason, "message": error.message, "field": error.field}]
    return Failure(422, "Invalid", f' "" is invalid: {error}', {"causes": causes})


def _cannot_be_handled(type_: ResourceType, problem: str) -> str:
    if type_.custom and not problem.startswith("strict"):
        return problem
    return f'{type_.kind} in version "{type_.version}" cannot be handled as a {type_.kind}: {problem}'


def check_size(call: Call) -> None:
    """Raises `Failure` for a body over the server's limit."""
    if len(call.request.body or b"") > _MAX_BODY_BYTES:
        text = f"Request entity too large: limit is {_MAX_BODY_BYTES}"
        raise Failure(413, "RequestEntityTooLarge", text)


def decode_body(state: State, call: Call, type_: ResourceType | None) -> JSONObject:
    """Returns the object in the body, of any kind."""
    check_size(call)
    body = call.request.body or b""
    media_type = media_type_of(call)
    if media_type == "application/json":
        decoded = _decode_json(body, type_)
    elif media_type == _YAML:
        try:
            decoded = decode_yaml(call, untyped=type_ is None or type_.custom)
        except UnreadableYAML as error:
            raise bad_request(f"{_unrecognized(type_)}: {error} ({_hex_of(body)})") from None
    elif (decoder := state.decoders.get(media_type)) is not None:
        try:
            decoded = decoder(body, type_)
        except UnreadableObject as error:
            raise bad_request(str(error)) from None
    else:
        raise unsupported_media_type(_ACCEPTED)
    if not isinstance(decoded, dict):
        problem = f"json: cannot unmarshal {json_name(decoded)} into Go value of type struct"
        raise _bad_body(type_, body, f"{problem} {{ {_META_FIELDS} }}")
    for field in ("apiVersion", "kind"):
        value = decoded.get(field)
        if value is not None and not isinstance(value, str):
            problem = f"json: cannot unmarshal {json_name(value)} into Go struct field .{field} of type string"
            raise _bad_body(type_, body, problem)
    return decoded


def _bad_body(type_: ResourceType | None, body: bytes, problem: str) -> Failure:
    """Returns the error for a body without a kind. It quotes the beginning of an object of a known kind."""
    text = f"couldn't get version/kind; json parse error: {problem}"
    if type_ is None:
        return bad_request(text)
    if body[:1] == b"{":
        shown = body[:_SHOWN].decode(errors="replace") + (" ..." if len(body) > _SHOWN else "")
    else:
        shown = _hex_of(body) if body else "<empty>"
    return bad_request(f"{_unrecognized(type_)}: {text} ({shown})")


def json_name(value: Any) -> str:
    """Returns how Go names the type of a JSON value."""
    if isinstance(value, list | dict):
        return "array" if isinstance(value, list) else "object"
    return "string" if isinstance(value, str) else "bool" if isinstance(value, bool) else "number"


def _decode_json(body: bytes, type_: ResourceType | None) -> Any:
    if type_ is None and not body.strip():
        return {}
    try:
        decoded = decode_json(body, untyped=type_ is not None and type_.custom)
    except UnreadableJSON as error:
        if type_ is not None and isinstance(error, UnreadableNumber):
            problem = f'{type_.kind} in version "{type_.version}" cannot be handled as a {type_.kind}: {error}'
            raise bad_request(problem) from None
        raise _bad_body(type_, body, str(error)) from None
    return {} if decoded is None else decoded


def _unrecognized(type_: ResourceType | None) -> str:
    return f"the object provided is unrecognized (must be of type {type_.kind if type_ is not None else 'object'})"


def _hex_of(body: bytes) -> str:
    return body[:_SHOWN].hex() + (" ..." if len(body) > _SHOWN else "")


class UnreadableYAML(ValueError):
    """The body is not YAML. The message is that of the real server."""


async def parse_yaml_in_turns(call: Call, next_turn: Callable[[], Awaitable[None]]) -> None:
    """Parses a long YAML body before it is needed, so that other tasks of the event loop run in between."""
    body = call.request.body or b""
    if len(body) < _LONG_BODY or media_type_of(call) not in (_YAML, _APPLY):
        return
    if body.lstrip()[:1] == b"{":
        with suppress(UnreadableJSON):
            decode_json(body, untyped=True)
            return
    try:
        value = await load_yaml_in_turns(body, next_turn, max_nodes=_MAX_VALUES, first_only=True)
    except InvalidYAML as error:
        value = error
    call.parsed_yaml = [value]


def decode_yaml(call: Call, *, untyped: bool) -> Any:
    """Returns the value of the first YAML document of the body, which may be JSON. Raises `UnreadableYAML`."""
    body = call.request.body or b""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise UnreadableYAML("yaml: invalid leading UTF-8 octet") from None
    if body.lstrip()[:1] == b"{":
        with suppress(UnreadableJSON):  # YAML's flow style is similar
            return decode_json(body, untyped=untyped)
    try:
        value = call.parsed_yaml.pop() if call.parsed_yaml else load_yaml(text, max_nodes=_MAX_VALUES, first_only=True)
        if isinstance(value, InvalidYAML):
            raise value
        return rounded(value) if untyped else value
    except InvalidYAML as error:
        if error.problem.startswith("unsupported value"):
            raise UnreadableYAML(f"json: {error.problem}") from None
        raise UnreadableYAML(f"yaml: line {error.line}: {error.problem}" if error.line else f"yaml: {error}") from None


def _check_kind(call: Call, type_: ResourceType, obj: JSONObject) -> None:
    """Checks that apiVersion and kind of the body match the path. Built-in kinds may omit them."""
    version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    if type_.custom and not kind:
        shown = (call.request.body or b"").decode(errors="replace")
        problem = f"Object 'Kind' is missing in '{shown}' ({shown})"
        raise bad_request(f"the object provided is unrecognized (must be of type {type_.kind}): {problem}")
    if not kind and not version:
        return
    if type_.custom:
        if version != type_.api_version:
            text = f"the API version in the data ({version}) does not match the expected API version"
            raise bad_request(f"{text} ({type_.api_version})")
        if kind != type_.kind:
            metadata = obj.get("metadata")
            name = metadata.get("name", "") if isinstance(metadata, dict) else ""
            raise invalid_as(kind, type_, name, [invalid("kind", kind, f"must be {type_.kind}")])
        return
    kind, version = kind or type_.kind, version or type_.api_version
    if (kind, version) == (type_.kind, type_.api_version):
        return
    problem = wrong_kind(type_, version, kind)
    shown = version.rpartition("/")[2]
    raise bad_request(f'{kind} in version "{shown}" cannot be handled as a {type_.kind}: {problem}')
