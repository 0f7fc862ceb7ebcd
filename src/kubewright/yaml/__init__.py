"""Reads and writes YAML, with the rules of Kubernetes and with bounds.

- `load_yaml` returns the value of one document, `load_yaml_documents` the values of several, `located_yaml_documents`
  with their lines. `load_yaml_in_turns` lets other tasks of the event loop run in between.
- `compose_yaml` returns the nodes of one document, with their positions in the text; `compose_yaml_documents` those of
  several.
- `duplicate_keys` lists the keys that a document sets twice.
- `plain_value` returns the value of a plain (unquoted) scalar.
- `dump_yaml` writes JSON values, the same on every machine.

The reader uses libyaml's events, which need no recursion, and checks every bound before it builds anything: libyaml's
own composer recurses in C and crashes the process on 200 kB of `- `. Invalid YAML raises `InvalidYAML`. Its message has
the position and never quotes the document, which may hold a secret.

No other module of the package reads YAML with PyYAML; `tests/yaml_reader/test_one_reader.py` checks that.
"""

from __future__ import annotations

from kubewright.yaml._errors import InvalidYAML
from kubewright.yaml._reader import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_SIZE,
    compose_yaml,
    compose_yaml_documents,
    duplicate_keys,
    load_yaml,
    load_yaml_documents,
    load_yaml_in_turns,
    located_yaml_documents,
)
from kubewright.yaml._scalars import plain_value
from kubewright.yaml._writer import dump_yaml

__all__ = [
    "MAX_DEPTH",
    "MAX_NODES",
    "MAX_SIZE",
    "InvalidYAML",
    "compose_yaml",
    "compose_yaml_documents",
    "dump_yaml",
    "duplicate_keys",
    "load_yaml",
    "load_yaml_documents",
    "load_yaml_in_turns",
    "located_yaml_documents",
    "plain_value",
]
