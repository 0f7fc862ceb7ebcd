"""CEL, the expression language of Kubernetes: type-checked, estimated and evaluated as in the API server.

The parser is Google's `cel-expr-python` (the extra `test`). Everything after parsing is implemented here, because the
API server's CEL is more than the language: types from schemas, its own functions, a cost for each step, and its own
error messages. `docs/design/cel.md` has the reasons.

- `compile_expression(text, environment)` returns a `Program`, or raises `CompileError` with the server's message.
- `Program.run(variables)` returns a value and its cost. It raises `EvaluationError`, or `CostExceeded`, which stops
  every runaway expression.
- `Rules(schema).check(obj, old)` evaluates the rules of a schema (`x-kubernetes-validations`). `.problems()` returns
  the rules that do not compile.
- `await load()` imports the compiler in steps. Without it, the first use imports everything in one.
- `is_available()` says whether the extra is installed. Without it, parsing raises `ExtraMissing`, which names it.

Not supported: the authorizer (`authorizer.group(...).check(...)`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.api.cel import _types as types
from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.api.cel._checker import Environment
    from kubewright.api.cel._compile import compile_expression
    from kubewright.api.cel._estimates import UNBOUNDED, estimate
    from kubewright.api.cel._field_paths import PathProblem, field_path
    from kubewright.api.cel._interpreter import PER_CALL_LIMIT, Program
    from kubewright.api.cel._issues import CompileError
    from kubewright.api.cel._patches import JSON_PATCH, OBJECT, misnamed, to_json
    from kubewright.api.cel._presence import has_rules, is_available, load
    from kubewright.api.cel._rules import OMITTED, Broken, CompiledRule, Outcome, Problem, Rules, compile_node
    from kubewright.api.cel._schemas import Declared, declare, escape, structs_of, to_value
    from kubewright.api.cel._syntax import ExtraMissing
    from kubewright.api.cel._types import Type
    from kubewright.api.cel._values import CostExceeded, EvaluationError, Struct

__all__ = [
    "JSON_PATCH",
    "OBJECT",
    "OMITTED",
    "PER_CALL_LIMIT",
    "UNBOUNDED",
    "Broken",
    "CompileError",
    "CompiledRule",
    "CostExceeded",
    "Declared",
    "Environment",
    "EvaluationError",
    "ExtraMissing",
    "Outcome",
    "PathProblem",
    "Problem",
    "Program",
    "Rules",
    "Struct",
    "Type",
    "compile_expression",
    "compile_node",
    "declare",
    "escape",
    "estimate",
    "field_path",
    "has_rules",
    "is_available",
    "load",
    "misnamed",
    "structs_of",
    "to_json",
    "to_value",
    "types",
]

# Imported on first use: the compiler and the interpreter take longer to import than a small cluster takes to start.
_MODULES = {
    "JSON_PATCH": "_patches",
    "OBJECT": "_patches",
    "OMITTED": "_rules",
    "PER_CALL_LIMIT": "_interpreter",
    "UNBOUNDED": "_estimates",
    "Broken": "_rules",
    "CompileError": "_issues",
    "CompiledRule": "_rules",
    "CostExceeded": "_values",
    "Declared": "_schemas",
    "Environment": "_checker",
    "EvaluationError": "_values",
    "ExtraMissing": "_syntax",
    "Outcome": "_rules",
    "PathProblem": "_field_paths",
    "Problem": "_rules",
    "Program": "_interpreter",
    "Rules": "_rules",
    "Struct": "_values",
    "Type": "_types",
    "compile_expression": "_compile",
    "compile_node": "_rules",
    "declare": "_schemas",
    "escape": "_schemas",
    "estimate": "_estimates",
    "field_path": "_field_paths",
    "has_rules": "_presence",
    "is_available": "_presence",
    "load": "_presence",
    "misnamed": "_patches",
    "structs_of": "_schemas",
    "to_json": "_patches",
    "to_value": "_schemas",
}

if not TYPE_CHECKING:  # type checkers report names that do not exist
    __getattr__ = lazy_exports(__name__, _MODULES)
