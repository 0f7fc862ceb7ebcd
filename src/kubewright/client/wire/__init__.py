"""Requests and responses as they look on the wire: URL paths, request bodies, errors and `Warning` headers.

`Client` builds its requests from these functions. Other rooms use them where they describe a request without sending
it: the controller compares apply bodies, the test account names the resources that a role lacks.
"""

from __future__ import annotations

from kubewright.client._errors import error_from
from kubewright.client.wire._bodies import apply_body, changes, kept_object, request_body
from kubewright.client.wire._paths import (
    info_of_object,
    object_name,
    object_path,
    qualified_resource,
    resource_path,
    type_name,
)
from kubewright.client.wire._warnings import WarningLog, warning_messages

__all__ = [
    "WarningLog",
    "apply_body",
    "changes",
    "error_from",
    "info_of_object",
    "kept_object",
    "object_name",
    "object_path",
    "qualified_resource",
    "request_body",
    "resource_path",
    "type_name",
    "warning_messages",
]
