"""What names may look like: the rules of `kubewright.api`, which CEL needs there as well."""

from __future__ import annotations

from kubewright.api._names import (
    label_1035_problems,
    label_problems,
    label_value_problems,
    path_segment_problems,
    qualified_name_problems,
    subdomain_problems,
)

__all__ = [
    "label_1035_problems",
    "label_problems",
    "label_value_problems",
    "path_segment_problems",
    "qualified_name_problems",
    "subdomain_problems",
]
