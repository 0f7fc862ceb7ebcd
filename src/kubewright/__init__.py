"""Kubewright: the Python SDK for Kubernetes operators.

The names that most programs need are here. Each is imported on first use, so that `import kubewright` is fast. Rooms:
`kubewright.api` (typed objects), `kubewright.client`, `kubewright.crd`, `kubewright.codegen`, `kubewright.cache`,
`kubewright.queue`, `kubewright.events`, `kubewright.observe`, `kubewright.controller`, `kubewright.webhook`,
`kubewright.operator`, `kubewright.testing`.
"""

from __future__ import annotations

from kubewright.version import VERSION

__version__ = VERSION

# Type checkers read this as true. To import `typing` takes longer than the rest of this module, and the program
# `kubewright` handles Ctrl-C only after it.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from kubewright.api import AtLeastOneOf as AtLeastOneOf
    from kubewright.api import AtMostOneOf as AtMostOneOf
    from kubewright.api import Choices as Choices
    from kubewright.api import Column as Column
    from kubewright.api import Conversion as Conversion
    from kubewright.api import EmbeddedResource as EmbeddedResource
    from kubewright.api import ExactlyOneOf as ExactlyOneOf
    from kubewright.api import Example as Example
    from kubewright.api import Form as Form
    from kubewright.api import Format as Format
    from kubewright.api import FormSection as FormSection
    from kubewright.api import Immutable as Immutable
    from kubewright.api import Items as Items
    from kubewright.api import Length as Length
    from kubewright.api import ListType as ListType
    from kubewright.api import MapType as MapType
    from kubewright.api import Model as Model
    from kubewright.api import MultipleOf as MultipleOf
    from kubewright.api import Nullable as Nullable
    from kubewright.api import Object as Object
    from kubewright.api import Pattern as Pattern
    from kubewright.api import PreserveUnknown as PreserveUnknown
    from kubewright.api import Properties as Properties
    from kubewright.api import Quantity as Quantity
    from kubewright.api import Range as Range
    from kubewright.api import Resource as Resource
    from kubewright.api import Rule as Rule
    from kubewright.api import Scale as Scale
    from kubewright.api import Schema as Schema
    from kubewright.api import States as States
    from kubewright.api import Untyped as Untyped
    from kubewright.api import ValidationError as ValidationError
    from kubewright.api import constrain as constrain
    from kubewright.api import validate as validate
    from kubewright.api.kinds import resource as resource
    from kubewright.cache import ObjectKey as ObjectKey
    from kubewright.client import ApiError as ApiError
    from kubewright.client import BlockingClient as BlockingClient
    from kubewright.client import Client as Client
    from kubewright.client import ConfigError as ConfigError
    from kubewright.client import load_config as load_config
    from kubewright.controller import BlockingContext as BlockingContext
    from kubewright.controller import Child as Child
    from kubewright.controller import Context as Context
    from kubewright.controller import Dependency as Dependency
    from kubewright.controller import ImmutableFields as ImmutableFields
    from kubewright.controller import NotDeclared as NotDeclared
    from kubewright.controller import NotOwned as NotOwned
    from kubewright.controller import NotServed as NotServed
    from kubewright.controller import Owns as Owns
    from kubewright.controller import Reader as Reader
    from kubewright.controller import Reads as Reads
    from kubewright.controller import ReconcileTimeout as ReconcileTimeout
    from kubewright.controller import Result as Result
    from kubewright.controller import RetryLater as RetryLater
    from kubewright.controller import TerminalError as TerminalError
    from kubewright.controller import Watch as Watch
    from kubewright.controller import WriteConflict as WriteConflict
    from kubewright.controller import annotations_changed as annotations_changed
    from kubewright.controller import generation_changed as generation_changed
    from kubewright.controller import labels_changed as labels_changed
    from kubewright.controller import predicate as predicate
    from kubewright.controller import resource_version_changed as resource_version_changed
    from kubewright.durations import Duration as Duration
    from kubewright.operator import Operator as Operator
    from kubewright.operator import Running as Running
    from kubewright.operator import World as World
    from kubewright.webhook import AdmissionRequest as AdmissionRequest
    from kubewright.webhook import AdmissionWarning as AdmissionWarning
    from kubewright.webhook import ConversionError as ConversionError
    from kubewright.webhook import FieldError as FieldError
    from kubewright.webhook import Refused as Refused

_MODULES = {
    "Model": "kubewright.api",
    "Object": "kubewright.api",
    "Quantity": "kubewright.api",
    "Resource": "kubewright.api",
    "Untyped": "kubewright.api",
    "AtLeastOneOf": "kubewright.api",
    "AtMostOneOf": "kubewright.api",
    "Choices": "kubewright.api",
    "Column": "kubewright.api",
    "Conversion": "kubewright.api",
    "EmbeddedResource": "kubewright.api",
    "ExactlyOneOf": "kubewright.api",
    "Example": "kubewright.api",
    "Form": "kubewright.api",
    "FormSection": "kubewright.api",
    "Format": "kubewright.api",
    "Immutable": "kubewright.api",
    "Items": "kubewright.api",
    "Length": "kubewright.api",
    "ListType": "kubewright.api",
    "MapType": "kubewright.api",
    "MultipleOf": "kubewright.api",
    "Nullable": "kubewright.api",
    "Pattern": "kubewright.api",
    "PreserveUnknown": "kubewright.api",
    "Properties": "kubewright.api",
    "Range": "kubewright.api",
    "Rule": "kubewright.api",
    "Scale": "kubewright.api",
    "Schema": "kubewright.api",
    "States": "kubewright.api",
    "ValidationError": "kubewright.api",
    "constrain": "kubewright.api",
    "validate": "kubewright.api",
    "resource": "kubewright.api.kinds",
    "ApiError": "kubewright.client",
    "BlockingClient": "kubewright.client",
    "Client": "kubewright.client",
    "ConfigError": "kubewright.client",
    "load_config": "kubewright.client",
    "ObjectKey": "kubewright.cache",
    "BlockingContext": "kubewright.controller",
    "WriteConflict": "kubewright.controller",
    "Child": "kubewright.controller",
    "Context": "kubewright.controller",
    "Dependency": "kubewright.controller",
    "ImmutableFields": "kubewright.controller",
    "NotDeclared": "kubewright.controller",
    "NotOwned": "kubewright.controller",
    "NotServed": "kubewright.controller",
    "Owns": "kubewright.controller",
    "Reader": "kubewright.controller",
    "Reads": "kubewright.controller",
    "ReconcileTimeout": "kubewright.controller",
    "Result": "kubewright.controller",
    "RetryLater": "kubewright.controller",
    "TerminalError": "kubewright.controller",
    "Watch": "kubewright.controller",
    "annotations_changed": "kubewright.controller",
    "generation_changed": "kubewright.controller",
    "labels_changed": "kubewright.controller",
    "predicate": "kubewright.controller",
    "resource_version_changed": "kubewright.controller",
    "Duration": "kubewright.durations",
    "Operator": "kubewright.operator",
    "Running": "kubewright.operator",
    "World": "kubewright.operator",
    "AdmissionRequest": "kubewright.webhook",
    "AdmissionWarning": "kubewright.webhook",
    "ConversionError": "kubewright.webhook",
    "FieldError": "kubewright.webhook",
    "Refused": "kubewright.webhook",
}

__all__ = ["__version__", *_MODULES]

if not TYPE_CHECKING:  # type checkers report unknown names

    def __getattr__(name: str) -> object:
        from kubewright.lazy import lazy_exports

        return lazy_exports(__name__, _MODULES)(name)


def __dir__() -> list[str]:
    return sorted(__all__)
