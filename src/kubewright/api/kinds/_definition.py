"""The part of a CustomResourceDefinition that `@resource` declares beyond the names of a kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from kubewright.api.kinds._form import FORM_ANNOTATION, Form
from kubewright.api.kinds._states import STATES_ANNOTATION, States
from kubewright.api.schema._constraints import Choices
from kubewright.api.schema._paths import parse_path, shape_at
from kubewright.api.schema._shapes import NotExpressible, Shape

__all__ = ["Column", "Conversion", "Definition", "Scale", "column_type"]

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_COLUMN_TYPES: Final = ("integer", "number", "string", "boolean", "date")
_COLUMN_FORMATS: Final = frozenset(["int32", "int64", "float", "double", "byte", "date", "date-time", "password"])
_MOST_SELECTABLE: Final = 8  # the server's limit


class Column(msgspec.Struct, frozen=True):
    """A column of `kubectl get`. Default type: that of the field. `date` shows the age.

    A column with a priority above 0 is shown only by `kubectl get -o wide`. With `checked=False`, the path is not
    checked against the class, and the column needs a type.
    """

    path: str
    type: Literal["integer", "number", "string", "boolean", "date"] | None = None
    format: str | None = None
    priority: int = 0
    description: str | None = None
    checked: bool = True

    def __post_init__(self) -> None:
        if self.checked:
            parse_path(self.path)
        elif self.type is None:
            raise ValueError(f"column {self.path} needs a type, because its path is not checked")
        if self.type is not None and self.type not in _COLUMN_TYPES:
            raise ValueError(f"the type of column {self.path} is one of {', '.join(_COLUMN_TYPES)}, not {self.type!r}")
        if self.format is not None and self.format not in _COLUMN_FORMATS:
            known = ", ".join(sorted(_COLUMN_FORMATS))
            raise ValueError(f"the format of column {self.path} must be one of {known}, not {self.format!r}")
        if self.priority < 0:
            raise ValueError(f"the priority of column {self.path} is 0 or more, not {self.priority!r}")


class Scale(msgspec.Struct, frozen=True):
    """The paths of `/scale`, which autoscalers use: desired replicas, actual replicas, and their label selector.

    With `checked=False`, the paths are not checked against the class.
    """

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str | None = None
    checked: bool = True

    def __post_init__(self) -> None:
        for name, path, below in (("spec", self.spec, (".spec.",)), ("status", self.status, (".status.",))):
            if not path.startswith(below):
                raise ValueError(f"the {name} path of a Scale is below {below[0][:-1]}, not {path!r}")
        if self.selector is not None and not self.selector.startswith((".spec.", ".status.")):
            raise ValueError(f"the selector path of a Scale is below .spec or .status, not {self.selector!r}")


class Conversion(msgspec.Struct, frozen=True, kw_only=True):
    """The webhook that converts objects between the versions of a kind. Without one, only `apiVersion` changes.

    Args:
        service: `namespace/name` of the Service that the API server calls.
        url: the URL that it calls instead, if the webhook is outside the cluster.
        path: the path of the Service.
        port: the port of the Service.
        ca_bundle: the CA certificates, as PEM, for the webhook's certificate. Default: `install` keeps those in the
            cluster, which the manager of the certificate sets.
        review_versions: the versions of ConversionReview that the webhook supports, the preferred one first.
    """

    service: str | None = None
    url: str | None = None
    path: str = "/convert"
    port: int = 443
    ca_bundle: bytes | None = None
    review_versions: tuple[str, ...] = ("v1",)

    def __post_init__(self) -> None:
        if (self.service is None) == (self.url is None):
            raise ValueError("a Conversion needs either the service or the url of its webhook")
        if self.service is not None and not re.fullmatch(rf"{_LABEL.pattern}/{_LABEL.pattern}", self.service):
            raise ValueError(f"the service of a Conversion is namespace/name, not {self.service!r}")
        if self.url is not None and not re.fullmatch(r"https://[^?#@]+", self.url):
            raise ValueError(f"the url of a Conversion starts with https:// and has no query, not {self.url!r}")
        if not self.path.startswith("/"):
            raise ValueError(f"the path of a Conversion starts with /, not {self.path!r}")
        if not 1 <= self.port <= 65535:
            raise ValueError(f"the port of a Conversion is from 1 to 65535, not {self.port}")
        reviews: object = self.review_versions
        if not reviews or not isinstance(reviews, tuple):
            raise ValueError('the review_versions of a Conversion are a tuple of versions: ("v1",)')


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """The declarations of a CustomResourceDefinition about one version of a kind, beyond names and schema."""

    list_kind: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: dict[str, Column] = msgspec.field(default_factory=dict)
    states: States | None = None
    form: Form | None = None
    selectable_fields: tuple[str, ...] = ()
    scale: Scale | None = None
    served: bool = True
    storage: bool | None = None
    deprecated: bool | str = False
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    api_approved: str | None = None
    conversion: Conversion | None = None

    def check(self, kind: type) -> None:
        """Raises TypeError for a path that does not exist, or has the wrong type."""
        name = kind.__name__
        for title, column in self.columns.items():
            column_type(kind, title, column)
        if self.states is not None:
            _shape(kind, self.states.path, f"the states of {name}")
        if self.form is not None:
            _check_form(kind, self.form)
        for path in self.selectable_fields:
            found = _shape(kind, path, f"the selectable field of {name}")
            steps = parse_path(path)
            if steps[0].member == "metadata" or any(step.member is None for step in steps):
                raise TypeError(f"the selectable field {path} of {name} must not be in the metadata or in a list")
            if found is not None and found.type not in ("string", "integer", "boolean"):
                raise TypeError(f"the selectable field {path} of {name} must be a string, an integer or a boolean")
        if self.scale is not None and self.scale.checked:
            self.check_scale(kind, self.scale)

    def check_scale(self, kind: type, scale: Scale) -> None:
        """Raises TypeError unless the paths of `/scale` lead to integers, and to a string for the selector."""
        for path, type_ in ((scale.spec, "integer"), (scale.status, "integer"), (scale.selector, "string")):
            if path is not None:
                found = _shape(kind, path, f"the scale of {kind.__name__}")
                if found is not None and found.type != type_:
                    raise TypeError(f"the scale of {kind.__name__}: {path} must be of type {type_}, not {found.type}")


def make_definition(
    kind: str,
    *,
    list_kind: str | None,
    short_names: Sequence[str],
    categories: Sequence[str],
    columns: Mapping[str, str | Column],
    states: States | None,
    form: Form | None,
    selectable_fields: Sequence[str],
    scale: Scale | None,
    served: bool,
    storage: bool | None,
    deprecated: bool | str,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    api_approved: str | None,
    conversion: Conversion | None,
) -> Definition:
    """Returns the definition for the arguments of `@resource`, after the checks that do not need the class."""
    for what, names in (
        ("short_names", short_names),
        ("categories", categories),
        ("selectable_fields", selectable_fields),
    ):
        if isinstance(names, str):
            raise TypeError(f"{what} of {kind} must be a list of strings: [{names!r}]")
        if len(set(names)) < len(names):
            raise ValueError(f"{what} of {kind} has duplicates: {', '.join(names)}")
    for name in (*short_names, *categories):
        if not _LABEL.fullmatch(name):
            raise ValueError(f"{name!r} of {kind} must be lower case letters, digits and '-'")
    if not isinstance(columns, Mapping):
        shape = 'paths by their titles: {"Replicas": ".spec.replicas"}'
        raise TypeError(f"columns of {kind} are {shape}, not {columns!r}")
    if len(selectable_fields) > _MOST_SELECTABLE:
        raise ValueError(f"{kind} has {len(selectable_fields)} selectable fields; the server allows {_MOST_SELECTABLE}")
    for path in selectable_fields:
        parse_path(path)
    given: object = conversion
    if given is not None and not isinstance(given, Conversion):
        raise TypeError(f'conversion of {kind} must be a Conversion, Conversion(service="system/foo"), not {given!r}')
    stated: object = states
    if stated is not None and not isinstance(stated, States):
        raise TypeError(f'states of {kind} must be a States, States(".status.phase", ready=("Ready",)), not {stated!r}')
    drawn: object = form
    if drawn is not None and not isinstance(drawn, Form):
        raise TypeError(f'form of {kind} must be a Form, Form(initial={{".spec.replicas": 2}}), not {drawn!r}')
    if isinstance(deprecated, str) and not (0 < len(deprecated) <= 256 and deprecated.isprintable()):
        raise ValueError(f"the deprecation warning of {kind} must be one line of at most 256 characters")
    return Definition(
        list_kind=list_kind or f"{kind}List",
        short_names=tuple(short_names),
        categories=tuple(categories),
        columns={title: Column(given) if isinstance(given, str) else given for title, given in columns.items()},
        states=states,
        form=form,
        selectable_fields=tuple(selectable_fields),
        scale=scale,
        served=served,
        storage=storage,
        deprecated=deprecated,
        labels=dict(labels),
        annotations={
            **annotations,
            **({STATES_ANNOTATION: states.annotation()} if states else {}),
            **({FORM_ANNOTATION: form.annotation()} if form else {}),
        },
        api_approved=api_approved,
        conversion=conversion,
    )


def column_type(kind: type, title: str, column: Column) -> str:
    """Returns the type of a column: its own, or that of the field at its path."""
    if not column.checked:
        return str(column.type)
    found = _shape(kind, column.path, f"column {title!r} of {kind.__name__}")
    if column.type is not None:
        return column.type
    if found is None or found.type in (None, "array", "object"):
        return "string"
    return "date" if found.format == "date-time" else str(found.type)


def _shape(kind: type, path: str, where: str) -> Shape | None:
    """Returns the shape at a path; None for a type without a schema."""
    try:
        return shape_at(kind, path, where)
    except NotExpressible:
        return None


_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
}


def _check_form(kind: type, form: Form) -> None:
    """Raises TypeError for a path that does not exist, a choice that has no choices, and a value of another type."""
    name = kind.__name__
    for what, path in form.paths():
        _shape(kind, path, f"the form of {name}: {what}")
    for path in form.newest:
        found = _shape(kind, path, f"the form of {name}")
        if found is not None and not found.enum and not any(isinstance(one, Choices) for one in found.constraints):
            raise TypeError(f"the form of {name}: {path} has no choices, so none of them is the newest")
    for path, value in form.initial.items():
        found = _shape(kind, path, f"the form of {name}")
        if found is None or found.type is None:
            continue
        fits = isinstance(value, _TYPES[found.type]) and (found.type == "boolean" or not isinstance(value, bool))
        if not fits or (found.enum and value not in found.enum):
            wanted = f"one of {', '.join(map(repr, found.enum))}" if found.enum else f"of type {found.type}"
            raise TypeError(f"the form of {name}: the initial value of {path} must be {wanted}, not {value!r}")
