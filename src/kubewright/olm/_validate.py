"""`validate`: everything that is wrong with a bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from kubewright.olm._check_bundle import check_format, check_parts
from kubewright.olm._check_csv import check_csv
from kubewright.olm._check_definitions import check_definitions
from kubewright.olm._hub import check_hub
from kubewright.olm._problems import Problem
from kubewright.olm._read import Bundle
from kubewright.olm._scorecard import check_scorecard
from kubewright.olm._shape import misshapen

__all__ = ["DEFAULT_SUITES", "SUITES", "Report", "Suite", "validate"]

Suite = Literal["format", "bundle", "scorecard", "operatorhub"]
"""What is checked.

`format`: the files and the annotations, as catalogs need them. `bundle`: what operator-framework's bundle validation
checks unless told otherwise. `scorecard`: the suites basic and olm. `operatorhub`: what OperatorHub.io asks besides.
"""
SUITES: Final[tuple[Suite, ...]] = get_args(Suite)
DEFAULT_SUITES: Final[tuple[Suite, ...]] = ("format", "bundle")

Check = Callable[[Bundle], Iterator[Problem]]
_CHECKS: Final[Mapping[Suite, Sequence[Check]]] = {
    "format": (check_format,),
    "bundle": (check_csv, check_definitions, check_parts),
    "scorecard": (check_scorecard,),
    "operatorhub": (check_hub,),
}


@dataclass(frozen=True, slots=True)
class Report:
    """What was found, in the order of the checks."""

    problems: Sequence[Problem]

    @property
    def errors(self) -> list[Problem]:
        """Those for which the bundle is refused."""
        return [one for one in self.problems if one.level == "error"]

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings are for what may be as it should."""
        return not self.errors


def validate(bundle: Bundle | Path, suites: Iterable[Suite] = DEFAULT_SUITES) -> Report:
    """Check a bundle, or the one in a folder. Raises `BundleError` only when there is no folder.

    What cannot be read at all is told, and checks that need it are left out.
    """
    read = bundle if isinstance(bundle, Bundle) else Bundle.read(bundle)
    found = list(read.unreadable)
    # A service version that cannot be read is told by the check of it; the others would stumble over it.
    asked = [check for suite in suites for check in _CHECKS[suite]]
    if misshapen(read.csv):
        asked = [check for check in asked if check in (check_csv, check_definitions)] or [check_csv]
    for check in asked:
        found += check(read)
    return Report(found)
