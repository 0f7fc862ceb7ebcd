"""Defaults and validation of MutatingWebhookConfigurations and ValidatingWebhookConfigurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubewright.cluster.admission._chain import Chain
from kubewright.cluster.admission._client_config import service_errors, url_errors
from kubewright.cluster.admission._conditions import condition_errors
from kubewright.cluster.admission.matching import rule_errors
from kubewright.cluster.admission.webhooks._review import KNOWN_VERSIONS
from kubewright.cluster.machinery._failures import unsupported
from kubewright.cluster.machinery._field_errors import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
)
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy
from kubewright.cluster.registry.validation._common import label_selector_errors
from kubewright.names import label_1035_problems, subdomain_problems

__all__ = ["ConfigurationStrategy"]

_FAILURE: Final = ("Fail", "Ignore")
_MATCH: Final = ("Equivalent", "Exact")
_REINVOCATION: Final = ("IfNeeded", "Never")
_EFFECTS: Final = ("None", "NoneOnDryRun")
_LONGEST_SECONDS: Final = 30
_FEWEST_PARTS: Final = 3


class ConfigurationStrategy(BuiltinStrategy):
    """Strategy of both kinds. Only mutating webhooks have a reinvocation policy."""

    def __init__(self, api_version: str, kind: str, resource: str, chain: Chain) -> None:
        super().__init__(api_version, kind, resource)
        self._chain = chain
        self._mutating = kind == "MutatingWebhookConfiguration"

    def default(self, obj: JSONObject) -> None:
        """Sets the real server's defaults."""
        for hook in obj.get("webhooks") or ():
            for name, value in (("failurePolicy", "Fail"), ("matchPolicy", "Equivalent"), ("timeoutSeconds", 10)):
                if hook.get(name) is None:
                    hook[name] = value
            for name in ("namespaceSelector", "objectSelector"):
                if hook.get(name) is None:
                    hook[name] = {}
            if self._mutating and hook.get("reinvocationPolicy") is None:
                hook["reinvocationPolicy"] = "Never"
            for rule in hook.get("rules") or ():
                if rule.get("scope") is None:
                    rule["scope"] = "*"
            service = (hook.get("clientConfig") or {}).get("service")
            if service is not None and service.get("port") is None:
                service["port"] = 443

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates every webhook."""
        return list(self._errors(obj, None))

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates every webhook; unchanged match conditions are not validated again."""
        return list(self._errors(obj, old))

    def _errors(self, obj: JSONObject, old: JSONObject | None) -> Iterator[FieldError]:
        before = None if old is None else [hook.get("matchConditions") for hook in old.get("webhooks") or ()]
        hooks = obj.get("webhooks") or []
        same_conditions = before == [hook.get("matchConditions") for hook in hooks]
        seen = set()
        for index, hook in enumerate(hooks):
            path = f"webhooks[{index}]"
            yield from self._hook(hook, path)
            if not same_conditions:
                yield from self._conditions(hook.get("matchConditions") or [], f"{path}.matchConditions")
            yield from _review_versions(hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")
            if name := hook.get("name"):
                if name in seen:
                    yield duplicate(f"{path}.name", name)
                seen.add(name)

    def _hook(self, hook: JSONObject, path: str) -> Iterator[FieldError]:
        yield from _name(hook.get("name") or "", f"{path}.name")
        for index, rule in enumerate(hook.get("rules") or ()):
            yield from rule_errors(rule, f"{path}.rules[{index}]")
        yield from _choice(hook, "failurePolicy", _FAILURE, path)
        yield from _choice(hook, "matchPolicy", _MATCH, path)
        effects = hook.get("sideEffects")
        if effects is None:
            yield required(f"{path}.sideEffects", f"must specify one of {', '.join(_EFFECTS)}")
        elif effects not in _EFFECTS:
            yield not_supported(f"{path}.sideEffects", effects, _EFFECTS)
        seconds = hook.get("timeoutSeconds")
        if seconds is not None and not 1 <= seconds <= _LONGEST_SECONDS:
            text = f"the timeout value must be between 1 and {_LONGEST_SECONDS} seconds"
            yield invalid(f"{path}.timeoutSeconds", seconds, text)
        for name in ("namespaceSelector", "objectSelector"):
            yield from label_selector_errors(hook.get(name), f"{path}.{name}")
        if self._mutating:
            yield from _choice(hook, "reinvocationPolicy", _REINVOCATION, path)
        config = hook.get("clientConfig") or {}
        url, service = config.get("url"), config.get("service")
        if (url is None) == (service is None):
            yield required(f"{path}.clientConfig", "exactly one of url or service is required")
        elif url is not None:
            yield from url_errors(url, f"{path}.clientConfig.url")
        elif service is not None:
            yield from service_errors(service, f"{path}.clientConfig.service")

    def _conditions(self, conditions: list[JSONObject], path: str) -> Iterator[FieldError]:
        if not conditions:
            return
        checker = self._chain.conditions
        if checker is None:
            raise unsupported("match conditions of webhooks: it has no CEL")
        yield from condition_errors(conditions, path, checker.problems)


def _name(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield required(path)
    elif problems := subdomain_problems(name):
        yield invalid(path, name, ",".join(problems))
    elif len(name.split(".")) < _FEWEST_PARTS:
        yield invalid(path, name, "should be a domain with at least three segments separated by dots")


def _choice(hook: JSONObject, field: str, allowed: Sequence[str], path: str) -> Iterator[FieldError]:
    value = hook.get(field)
    if value is not None and value not in allowed:
        yield not_supported(f"{path}.{field}", value, allowed)


def _review_versions(versions: list[str], path: str) -> Iterator[FieldError]:
    known = ", ".join(KNOWN_VERSIONS)
    if not versions:
        yield required(path, f"must specify one of {known}")
        return
    seen = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        seen.add(version)
        yield from (invalid(f"{path}[{index}]", version, problem) for problem in label_1035_problems(version))
    if not seen & {*KNOWN_VERSIONS}:
        yield invalid(path, versions, f"must include at least one of {known}")
