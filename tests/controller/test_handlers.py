"""What is wrong with a handler or an option is said where it is written."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import queue
import re
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import core
from kubewright.cache import ObjectKey
from kubewright.clock import VirtualClock
from kubewright.controller import BlockingContext, Context, Owns, Result, Watch, generation_changed
from kubewright.controller.registration import check_handler
from kubewright.operator import Operator
from tests.controller.conftest import Part, Thing


@pytest.mark.promise("What wakes a reconciler", "A misspelled option fails at once, with the valid names.")
def test_rejects_a_misspelled_option_with_the_nearest_name_and_all_of_them(operator: Operator) -> None:
    with pytest.raises(TypeError) as caught:
        operator.reconciles(Thing, own=[Part])  # type: ignore[call-arg]
    assert str(caught.value) == (
        "reconciles has no option 'own'. Did you mean 'owns'? The options are: concurrency, labels, name, owns, "
        "priority, rate_limiter, reads, resync, timeout, triggers, verbs, watches, when"
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"owns": Part}, TypeError, r"owns takes a list, owns=\[...\]"),
        ({"owns": ["Part"]}, TypeError, "owns takes a kind, such as apps.Deployment"),
        ({"watches": [Part]}, TypeError, r"watches takes Watch\(kind, map=...\)"),
        ({"reads": [int]}, TypeError, "reads takes a kind"),
        ({"concurrency": 0}, ValueError, "concurrency must be the number of reconciles at a time, at least 1, not 0"),
        ({"concurrency": True}, ValueError, "at least 1, not True"),
        ({"resync": "often"}, ValueError, "resync must be a duration, such as 30s, .* seconds, not 'often'"),
        ({"resync": -1}, ValueError, "resync must be a duration, such as 30s, .* seconds, not -1"),
        ({"resync": [60]}, TypeError, r"resync must be a duration, such as 30s, .* seconds, not \[60\]"),
        ({"timeout": True}, TypeError, "timeout must be a duration, such as 30s, .* seconds, not True"),
        ({"timeout": 0}, ValueError, "timeout must be a duration, .*, and more than 0, not 0"),
        ({"timeout": timedelta(seconds=-1)}, ValueError, "timeout must be a duration, .* not "),
        (
            {"when": "generation"},
            TypeError,
            "when takes a predicate, such as .*, not the string 'generation'",
        ),
        ({"when": [generation_changed]}, TypeError, "when takes one predicate: combine several with &"),
        ({"when": 5}, TypeError, "a predicate must be a function of a Change"),
        ({"when": lambda: True}, TypeError, "the predicate .*<lambda> must take one argument, the Change"),
        ({"when": asyncio.sleep}, TypeError, "the predicate sleep is async: make it a plain def"),
        ({"rate_limiter": 5}, TypeError, "rate_limiter must be a rate limiter"),
        ({"rate_limiter": int}, TypeError, r"rate_limiter must be a rate limiter, such as .*, not <class 'int'>"),
        ({"rate_limiter": asyncio.sleep}, TypeError, "or a function that makes one, not <function sleep"),
        ({"rate_limiter": lambda key: None}, TypeError, "<lambda> needs arguments: pass an instance, such as Exp"),
        ({"triggers": asyncio.Queue()}, TypeError, r"triggers takes a list, triggers=\[...\]"),
        ({"triggers": [3]}, TypeError, r"triggers takes async iterators of keys, asyncio.Queues, .*, not 3"),
        ({"triggers": [queue.Queue()]}, TypeError, "triggers takes async iterators of keys, asyncio.Queues"),
        ({"triggers": [lambda kind: None]}, TypeError, "or functions without parameters that make an iterator"),
        (
            {"triggers": [asyncio.Queue]},
            TypeError,
            "asyncio.Queues, or functions .*, not <class 'asyncio.queues.Queue'>",
        ),
        ({"triggers": [asyncio.sleep]}, TypeError, r"that make an iterator \(async def with yield\)"),
        (
            {"labels": 3},
            TypeError,
            r'reconciles\(Thing\): labels must be a label selector, such as "app=web" .*, not 3',
        ),
        (
            {"labels": {"tier": 1}},
            TypeError,
            r"reconciles\(Thing\): labels must be a label selector, .*, not {'tier': 1}",
        ),
        ({"labels": "a in (b"}, ValueError, r"reconciles\(Thing\): labels is not a valid label selector: .*a in \(b"),
        ({"labels": {"a": "b c"}}, ValueError, r"reconciles\(Thing\): labels is not a valid label selector: .*b c"),
        ({"name": 5}, TypeError, r"reconciles\(Thing\): name must be a string, such as thing, not 5"),
        ({"name": ["a"]}, TypeError, r"reconciles\(Thing\): name must be a string, such as thing, not \['a'\]"),
    ],
)
def test_rejects_a_wrong_value_when_it_is_registered(
    operator: Operator, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        operator.reconciles(Thing, **options)


@pytest.mark.parametrize("given", [90, 90.0, timedelta(minutes=1, seconds=30), "90", "90s", "1m30s"])
def test_times_are_written_as_in_the_settings_of_the_operator(given: float | timedelta | str) -> None:
    operator = Operator("timely", resync=given)

    @operator.reconciles(Thing, resync=given, timeout=given)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    [registration] = operator.registrations()
    assert (operator.settings.resync, registration.resync, registration.timeout) == (90, 90, 90)


@pytest.mark.parametrize("never", [0, "0", "0s", timedelta(0)])
def test_a_resync_of_zero_is_never_whatever_the_operator_does(never: float | timedelta | str) -> None:
    operator = Operator("timely", resync="10m")

    @operator.reconciles(Thing, resync=never)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    assert [registration.resync for registration in operator.registrations()] == [None]


def test_rejects_a_misspelled_option_of_owns() -> None:
    with pytest.raises(TypeError, match=r"Owns has no option 'wen'\. Did you mean 'when'\?"):
        Owns(Part, wen=generation_changed)  # type: ignore[call-arg]


@pytest.mark.parametrize(("labels", "error"), [(3, TypeError), ("a in (b", ValueError)])
def test_labels_of_what_is_owned_or_watched_must_be_a_selector(labels: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"Owns\(Part\): labels "):
        Owns(Part, labels=labels)
    with pytest.raises(error, match=r"Watch\(Part\): labels "):
        Watch(Part, map=ObjectKey.of, labels=labels)


def test_rejects_a_class_that_is_not_a_kind(operator: Operator) -> None:
    with pytest.raises(TypeError, match="reconciles takes a kind"):
        operator.reconciles("Thing")  # type: ignore[arg-type]


def test_two_controllers_of_one_kind_need_names(operator: Operator) -> None:
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    operator.reconciles(Thing)(sync)
    with pytest.raises(ValueError, match=r"already has a controller 'thing': give the second one another name"):
        operator.reconciles(Thing)
    operator.reconciles(Thing, name="second")(sync)


@pytest.mark.promise("What wakes a reconciler", "A function, async or plain, or a class.")
async def test_the_form_of_a_function_is_seen_from_its_signature() -> None:
    async def by_object(obj: Thing, ctx: Context[Thing]) -> None: ...
    async def by_key(key: ObjectKey, ctx: Context[Thing]) -> None: ...
    def blocking(obj: Thing, ctx: BlockingContext[Thing]) -> None: ...
    def blocking_by_key(key: ObjectKey, ctx: BlockingContext[Thing]) -> Result | None: ...
    async def bare(obj, ctx): ...  # type: ignore[no-untyped-def]
    async def more(zone: str, obj: Thing, ctx: Context[Thing]) -> None: ...

    def forms(function: Any) -> tuple[bool, bool]:
        form = check_handler(function, Thing)
        return form.blocking, form.by_key

    assert forms(by_object) == (False, False)
    assert forms(by_key) == (False, True)
    assert forms(blocking) == (True, False)
    assert forms(blocking_by_key) == (True, True)
    assert forms(bare) == (False, False)
    assert forms(functools.partial(more, "eu")) == (False, False)


def test_too_few_or_too_many_parameters_are_refused_with_the_shape_that_is_meant() -> None:
    async def one(obj: Thing) -> None: ...
    async def three(obj: Thing, ctx: Context[Thing], zone: str) -> None: ...

    expected = r"must take two parameters, .*: async def \w+\(obj: Thing, ctx: Context\[Thing\]\)"

    for function in (one, three):
        with pytest.raises(TypeError, match=expected):
            check_handler(function, Thing)


def test_rejects_a_required_keyword_parameter_with_the_fix(operator: Operator) -> None:
    async def sync(obj: Thing, ctx: Context[Thing], *, database: str, zone: str = "eu") -> None: ...

    messages = r"sync requires the keyword argument database, .* or pass functools.partial\(..., database=...\)"
    decorators: list[Any] = [operator.reconciles(Thing), operator.finalizes(Thing), operator.deleted(Thing)]
    for decorator in decorators:
        with pytest.raises(TypeError, match=messages):
            decorator(sync)
        decorator(functools.partial(sync, database="d"))


def test_a_function_of_another_kind_is_refused() -> None:
    async def sync(obj: Part, ctx: Context[Part]) -> None: ...

    with pytest.raises(TypeError, match="takes a Part, but is registered for Thing"):
        check_handler(sync, Thing)


def test_the_context_must_fit_the_kind_of_function() -> None:
    def plain(obj: Thing, ctx: Context[Thing]) -> None: ...
    async def coroutine(obj: Thing, ctx: BlockingContext[Thing]) -> None: ...

    with pytest.raises(TypeError, match=r"make it async def, or annotate its context with BlockingContext\[Thing\]"):
        check_handler(plain, Thing)
    with pytest.raises(TypeError, match=r"its context is a Context\[Thing\], not a BlockingContext"):
        check_handler(coroutine, Thing)


def test_the_object_comes_before_the_context() -> None:
    async def swapped(ctx: Context[Thing], obj: Thing) -> None: ...

    with pytest.raises(
        TypeError, match=r"swapped has its parameters in the wrong order: the object comes first, async def swapped"
    ):
        check_handler(swapped, Thing)


def test_rejects_a_generator() -> None:
    async def coroutine(obj: Thing, ctx: Context[Thing]) -> AsyncIterator[int]:
        yield 1

    def plain(obj: Thing, ctx: BlockingContext[Thing]) -> Iterator[int]:
        yield 1

    for function in (coroutine, plain):
        with pytest.raises(TypeError, match="has a yield, so a call would not run it"):
            check_handler(function, Thing)


def test_finalizers_and_deletion_callbacks_need_the_object(operator: Operator) -> None:
    async def by_key(key: ObjectKey, ctx: Context[Thing]) -> None: ...

    for decorator in (operator.finalizes(Thing), operator.deleted(Thing)):
        with pytest.raises(TypeError, match="takes the key alone, but only reconcilers can"):
            decorator(by_key)  # type: ignore[arg-type]


def test_a_class_must_have_reconcile_and_be_made_without_arguments(operator: Operator) -> None:
    class Without:
        pass

    class Needy:
        def __init__(self, url: str) -> None:
            self.url = url

        async def reconcile(self, obj: Thing, ctx: Context[Thing]) -> None: ...

    with pytest.raises(TypeError, match="Without has no method reconcile"):
        operator.reconciles(Thing)(Without)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Needy cannot be instantiated without arguments .*: pass an instance instead"):
        operator.reconciles(Thing)(Needy)  # type: ignore[arg-type]
    operator.reconciles(Thing)(Needy("http://localhost"))


def test_the_methods_of_a_class_are_looked_at_too(operator: Operator) -> None:
    class Wrong:
        async def reconcile(self, obj: Thing) -> None: ...

    with pytest.raises(TypeError, match="must take two parameters"):
        operator.reconciles(Thing)(Wrong)  # type: ignore[arg-type]


def test_methods_may_be_static_or_of_the_class(operator: Operator) -> None:
    class Static:
        @staticmethod
        async def reconcile(obj: Thing, ctx: Context[Thing]) -> None: ...

        @classmethod
        async def finalize(cls, obj: Thing, ctx: Context[Thing]) -> None: ...

    both: list[Any] = [Static, Static()]
    for number, given in enumerate(both):
        operator.reconciles(Thing, name=f"thing-{number}")(given)
    for registration in operator.registrations():
        handlers = registration.make_handlers()
        assert [form and form.name.rpartition(".")[2] for form in (handlers.reconcile, handlers.finalize)] == [
            "reconcile",
            "finalize",
        ]

    class Typo(Static):
        @staticmethod
        async def delete(obj: Thing, ctx: Context[Thing]) -> None: ...

    with pytest.raises(TypeError, match="has a method 'delete', which nothing calls"):
        operator.reconciles(Thing, name="typo")(Typo)


def test_an_attribute_in_the_place_of_a_method_is_refused(operator: Operator) -> None:
    class Wrong:
        async def reconcile(self, obj: Thing, ctx: Context[Thing]) -> None: ...

        finalize = 5

    for given in (Wrong, Wrong()):
        with pytest.raises(TypeError, match=r"Wrong.finalize must be a method, def finalize\(self, ...\), not 5"):
            operator.reconciles(Thing)(given)


def test_rejects_a_misspelled_method_name(operator: Operator) -> None:
    class Typo:
        async def reconcile(self, obj: Thing, ctx: Context[Thing]) -> None: ...

        async def finalise(self, obj: Thing, ctx: Context[Thing]) -> None: ...

    class Other:
        async def reconciles(self, obj, ctx): ...  # type: ignore[no-untyped-def]

    class Fine:
        async def reconcile(self, obj: Thing, ctx: Context[Thing]) -> None: ...

        async def delete(self, url: str, times: int) -> None:
            """Of another kind than ours."""

        async def reconciled(self, obj: Thing, ctx: Context[Thing]) -> None:
            """There is the other one, too."""

    messages = (
        "has a method 'finalise', which nothing calls. Did you mean 'finalize'? The methods are: reconcile, finalize, "
    )
    for given in (Typo, Typo()):
        with pytest.raises(TypeError, match=re.escape(messages)):
            operator.reconciles(Thing)(given)
    with pytest.raises(TypeError, match=re.escape("Did you mean 'reconcile'?")):
        operator.reconciles(Thing)(Other)  # type: ignore[arg-type]
    operator.reconciles(Thing)(Fine)


def test_a_finalizer_is_named_after_the_group_and_the_operator_unless_the_group_is_kubernetes_own(
    operator: Operator,
) -> None:
    async def clean(obj: Thing, ctx: Context[Thing]) -> None: ...

    operator.finalizes(Thing)(clean)
    [registration] = operator.registrations()
    assert [name for name, _ in registration.finalizers] == ["example.com/thing-operator"]
    with pytest.raises(ValueError, match="needs a name, because its group is not a domain of yours"):
        operator.finalizes(core.ConfigMap)
    with pytest.raises(ValueError, match="must be a name under a domain"):
        operator.finalizes(Thing, name="cleanup")
    with pytest.raises(
        TypeError, match=r"finalizes\(Thing\): name must be a string, such as example.com/cleanup, not 5"
    ):
        operator.finalizes(Thing, name=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"already has a finalizer 'example.com/thing-operator'"):
        operator.finalizes(Thing)


@pytest.mark.parametrize("name", ["a\nb", "a\x7f"])
def test_rejects_a_controller_name_that_no_field_manager_can_have(name: str) -> None:
    operator = Operator("thing-operator")
    with pytest.raises(ValueError, match="must be printable characters, such as site-probe"):
        operator.reconciles(Thing, name=name)

    async def probe(obj: Thing, ctx: Context[Thing]) -> None: ...

    with pytest.raises(ValueError, match="must be printable characters, such as site-probe"):
        operator.every(Thing, "1m", name=name)(probe)


def test_an_operator_has_a_name_that_can_be_written_everywhere() -> None:
    with pytest.raises(ValueError, match=f"operator name '{'x' * 64}' must be .*, at most 63 of them, such as"):
        Operator("x" * 64)
    with pytest.raises(ValueError, match="operator name 'My Operator' must be lower case"):
        Operator("My Operator")
    with pytest.raises(TypeError, match="operator name must be a string, such as foo-operator, not None"):
        Operator(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"has no option 'namespace'. Did you mean 'namespaces'"):
        Operator("mine", namespace="default")  # type: ignore[call-arg]


@pytest.mark.parametrize("clock", [3, VirtualClock])
def test_an_operator_has_a_clock_that_tells_the_time(clock: Any) -> None:
    with pytest.raises(TypeError, match=r"clock must be a Clock, such as VirtualClock\(\), not "):
        Operator("mine", clock=clock)


@pytest.mark.parametrize("component", [3, lambda: None, contextlib.AsyncExitStack()])
def test_what_is_attached_is_a_function_of_the_run(operator: Operator, component: Any) -> None:
    with pytest.raises(TypeError, match="attach takes a function that takes the Running and returns an async context"):
        operator.attach(component)


@pytest.mark.parametrize("after", [-1, float("nan"), timedelta(seconds=-5)])
def test_rejects_a_negative_requeue_after(after: float | timedelta) -> None:
    with pytest.raises(ValueError, match="requeue_after must be a duration, such as 30s"):
        Result(requeue_after=after)


def test_a_result_takes_seconds_a_timedelta_or_a_string() -> None:
    assert Result(requeue_after=1.5).delay == 1.5
    assert Result(requeue_after=timedelta(minutes=2)).delay == 120
    assert Result().delay == 0
    assert Result(requeue_after="5m").delay == 300
    with pytest.raises(ValueError, match=r"requeue_after must be a duration, such as 30s, .*, not 'soon'"):
        Result(requeue_after="soon")
    with pytest.raises(TypeError, match=r"requeue_after must be a duration, such as 30s, .*, not \[30\]"):
        Result(requeue_after=[30])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Result takes its fields by name: requeue, requeue_after"):
        Result(30)  # type: ignore[arg-type,call-arg]
    for requeue in (30, "no", None):
        with pytest.raises(TypeError, match=f"requeue must be True or False, not {requeue!r}; .* requeue_after=30"):
            Result(requeue=requeue)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Result has no field 'requeue_afer'. Did you mean 'requeue_after'?"):
        Result(requeue_afer=30)  # type: ignore[call-arg]
