"""Forms: the fields of a schema, their values, and validation. Nothing here draws.

- `form_for(kind, schema)` returns the root `Field` of a kind. Child fields are built on demand. Values that no widget
  can show have the shape `yaml`.
- A `Document` is the edited object. Edits change single paths and leave everything else untouched. Absent, null and
  empty are distinct, and defaults are not written.
- `format_value` and `parse_value` convert between a value and the string in its widget; `read_yaml` and `write_yaml`
  between the object and its YAML. `edit_yaml` preserves comments.
- A `Checker` validates an object by the server's rules, including CEL, and reports each problem with its path.
  `explain_rejection` does the same for an error response.
- `diff_yaml` is the difference that a write would make. `ownership_conflicts` returns the field managers whose fields
  it would change. `merge` combines two concurrent edits.
- A `Writer` performs all writes with the viewer's own client.
"""

from __future__ import annotations

from kubewright.console.forms._changed_fields import changed_fields
from kubewright.console.forms._changes import DiffLine, diff_yaml, normalized
from kubewright.console.forms._checks import Checker, Problem
from kubewright.console.forms._document import Document
from kubewright.console.forms._examples import minimal_object, olm_examples, schema_example
from kubewright.console.forms._fields import Field, Shape
from kubewright.console.forms._lines import matching_lines
from kubewright.console.forms._locations import locate
from kubewright.console.forms._merging import MergeConflict, MergeResult, changed_paths, merge
from kubewright.console.forms._owners import FieldOwner, owners_of, ownership_conflicts
from kubewright.console.forms._paths import MISSING, Path, format_path, value_at
from kubewright.console.forms._rejections import Rejection, explain_rejection
from kubewright.console.forms._schemas import fetch_schema, form_for, inline_references
from kubewright.console.forms._values import format_value, parse_value
from kubewright.console.forms._writing import RecordWrite, Writer, WriteResult
from kubewright.console.forms._yaml import YamlSyntaxError, read_yaml, write_yaml
from kubewright.console.forms._yaml_edits import edit_yaml

__all__ = [
    "MISSING",
    "Checker",
    "DiffLine",
    "Document",
    "Field",
    "FieldOwner",
    "MergeConflict",
    "MergeResult",
    "Path",
    "Problem",
    "RecordWrite",
    "Rejection",
    "Shape",
    "WriteResult",
    "Writer",
    "YamlSyntaxError",
    "changed_fields",
    "changed_paths",
    "diff_yaml",
    "edit_yaml",
    "explain_rejection",
    "fetch_schema",
    "form_for",
    "format_path",
    "format_value",
    "inline_references",
    "locate",
    "matching_lines",
    "merge",
    "minimal_object",
    "normalized",
    "olm_examples",
    "owners_of",
    "ownership_conflicts",
    "parse_value",
    "read_yaml",
    "schema_example",
    "value_at",
    "write_yaml",
]
