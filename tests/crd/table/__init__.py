"""The table: for each feature the smallest type that shows it, values that the server takes, and values it refuses."""

from tests.crd.table import rules, scalars, structures, whole_objects
from tests.crd.table.case import TABLE, Bad, Case

__all__ = ["TABLE", "Bad", "Case", "rules", "scalars", "structures", "whole_objects"]
