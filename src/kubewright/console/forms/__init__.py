"""Forms: the fields of a schema, the values in them, and what is wrong with them. Nothing here draws.

- `form_of(kind, schema)` gives the `Field` of a kind: a tree that is built while somebody walks it. What no form can
  show has the shape `yaml`.
- A `Document` is the object that is written. It is changed place by place; what nobody touches stays as it is. Absent,
  null and empty are three things, and a default is not written.
- `text_of` and `value_of` go between a value and the text in its widget; `read_yaml` and `write_yaml` between the
  object and the text beside the form; `edited_yaml` keeps the comments in it.
- A `Checker` tells each problem at its place, with the rules that the server has, CEL included. `problems_in` does the
  same with the answer of a server that refused.
- `changes` is the difference that a write would make; `conflicts` tells who owns what would change; `merge` brings the
  changes of two people together.
- A `Writer` makes all writes, with the viewer's own client.
"""

from __future__ import annotations

from kubewright.console.forms._changes import Line, changes, plain
from kubewright.console.forms._checks import Checker, Problem
from kubewright.console.forms._document import Document
from kubewright.console.forms._fields import Field, Shape
from kubewright.console.forms._merging import Clash, Merged, changed_paths, merge
from kubewright.console.forms._owners import Owner, conflicts, owners_of
from kubewright.console.forms._paths import NOWHERE, Path, at, located, shown
from kubewright.console.forms._refusals import Refusal, problems_in
from kubewright.console.forms._samples import example_in, minimal, olm_examples
from kubewright.console.forms._schemas import form_of, served_schema
from kubewright.console.forms._texts import text_of, value_of
from kubewright.console.forms._writing import Record, Writer, Written
from kubewright.console.forms._yaml import NotYaml, read_yaml, write_yaml
from kubewright.console.forms._yaml_edits import edited_yaml

__all__ = [
    "NOWHERE",
    "Checker",
    "Clash",
    "Document",
    "Field",
    "Line",
    "Merged",
    "NotYaml",
    "Owner",
    "Path",
    "Problem",
    "Record",
    "Refusal",
    "Shape",
    "Writer",
    "Written",
    "at",
    "changed_paths",
    "changes",
    "conflicts",
    "edited_yaml",
    "example_in",
    "form_of",
    "located",
    "merge",
    "minimal",
    "olm_examples",
    "owners_of",
    "plain",
    "problems_in",
    "read_yaml",
    "served_schema",
    "shown",
    "text_of",
    "value_of",
    "write_yaml",
]
