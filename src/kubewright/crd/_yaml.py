"""Definitions as YAML, the same text each time."""

from __future__ import annotations

from typing import Any

from kubewright.api import Object, to_dict

__all__ = ["to_yaml"]


def to_yaml(*objects: Object) -> str:
    """The objects as YAML documents that `kubectl apply` takes: members sorted, without status."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Texts of several lines as blocks, and no references between equal parts."""

        def ignore_aliases(self, _data: Any) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    documents = [yaml.dump(_content(obj), Dumper=Dumper, allow_unicode=True, width=120) for obj in objects]
    return "---\n".join(documents)


def _content(obj: Object) -> dict[str, Any]:
    content: dict[str, Any] = to_dict(obj)
    content.pop("status", None)
    return content
