"""Regular expressions that mean the same to the API server (Go) and here.

The server finds a pattern anywhere in the text, counts only ASCII as digits and word characters, and lets `$` match
at the very end alone. `python_pattern` gives the Python form of such a pattern; what only one of the two understands
is refused.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["python_pattern"]

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
    "space": r"\t\n\v\f\r ",
    "blank": r"\t ",
    "punct": r"!-/:-@\[-`{-~",
}
_PIECE = (
    r"(?P<escape>\\.)|(?P<posix>\[:(?P<name>\w+):\])|(?P<group>\(\?(?:P?[<=!>]=?|[=!>(#]|[a-zA-Z-]+[:)])?)"
    r"|(?P<possessive>(?:[*+?]|\{[\d,]+\})\+)|(?P<count>\{(?P<low>\d+)(?:,(?P<high>\d*))?\})|(?P<other>.)"
)
_ESCAPES_OF_GO_ALONE = frozenset("pPQEC")
_MOST_REPEATS = 1000


@lru_cache(maxsize=1024)
def python_pattern(regex: str) -> re.Pattern[str]:
    """The pattern for Python's `re`, to be used with `search`. Raises ValueError for one that has no such form."""
    pieces: list[str] = []
    in_class = False
    for token in re.finditer(_PIECE, regex, re.DOTALL):
        text = token[0]
        if token["escape"]:
            text = _escape(regex, text)
        elif in_class:
            if token["posix"]:
                if token["name"] not in _POSIX:
                    raise _refused(regex, f"{text} is no class of characters")
                text = _POSIX[token["name"]]
            in_class = text != "]" or pieces[-1] in ("[", "[^")
            if text == "[":
                text = r"\["  # Python warns of what it may mean one day
        elif text == "[":
            in_class = True
        elif token["group"]:
            _check_group(regex, text)
        elif token["possessive"]:
            raise _refused(regex, f"Go does not know the repeat {text}")
        elif token["count"]:
            if max(int(token["low"]), int(token["high"] or 0)) > _MOST_REPEATS:
                raise _refused(regex, f"Go repeats nothing more than {_MOST_REPEATS} times")
        elif text == "$" and not _is_multi_line(regex):
            text = r"\Z"
        if in_class and text == "^" and pieces[-1:] == ["["]:
            pieces[-1] = "[^"
        else:
            pieces.append(text)
    try:
        return re.compile("".join(pieces), re.ASCII)
    except re.error as error:
        raise _refused(regex, str(error)) from None


def _escape(regex: str, text: str) -> str:
    letter = text[1]
    if letter.isdigit() and letter != "0":
        raise _refused(regex, f"Go has no back references such as {text}")
    if letter == "Z":
        raise _refused(regex, r"Go does not know \Z; write $ or \z")
    if letter in _ESCAPES_OF_GO_ALONE:
        raise _refused(regex, f"only Go knows {text}")
    return r"\Z" if letter == "z" else text


def _check_group(regex: str, text: str) -> None:
    if text in ("(?=", "(?!", "(?<=", "(?<!"):
        raise _refused(regex, f"Go has no look-around such as {text}")
    if text not in ("(?", "(?P<") and not re.fullmatch(r"\(\?[imsU-]*[:)]", text):
        raise _refused(regex, f"Go does not know groups such as {text}")
    if "U" in text:
        raise _refused(regex, "only Go knows the flag U")


def _is_multi_line(regex: str) -> bool:
    return re.search(r"\(\?[a-zA-Z]*m", regex) is not None


def _refused(regex: str, why: str) -> ValueError:
    return ValueError(f"{regex!r} is not a pattern that the API server and Python both understand: {why}")
