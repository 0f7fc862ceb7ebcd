"""Reviews are answered with what handlers say and change."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import re
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import ObjectMeta, Untyped, Violation, core, from_dict, to_dict
from kubewright.clock import VirtualClock
from kubewright.webhook import AdmissionRequest, AdmissionWarning, FieldError, Refused, rule_for
from tests.patience import PATIENCE
from tests.unheld_clock import UnheldClock
from tests.webhook.conftest import UID, asking, review
from tests.webhook.kinds import Toy, ToySpec, ToyStatus, Wheel


def toy(**spec: Any) -> Toy:
    return Toy(metadata=ObjectMeta(name="bear", namespace="room"), spec=ToySpec(**spec))


def made() -> kw.Operator:
    return kw.Operator("toys")


def path_of(operator: kw.Operator) -> str:
    [declared] = operator.webhooks.declarations()
    return declared.path


async def answer_to(operator: kw.Operator, asked: dict[str, Any]) -> dict[str, Any]:
    async with asking(operator) as asker:
        return await asker.ask(path_of(operator), asked)


def patch_in(response: dict[str, Any]) -> list[dict[str, Any]]:
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"
    found: list[dict[str, Any]] = json.loads(base64.b64decode(response["patch"]))
    return found


# Changing


@pytest.mark.promise(
    "Webhooks",
    "The patch of a mutating handler is what it changed, and fields that the model does not know are not touched.",
)
async def test_the_patch_is_what_the_handler_changed() -> None:
    operator = made()

    @operator.defaults(Toy)
    def fill_in(toy: Toy) -> None:
        toy.spec.size = toy.spec.size or 3
        toy.metadata.labels["kind"] = "toy"

    asked = review(toy(color="red"))
    assert patch_in(await answer_to(operator, asked)) == [
        {"op": "add", "path": "/metadata/labels", "value": {"kind": "toy"}},
        {"op": "add", "path": "/spec/size", "value": 3},
    ]


@pytest.mark.promise(
    "Webhooks",
    "The patch of a mutating handler is what it changed, and fields that the model does not know are not touched.",
)
async def test_fields_that_the_model_does_not_know_are_not_touched() -> None:
    operator = made()

    @operator.defaults(Toy)
    async def fill_in(toy: Toy) -> None:
        toy.spec.wheels = [Wheel(name="new", inches=2), *toy.spec.wheels]
        toy.spec.wheels[1].inches = 9

    content = to_dict(toy(wheels=[Wheel(name="left")]))
    content["spec"]["wheels"][0]["unknown"] = {"to": "us"}
    content["spec"]["alsoUnknown"] = 1
    assert patch_in(await answer_to(operator, review(content))) == [
        {"op": "add", "path": "/spec/wheels/0", "value": {"name": "new", "inches": 2}},
        {"op": "replace", "path": "/spec/wheels/1/inches", "value": 9},
    ]


async def test_a_handler_may_return_another_object_or_change_nothing() -> None:
    operator = made()

    @operator.defaults(Toy)
    def fill_in(toy: Toy) -> Toy | None:
        return Toy(metadata=toy.metadata, spec=ToySpec(size=1)) if toy.spec.size == 0 else None

    async with asking(operator) as asker:
        [operation] = patch_in(await asker.ask(path_of(operator), review(toy(size=0))))
        assert operation == {"op": "replace", "path": "/spec/size", "value": 1}
        assert await asker.ask(path_of(operator), review(toy(size=1))) == {
            "uid": UID,
            "allowed": True,
        }


async def test_a_class_fills_in_defaults_too_and_is_made_for_the_server() -> None:
    operator = made()

    @operator.defaults(Toy)
    class Filling:
        def __init__(self) -> None:
            self.size = 7

        async def default(self, toy: Toy, request: AdmissionRequest[Toy]) -> None:
            toy.spec.size = self.size
            request.audit("filled", "yes")

    response = await answer_to(operator, review(toy()))
    assert patch_in(response) == [{"op": "add", "path": "/spec/size", "value": 7}]
    assert response["auditAnnotations"] == {"filled": "yes"}


@pytest.mark.promise("Webhooks", "Built-in kinds, subresources and any kind can be handled.")
async def test_untyped_objects_are_changed_the_same_way() -> None:
    operator = made()

    @operator.defaults(Untyped, rules=[rule_for(Toy, "CREATE")])
    def fill_in(obj: Untyped, request: AdmissionRequest[Untyped]) -> None:
        obj["spec"]["size"] = len(str(request.kind))

    content = to_dict(toy()) | {"extra": True}
    [operation] = patch_in(await answer_to(operator, review(content)))
    assert operation == {"op": "add", "path": "/spec/size", "value": len("Toy (webhooks.example.com/v1)")}


# Saying yes and no


@pytest.mark.promise(
    "Webhooks",
    "All errors of an object are reported together, each with its field, in the wording of Kubernetes.",
)
async def test_reports_all_errors_with_their_fields() -> None:
    operator = made()

    @operator.validates(Toy)
    def check(toy: Toy) -> Iterator[FieldError | AdmissionWarning]:
        yield FieldError.invalid("spec.size", toy.spec.size, "must be 10 or less")
        yield AdmissionWarning("red is\nold-fashioned")
        yield FieldError.required("spec.color")

    response = await answer_to(operator, review(toy(size=11)))
    assert response["allowed"] is False
    assert response["warnings"] == ["red is old-fashioned"]
    status = response["status"]
    assert (status["code"], status["reason"], status["status"]) == (422, "Invalid", "Failure")
    assert [cause["field"] for cause in status["details"]["causes"]] == ["spec.size", "spec.color"]
    assert status["message"] == (
        'Toy.webhooks.example.com "bear" is invalid:'
        " [spec.size: Invalid value: 11: must be 10 or less, spec.color: Required value]"
    )


@pytest.mark.parametrize("way", ["list", "one", "async", "async generator", "raised", "rules of the kind"])
async def test_errors_can_be_returned_yielded_or_raised(way: str) -> None:
    operator = made()
    error = FieldError("spec.size", "odd")

    if way == "list":
        operator.validates(Toy)(lambda toy: [error])
    elif way == "one":
        operator.validates(Toy)(lambda toy: error)
    elif way == "async":

        @operator.validates(Toy)
        async def wait(toy: Toy) -> list[FieldError]:
            await asyncio.sleep(0)
            return [error]
    elif way == "async generator":

        @operator.validates(Toy)
        async def generate(toy: Toy) -> AsyncIterator[FieldError]:
            await asyncio.sleep(0)
            yield error
    elif way == "raised":

        @operator.validates(Toy)
        def refuse(toy: Toy) -> None:
            raise Refused(error)
    else:

        @operator.validates(Toy)
        def of_the_kind(toy: Toy) -> None:
            raise kw.ValidationError("Toy bear", [Violation("spec.size", "odd")])

    response = await answer_to(operator, review(toy()))
    [cause] = response["status"]["details"]["causes"]
    assert (cause["field"], cause["message"]) == ("spec.size", "odd")


async def test_allows_valid_object_and_rejects_with_code() -> None:
    operator = made()

    @operator.validates(Toy)
    def check(toy: Toy) -> AdmissionWarning:
        if toy.spec.size == 1:
            raise Refused("not on Fridays", code=409)
        return AdmissionWarning("well")

    async with asking(operator) as asker:
        assert await asker.ask(path_of(operator), review(toy())) == {
            "uid": UID,
            "allowed": True,
            "warnings": ["well"],
        }
        response = await asker.ask(path_of(operator), review(toy(size=1)))
        expected = {"status": "Failure", "code": 409, "reason": "Conflict", "message": "not on Fridays"}
        assert response["status"] == expected


async def test_each_operation_has_its_method_and_others_are_allowed() -> None:
    operator, seen = made(), list[tuple[Any, ...]]()

    @operator.validates(Toy)
    class Rules:
        def validate_create(self, toy: Toy) -> None:
            seen.append(("create", toy.spec.size))

        async def validate_update(self, old: Toy, new: Toy, request: AdmissionRequest[Toy]) -> None:
            seen.append(("update", old.spec.size, new.spec.size, request.operation))

        def validate_delete(self, toy: Toy, request: AdmissionRequest[Toy]) -> None:
            seen.append(("delete", toy.spec.size, request.object, request.old is toy))

    async with asking(operator) as asker:
        for asked in (
            review(toy(size=1)),
            review(toy(size=2), "UPDATE", old=toy(size=1)),
            review(None, "DELETE", old=toy(size=2)),
            review(toy(size=3), "CONNECT"),
        ):
            assert (await asker.ask(path_of(operator), asked))["allowed"] is True
    assert seen == [("create", 1), ("update", 1, 2, "UPDATE"), ("delete", 2, None, True)]


@pytest.mark.promise("Webhooks", "A handler sees user, operation, old object, options, subresource and dry run.")
async def test_request_has_user_operation_and_options() -> None:
    operator, seen = made(), list[AdmissionRequest[Toy]]()

    @operator.validates(Toy, operations=["UPDATE"], subresources=["status"])
    def check(toy: Toy, request: AdmissionRequest[Toy]) -> None:
        seen.append(request)
        request.warn("seen")

    asked = review(
        Toy(metadata=ObjectMeta(name="bear", namespace="room"), spec=ToySpec(), status=ToyStatus(shelf="top")),
        "UPDATE",
        old=toy(size=5),
        dryRun=True,
        subResource="status",
        options={"kind": "UpdateOptions", "fieldManager": "kubectl"},
        requestKind={"group": "webhooks.example.com", "version": "v1alpha1", "kind": "Toy"},
    )
    assert (await answer_to(operator, asked))["warnings"] == ["seen"]
    [request] = seen
    assert request.user.username == "alice"
    assert request.user.groups == ["system:authenticated"]
    assert request.user.extra == {"scope": ["a"]}
    assert (request.operation, request.dry_run, request.subresource) == ("UPDATE", True, "status")
    assert (request.namespace, request.name, request.resource.resource) == ("room", "bear", "toys")
    assert (request.kind.version, request.request_kind.version) == ("v1", "v1alpha1")
    assert request.options["fieldManager"] == "kubectl"
    assert request.object is not None
    assert request.old is not None
    assert (request.object.status.shelf, request.old.spec.size) == ("top", 5)
    assert repr(request) == "<AdmissionRequest UPDATE toys/status room/bear by alice>"


# What goes wrong


@pytest.mark.promise("Webhooks", "A handler that raises rejects the request, and only the log has the reason.")
async def test_raising_handler_rejects_and_logs_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    operator = made()

    @operator.validates(core.Secret)
    async def check(secret: core.Secret) -> None:
        raise ValueError(f"hunter2 of {secret}")

    async with asking(operator) as asker:
        secret = core.Secret(metadata=ObjectMeta(name="keys", namespace="room"), string_data={"password": "hunter2"})
        response = await asker.ask(path_of(operator), review(secret))
        assert response["allowed"] is False
        assert response["status"] == {
            "status": "Failure",
            "code": 500,
            "reason": "InternalError",
            "message": "webhook check.secrets.core failed with ValueError; see the log of the operator",
        }
        [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert "webhook check.secrets.core failed for <AdmissionRequest CREATE secrets room/keys" in record.message
        assert (await asker.ask(path_of(operator), review(secret)))["allowed"] is False, "the server lives on"
        assert asker.server.stats.reviews[path_of(operator), "failed"] == 2


@pytest.mark.promise(
    "How a reconcile ends",
    "Whatever a function of yours raises, it costs neither the key nor the worker.",
)
@pytest.mark.parametrize("raised", [SystemExit(2), StopIteration(), asyncio.CancelledError()], ids=repr)
@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_any_exception_of_a_handler_is_a_response(raised: BaseException, plain: bool) -> None:
    operator = made()

    async def waiting(toy: Toy) -> None:
        raise raised

    def blocking(toy: Toy) -> None:
        raise raised

    operator.validates(Toy)(blocking if plain else waiting)
    # On a frozen clock, the test would wait for a lost handler until its own timeout.
    async with asyncio.timeout(PATIENCE), asking(operator, VirtualClock()) as asker:
        for _ in range(2):  # the server lives on
            response = await asker.ask(path_of(operator), review(toy()))
            assert response["allowed"] is False
            assert response["status"]["code"] == 500


@pytest.mark.promise("Webhooks", "When the process is gone, or the handler fails, the failure policy decides.")
async def test_ignored_failure_is_a_warning() -> None:
    operator = made()

    @operator.defaults(Toy, failure_policy="Ignore")
    def fill_in(toy: Toy) -> None:
        raise KeyError("oops")

    async with asking(operator) as asker:
        response = await asker.ask(path_of(operator), review(toy()))
        assert asker.server.stats.reviews == {(path_of(operator), "failed"): 1}
    assert response["allowed"] is True
    assert response["warnings"] == [
        "webhook fill-in.toys.webhooks.example.com failed with KeyError; see the log of the operator"
    ]


class Mute:
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no")


_HALF = "no such file: caf\udce9"  # as the name of a file is read that is not UTF-8
_WRITTEN = "no such file: caf\\udce9"


@pytest.mark.promise("Webhooks", "A refusal is sent whatever its text is, and an answer that cannot be sent is one.")
@pytest.mark.parametrize(
    ("said", "text"),
    [
        (_HALF, _WRITTEN),
        (OSError(_HALF), _WRITTEN),
        (FieldError("", _HALF), _WRITTEN),
        (Mute(), "a Mute that cannot be shown"),
    ],
)
async def test_rejects_with_any_message(said: Any, text: str) -> None:
    operator = made()

    @operator.validates(Toy, failure_policy="Ignore")
    def check(toy: Toy) -> None:
        raise Refused(said, code=403)

    response = await answer_to(operator, review(toy()))
    assert response["allowed"] is False
    assert response["status"]["message"] == text


async def test_sends_field_errors_with_any_value() -> None:
    operator = made()

    @operator.validates(Toy, failure_policy="Ignore")
    def check(toy: Toy) -> Iterator[FieldError]:
        field: Any = FieldError
        yield field("spec.caf\udce9", ValueError("odd"))
        yield field.invalid("spec.size", _HALF, "no")
        yield field.invalid("spec.size", Mute, "no")

    response = await answer_to(operator, review(toy()))
    assert response["allowed"] is False
    causes = response["status"]["details"]["causes"]
    assert [(cause["field"], cause["message"]) for cause in causes] == [
        ("spec.caf\\udce9", "odd"),
        ("spec.size", 'Invalid value: "no such file: caf\\\\udce9": no'),
        ("spec.size", f'Invalid value: "{Mute}": no'),
    ]


@pytest.mark.promise("Webhooks", "A refusal is sent whatever its text is, and an answer that cannot be sent is one.")
@pytest.mark.parametrize("refused", [False, True])
async def test_sends_warnings_and_annotations_with_any_value(refused: bool) -> None:
    operator = made()

    @operator.validates(Toy, failure_policy="Ignore")
    def check(toy: Toy, request: Any) -> AdmissionWarning:
        request.warn(ValueError("old\nfield"))
        request.warn(_HALF)
        request.audit("why", Toy)
        request.audit("caf\udce9", 7)
        if refused:
            raise Refused("no")
        said: Any = Mute()
        return AdmissionWarning(said)

    response = await answer_to(operator, review(toy()))
    assert response["allowed"] is not refused
    assert response["warnings"] == ["old field", _WRITTEN, *([] if refused else ["a Mute that cannot be shown"])]
    assert response["auditAnnotations"] == {"why": str(Toy), "caf\\udce9": "7"}


@pytest.mark.promise("Webhooks", "A refusal is sent whatever its text is, and an answer that cannot be sent is one.")
@pytest.mark.parametrize("refused", [False, True])
async def test_response_that_cannot_be_encoded_rejects(refused: bool, caplog: pytest.LogCaptureFixture) -> None:
    operator = made()

    @operator.validates(Toy, failure_policy="Ignore")
    def check(toy: Toy, request: Any) -> None:
        request.warnings = 7
        if refused:
            raise Refused("no")

    async with asking(operator) as asker:
        path = path_of(operator)
        assert await asker.ask(path, review(toy())) == {
            "uid": UID,
            "allowed": False,
            "status": {
                "status": "Failure",
                "code": 500,
                "reason": "InternalError",
                "message": f"the response of {path} cannot be sent; see the log of the operator",
            },
        }
        assert asker.server.stats.reviews[path, "failed"] == 1
    assert f"the response of {path} cannot be sent; rejecting the request" in caplog.text


@pytest.mark.parametrize("nonsense", ["text", 7, ["text"], Toy(spec=ToySpec())])
async def test_invalid_result_of_validating_handler_rejects(nonsense: Any) -> None:
    operator = made()
    anything: Any = operator.validates(Toy)
    anything(lambda toy: nonsense)
    response = await answer_to(operator, review(toy()))
    assert response["status"]["code"] == 500
    assert "failed with TypeError" in response["status"]["message"]


@pytest.mark.parametrize("nonsense", ["text", 7, core.ConfigMap()])
async def test_invalid_result_of_mutating_handler_rejects(nonsense: Any) -> None:
    operator = made()
    anything: Any = operator.defaults(Toy)
    anything(lambda toy: nonsense)
    response = await answer_to(operator, review(toy()))
    assert response["status"]["code"] == 500


@pytest.mark.promise("Webhooks", "A handler that hangs times out, and does not delay others.")
async def test_hanging_handler_times_out(caplog: pytest.LogCaptureFixture) -> None:
    operator, clock, began = made(), VirtualClock(), asyncio.Event()

    @operator.validates(Toy)
    async def check(toy: Toy) -> None:
        began.set()
        with_patience = asyncio.Event()
        while True:  # nor does it heed that it is cancelled
            try:
                await with_patience.wait()
            except asyncio.CancelledError:
                if toy.spec.size == 1:
                    raise
                toy.spec.size = 1

    async with asking(operator, clock) as asker:
        answer = asyncio.create_task(asker.ask(path_of(operator), review(toy()), timeout="10s"))
        await began.wait()
        await clock.advance(9.0)
        response = await answer
        assert response["status"]["code"] == 504
        name = "check.toys.webhooks.example.com"
        assert response["status"]["message"] == f"webhook {name} timed out after 9s"
        assert f"webhook {name} timed out after 9s for <AdmissionRequest CREATE toys" in caplog.text
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            if "check" in repr(task.get_coro()):
                task.cancel()


@pytest.mark.promise("Webhooks", "A handler that hangs times out, and does not delay others.")
async def test_blocking_plain_handler_does_not_delay_others() -> None:
    operator, clock = made(), UnheldClock()
    began, go_on = threading.Event(), threading.Event()

    @operator.validates(Toy)
    def check(toy: Toy) -> None:
        if toy.spec.size == 0:
            began.set()
            go_on.wait(PATIENCE)

    async with asking(operator, clock) as asker:
        answer = asyncio.create_task(asker.ask(path_of(operator), review(toy(size=0)), timeout="5s"))
        try:
            await asyncio.to_thread(began.wait, PATIENCE)
            assert (await asker.ask(path_of(operator), review(toy(size=1))))["allowed"] is True
            await clock.advance(4.0)
            assert (await answer)["status"]["code"] == 504
        finally:
            go_on.set()


async def test_an_object_that_does_not_fit_its_model_is_refused_with_the_field() -> None:
    operator = made()

    @operator.defaults(Toy)
    def fill_in(toy: Toy) -> None: ...

    content = to_dict(toy()) | {"spec": {"size": "large"}}
    response = await answer_to(operator, review(content))
    assert response["status"]["code"] == 422
    assert [cause["field"] for cause in response["status"]["details"]["causes"]] == ["spec.size"]


async def test_invalid_old_object_is_rejected_without_its_value() -> None:
    operator = made()

    @operator.validates(Toy)
    def check(toy: Toy) -> None:
        from_dict(core.ResourceQuota, {"spec": {"hard": {"cpu": "hunter2"}}})

    response = await answer_to(operator, review(to_dict(toy())))
    assert response["status"]["code"] == 422
    assert "spec.hard[...]: the value is not a quantity" in response["status"]["message"]
    assert "hunter2" not in str(response)


@pytest.mark.parametrize(
    "other",
    [
        {"group": "webhooks.example.com", "version": "v2", "kind": "Toy"},
        {"group": "webhooks.example.com", "version": "v1", "kind": "Game"},
        {"group": "", "version": "v1", "kind": "Pod"},
    ],
)
async def test_another_kind_or_version_is_refused_by_name(other: dict[str, str]) -> None:
    operator = made()

    @operator.validates(Toy)
    def check(toy: Toy) -> None: ...

    response = await answer_to(operator, review(toy(), kind=other))
    assert response["allowed"] is False
    assert response["status"]["code"] == 400
    expected = r"webhook check\.toys\.webhooks\.example\.com handles Toy \(webhooks\.example\.com/v1\), not "
    assert re.match(expected + other["kind"], response["status"]["message"])


async def test_a_review_without_the_object_is_refused() -> None:
    operator = made()

    @operator.validates(Toy)
    class Rules:
        def validate_create(self, toy: Toy) -> None: ...

        def validate_update(self, old: Toy, new: Toy) -> None: ...

    async with asking(operator) as asker:
        for operation, text in (("CREATE", "no object"), ("UPDATE", "no old and new object")):
            asked = review(toy(), operation)
            asked["request"]["object"] = None
            response = await asker.ask(path_of(operator), asked)
            assert response["status"]["code"] == 400
            assert text in response["status"]["message"]
