"""Reviews: the requests and responses of webhooks, as the API server sends and expects them.

`read_body` reads a bounded body. `decode_admission` and `decode_conversion` decode a review, or raise `BadReview`;
`uid_in` finds the uid in a broken one, so that the response can name it. `status_of` turns a `Refused` into the Status
that clients see.
"""

from __future__ import annotations

from kubewright.webhook.reviews._refusals import AdmissionWarning, FieldError, Refused, status_of
from kubewright.webhook.reviews._request_body import LARGEST_ADMISSION, LARGEST_CONVERSION, read_body
from kubewright.webhook.reviews._reviews import (
    AdmissionResponse,
    BadReview,
    GroupVersionKind,
    GroupVersionResource,
    User,
    decode_admission,
    decode_conversion,
    uid_in,
)

__all__ = [
    "LARGEST_ADMISSION",
    "LARGEST_CONVERSION",
    "AdmissionResponse",
    "AdmissionWarning",
    "BadReview",
    "FieldError",
    "GroupVersionKind",
    "GroupVersionResource",
    "Refused",
    "User",
    "decode_admission",
    "decode_conversion",
    "read_body",
    "status_of",
    "uid_in",
]
