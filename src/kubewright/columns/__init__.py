"""Printer columns: the cells that `kubectl get` shows for an object.

The embedded API server answers Table requests with them; the console and `kubewright dev` show the same values.

- `builtin_printer` prints built-in kinds, with the columns and values of kube-apiserver.
- `CustomPrinter` prints custom resources, from the `additionalPrinterColumns` of their CustomResourceDefinition.
- `find_values` and `parse_path` evaluate the JSONPath of a printer column or a selectable field.
- `age` and `human_duration` format ages the way kubectl does: `5m30s`, `2d5h`.

Printers are pure functions of an object and the current time.
"""

from __future__ import annotations

from kubewright.columns._builtin import builtin_columns_data, builtin_printer
from kubewright.columns._custom import CustomPrinter
from kubewright.columns._durations import age, human_duration
from kubewright.columns._jsonpath import PathError, find_values, parse_path
from kubewright.columns._table import Printer, TableColumn

__all__ = [
    "CustomPrinter",
    "PathError",
    "Printer",
    "TableColumn",
    "age",
    "builtin_columns_data",
    "builtin_printer",
    "find_values",
    "human_duration",
    "parse_path",
]
