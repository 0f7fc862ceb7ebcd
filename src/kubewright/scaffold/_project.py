"""`new_project`: the files of a project without kinds."""

from __future__ import annotations

from dataclasses import replace

from kubewright.scaffold._names import check_domain, check_name, check_not_standard
from kubewright.scaffold._plan import Plan
from kubewright.scaffold._record import RECORD, Record
from kubewright.scaffold._templates import filled

__all__ = ["new_project"]


def new_project(name: str, domain: str, *, repo: str = "", like: Record | None = None) -> Plan:
    """Returns the plan of a project: a package with an operator, a Makefile, tests, and files for the image and CI.

    Args:
        name: the name of the project and of its operator.
        domain: the suffix of the groups of its kinds.
        repo: the URL of the source repository, for the README and the package's metadata.
        like: a project whose version of the scaffold is used. Default: the newest version.
    """
    record = Record(name=check_name(name), domain=check_domain(domain), repo=repo)
    if like is None:
        check_not_standard(name)
    else:
        record = replace(record, scaffold=like.scaffold, kubewright=like.kubewright)
    values = {
        "name": record.name,
        "package": record.package,
        "domain": record.domain,
        "repo": record.repo,
        "kubewright": record.kubewright,
    }
    return Plan(files={RECORD: record.text(), **filled("project", record.scaffold, values)})
