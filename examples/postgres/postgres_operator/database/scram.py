"""SCRAM-SHA-256 verifiers (RFC 5803): the server never sees a password, neither on the wire nor in its log."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import stringprep
import unicodedata
from typing import Final

ITERATIONS: Final = 4096
_SALT_BYTES: Final = 16
# A stored verifier comes from outside: the number of iterations bounds the work of comparing a password with it.
_MAX_ITERATIONS: Final = 1_000_000
_FORM: Final = re.compile(r"SCRAM-SHA-256\$(\d{1,7}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")


def verifier(password: str, *, salt: bytes | None = None, iterations: int = ITERATIONS) -> str:
    """Returns the verifier of a password, with a random salt by default. PostgreSQL stores it as it is."""
    salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", _prepared(password), salt, iterations)
    client = hmac.digest(salted, b"Client Key", "sha256")
    server = hmac.digest(salted, b"Server Key", "sha256")
    stored = hashlib.sha256(client).digest()
    return f"SCRAM-SHA-256${iterations}:{_text(salt)}${_text(stored)}:{_text(server)}"


def matches(password: str, stored: str | None) -> bool:
    """Returns whether a stored verifier is that of the password. False for another form, such as MD5."""
    found = _FORM.fullmatch(stored or "")
    if found is None or not 0 < int(found[1]) <= _MAX_ITERATIONS:
        return False
    try:
        salt = base64.b64decode(found[2], validate=True)
    except ValueError:
        return False
    return hmac.compare_digest(verifier(password, salt=salt, iterations=int(found[1])), found[0])


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _prepared(password: str) -> bytes:
    """Returns the password as libpq sends it: normalized by SASLprep, or unchanged if SASLprep forbids it."""
    mapped = "".join(
        " " if stringprep.in_table_c12(each) else each for each in password if not stringprep.in_table_b1(each)
    )
    normal = unicodedata.normalize("NFKC", mapped)
    forbidden = (
        stringprep.in_table_c12,
        stringprep.in_table_c21_c22,
        stringprep.in_table_c3,
        stringprep.in_table_c4,
        stringprep.in_table_c5,
        stringprep.in_table_c6,
        stringprep.in_table_c7,
        stringprep.in_table_c8,
        stringprep.in_table_c9,
        stringprep.in_table_a1,
    )
    if not normal or any(table(each) for table in forbidden for each in normal) or not _has_one_direction(normal):
        return password.encode()
    return normal.encode()


def _has_one_direction(text: str) -> bool:
    if not any(stringprep.in_table_d1(each) for each in text):
        return True
    ends = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    return ends and not any(stringprep.in_table_d2(each) for each in text)
