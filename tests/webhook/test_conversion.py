"""Converting between versions."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import Any, Literal

import msgspec
import pytest

import kubewright as kw
from kubewright.api import ObjectMeta, to_dict
from kubewright.webhook import ConversionError, Conversions
from tests.patience import PATIENCE
from tests.unheld_clock import UnheldClock
from tests.webhook.conftest import UID, Asker, asking
from tests.webhook.kinds import OldToy, OldToySpec, Toy, ToySpec, Wheel

V1, V1ALPHA1 = "webhooks.example.com/v1", "webhooks.example.com/v1alpha1"


class MiddleSpec(kw.Model):
    length: int | None = None


@kw.resource("webhooks.example.com/v1beta1", kind="Toy")
class MiddleToy(kw.Resource[MiddleSpec, None]):
    """A version between the two."""


@kw.resource("webhooks.example.com/v2alpha1", kind="Toy")
class LateToy(kw.Resource[MiddleSpec, None]):
    """A version after them."""


@kw.resource("webhooks.example.com/v1", kind="Game", storage=True)
class Game(kw.Resource[ToySpec, None]):
    """Another kind of the group."""


@kw.resource("webhooks.example.com/v1alpha1", kind="Game")
class OldGame(kw.Resource[ToySpec, None]):
    """Its old version."""


def up(old: OldToy) -> Toy:
    if old.spec.extent == 13:
        raise ConversionError("13 is not an extent")
    assert old.spec.extent != 14, "a secret"
    return Toy(
        metadata=old.metadata,
        spec=ToySpec(size=old.spec.extent, color=old.spec.paint, wheels=old.spec.wheels),
        status=old.status,
    )


def down(new: Toy) -> OldToy:
    spec = OldToySpec(extent=new.spec.size, paint=new.spec.color, wheels=new.spec.wheels)
    return OldToy(metadata=new.metadata, spec=spec, status=new.status)


@pytest.fixture
def operator() -> kw.Operator:
    made = kw.Operator("toys")
    made.converts(OldToy, Toy)(up)
    made.converts(Toy, OldToy)(down)

    @made.converts(MiddleToy, Toy)
    async def middle_up(old: MiddleToy) -> Toy:
        await asyncio.sleep(0)
        return Toy(spec=ToySpec(size=old.spec.length))

    @made.converts(Toy, MiddleToy)
    def middle_down(new: Toy) -> MiddleToy:
        return MiddleToy(spec=MiddleSpec(length=new.spec.size))

    return made


@pytest.fixture
def plain() -> kw.Operator:
    """Of two versions, without anything to await."""
    made = kw.Operator("toys")
    made.converts(OldToy, Toy)(up)
    made.converts(Toy, OldToy)(down)
    return made


def old_toy(name: str = "bear", **spec: Any) -> dict[str, Any]:
    content = to_dict(OldToy(metadata=ObjectMeta(name=name, namespace="room", uid="1"), spec=OldToySpec(**spec)))
    assert isinstance(content, dict)
    return content


async def convert(asker: Asker, desired: str, *objects: Any, **query: str) -> dict[str, Any]:
    asked = {"uid": UID, "desiredAPIVersion": desired, "objects": list(objects)}
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": asked}
    answer = await asker.post("/convert", msgspec.json.encode(review), **query)
    assert (answer["apiVersion"], answer["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
    response: dict[str, Any] = answer["response"]
    assert response["uid"] == UID
    return response


@pytest.mark.promise(
    "Webhooks",
    "A conversion keeps metadata and unknown fields, converts batches, and its failure names the object.",
)
async def test_objects_are_converted_in_batches_with_their_metadata(plain: kw.Operator) -> None:
    async with asking(plain) as asker:
        objects = [old_toy(f"toy-{number}", extent=number) for number in range(10)]
        objects[3]["metadata"] |= {"managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {}}}], "generation": 4}
        response = await convert(asker, V1, *objects)
    assert response["result"] == {"status": "Success"}
    converted = response["convertedObjects"]
    assert [one["spec"]["size"] for one in converted] == list(range(10))
    assert all(one["apiVersion"] == V1 and one["kind"] == "Toy" for one in converted)
    assert [one["metadata"] for one in converted] == [one["metadata"] for one in objects]


async def test_converts_through_the_stored_version(operator: kw.Operator) -> None:
    async with asking(operator) as asker:
        response = await convert(asker, "webhooks.example.com/v1beta1", old_toy(extent=5))
        [converted] = response["convertedObjects"]
        assert converted["spec"] == {"length": 5}
        [same] = (await convert(asker, V1ALPHA1, old_toy(extent=5)))["convertedObjects"]
        assert same == old_toy(extent=5)


async def test_only_labels_and_annotations_of_the_metadata_can_be_changed(plain: kw.Operator) -> None:
    made = kw.Operator("toys")

    @made.converts(OldToy, Toy)
    def up(old: OldToy) -> Toy:
        meta = old.metadata
        meta.labels = {}
        meta.annotations["kept"] = "here"
        meta.uid = "another"
        return Toy(metadata=meta, spec=ToySpec())

    made.converts(Toy, OldToy)(down)
    obj = old_toy()
    obj["metadata"]["labels"] = {"a": "b"}
    async with asking(made) as asker:
        [converted] = (await convert(asker, V1, obj))["convertedObjects"]
    assert converted["metadata"] == {"name": "bear", "namespace": "room", "uid": "1", "annotations": {"kept": "here"}}


@pytest.mark.promise(
    "Webhooks",
    "A conversion keeps metadata and unknown fields, converts batches, and its failure names the object.",
)
async def test_preserves_unknown_fields(plain: kw.Operator) -> None:
    obj = old_toy(wheels=[Wheel(name="left", inches=3), Wheel(name="right")])
    obj["spec"] |= {"future": {"deep": [1]}, "size": 99}
    obj["spec"]["wheels"][1]["brand"] = "acme"
    obj["extra"] = "top"
    async with asking(plain) as asker:
        [converted] = (await convert(asker, V1, obj))["convertedObjects"]
        assert converted["extra"] == "top"
        assert converted["spec"]["future"] == {"deep": [1]}
        assert "size" not in converted["spec"], "a name that means something there does not come along by chance"
        assert converted["spec"]["wheels"] == [
            {"name": "left", "inches": 3},
            {"name": "right", "inches": 1, "brand": "acme"},
        ]
        [back] = (await convert(asker, V1ALPHA1, converted))["convertedObjects"]
    assert back == {**obj, "spec": {name: value for name, value in obj["spec"].items() if name != "size"}}


@pytest.mark.promise(
    "Webhooks",
    "A conversion keeps metadata and unknown fields, converts batches, and its failure names the object.",
)
@pytest.mark.parametrize(
    ("obj", "desired", "text"),
    [
        (old_toy(extent=13), V1, f"Toy room/bear cannot be converted from {V1ALPHA1} to {V1}: 13 is not an extent"),
        (
            old_toy(extent=14),
            V1,
            f"Toy room/bear cannot be converted from {V1ALPHA1} to {V1}: the conversion raised AssertionError; see"
            " the log of the operator",
        ),
        (
            old_toy() | {"spec": {"extent": "wide"}},
            V1,
            f"Toy room/bear cannot be converted from {V1ALPHA1} to {V1}: spec.extent: expected `int | null`, got `str`",
        ),
        (
            old_toy(),
            "webhooks.example.com/v9",
            f"Toy room/well cannot be converted from {V1ALPHA1} to webhooks.example.com/v9: this program converts"
            f" {V1}, {V1ALPHA1}",
        ),
        (
            old_toy() | {"kind": "Game"},
            V1,
            f"Game room/bear cannot be converted from {V1ALPHA1} to {V1}: this program converts no such kind",
        ),
        ([1], V1, "one of the objects has no apiVersion, kind and metadata"),
    ],
)
async def test_a_failure_names_the_object_and_converts_none(
    plain: kw.Operator, obj: dict[str, Any], desired: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with asking(plain) as asker:
        response = await convert(asker, desired, old_toy("well"), obj)
        assert response["result"] == {"status": "Failure", "message": text}
        assert response["convertedObjects"] == []
        assert (await convert(asker, V1, old_toy()))["result"]["status"] == "Success"
        assert asker.server.stats.reviews["/convert", "failed"] == 1


async def test_invalid_value_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    class OldSafeSpec(kw.Model):
        lock: Literal["key", "dial"] = "key"

    @kw.resource(V1ALPHA1, kind="Safe")
    class OldSafe(kw.Resource[OldSafeSpec, None]): ...

    @kw.resource(V1, kind="Safe", storage=True)
    class Safe(kw.Resource[OldSafeSpec, None]): ...

    operator = kw.Operator("safes")
    operator.converts(OldSafe, Safe)(lambda old: Safe(spec=old.spec))
    operator.converts(Safe, OldSafe)(lambda new: OldSafe(spec=new.spec))
    stored = to_dict(OldSafe(metadata=ObjectMeta(name="one"), spec=OldSafeSpec())) | {"spec": {"lock": "hunter2"}}
    async with asking(operator) as asker:
        response = await convert(asker, V1, stored)
    text = (
        f"Safe one cannot be converted from {V1ALPHA1} to {V1}: spec.lock: not one of the values that the model allows"
    )
    assert response["result"] == {"status": "Failure", "message": text}
    assert text in caplog.messages
    assert "hunter2" not in caplog.text


@pytest.mark.promise("Webhooks", "A refusal is sent whatever its text is, and an answer that cannot be sent is one.")
async def test_sends_failure_with_any_message() -> None:
    operator = kw.Operator("toys")
    operator.converts(Toy, OldToy)(down)

    @operator.converts(OldToy, Toy)
    def refuse(old: OldToy) -> Toy:
        raise kw.ConversionError("no such file: caf\udce9")

    async with asking(operator) as asker:
        response = await convert(asker, V1, old_toy())
    assert response["result"]["status"] == "Failure"
    assert response["result"]["message"].endswith(": no such file: caf\\udce9")


async def test_hanging_conversion_times_out() -> None:
    operator, clock = kw.Operator("toys"), UnheldClock()
    began, go_on = threading.Event(), threading.Event()

    @operator.converts(OldToy, Toy)
    def up(old: OldToy) -> Toy:
        began.set()
        go_on.wait(PATIENCE)
        return Toy(spec=ToySpec())

    operator.converts(Toy, OldToy)(down)
    async with asking(operator, clock) as asker:
        answer = asyncio.create_task(convert(asker, V1, old_toy(), timeout="30s"))
        try:
            await asyncio.to_thread(began.wait, PATIENCE)
            await clock.advance(29.0)
            result = (await answer)["result"]
            assert result == {"status": "Failure", "message": "the conversion of 1 object took longer than 29s"}
        finally:
            go_on.set()


@pytest.mark.promise("Webhooks", "Conversions do not stop the event loop: plain ones run in threads.")
async def test_plain_functions_run_in_threads_also_beside_async_ones(operator: kw.Operator) -> None:
    """Beside those of the same kind, and those of another."""
    found: dict[str, set[bool]] = {}

    def tell(name: str) -> None:
        found.setdefault(name, set()).add(threading.current_thread() is threading.main_thread())

    @operator.converts(OldGame, Game)
    def game_up(old: OldGame) -> Game:
        tell("plain kind")
        return Game(spec=ToySpec())

    @operator.converts(Game, OldGame)
    def game_down(new: Game) -> OldGame:
        return OldGame(spec=ToySpec())

    @operator.converts(LateToy, Toy)
    async def late_up(old: LateToy) -> Toy:
        tell("async function")
        return Toy(spec=ToySpec(size=old.spec.length))

    @operator.converts(Toy, LateToy)
    def late_down(new: Toy) -> LateToy:
        tell("plain function")
        return LateToy(spec=MiddleSpec(length=new.spec.size))

    game = to_dict(OldGame(metadata=ObjectMeta(name="chess", namespace="room"), spec=ToySpec()))
    late = to_dict(LateToy(metadata=ObjectMeta(name="bear", namespace="room"), spec=MiddleSpec(length=7)))
    async with asking(operator) as asker:
        assert (await convert(asker, V1, game))["result"] == {"status": "Success"}
        [there] = (await convert(asker, V1, late))["convertedObjects"]
        assert there["spec"]["size"] == 7
        [back] = (await convert(asker, "webhooks.example.com/v2alpha1", there))["convertedObjects"]
        assert back == late
    assert found == {"plain kind": {False}, "plain function": {False}, "async function": {True}}


@pytest.mark.promise("Webhooks", "Conversions do not stop the event loop: plain ones run in threads.")
async def test_other_tasks_run_between_conversions_in_the_loop() -> None:
    operator, others = kw.Operator("toys"), list[int]()
    operator.converts(Toy, OldToy)(down)

    @operator.converts(OldToy, Toy)
    async def up(old: OldToy) -> Toy:
        """Never waits."""
        assert old.spec.extent == len(others)
        asyncio.get_running_loop().call_soon(others.append, 1)
        return Toy(spec=ToySpec())

    async with asking(operator) as asker:
        response = await convert(asker, V1, *(old_toy(f"toy-{number}", extent=number) for number in range(10)))
    assert response["result"] == {"status": "Success"}


async def test_conversion_with_wrong_result_fails(plain: kw.Operator) -> None:
    operator = kw.Operator("toys")
    anything: Any = operator.converts(OldToy, Toy)
    anything(lambda old: old)
    operator.converts(Toy, OldToy)(down)
    async with asking(operator) as asker:
        message = (await convert(asker, V1, old_toy()))["result"]["message"]
    assert message.endswith("the conversion raised TypeError; see the log of the operator")


def test_exactly_one_version_is_stored() -> None:
    @kw.resource("webhooks.example.com/v2", kind="Toy")
    class NewToy(kw.Resource[ToySpec, None]): ...

    conversions = Conversions()
    conversions.add(OldToy, NewToy, lambda old: NewToy(spec=ToySpec()))
    with pytest.raises(ValueError, match="must have storage=True in @resource: it is the hub"):
        conversions.families()


def test_rejects_conversion_with_other_annotations() -> None:
    operator = kw.Operator("toys")
    way = f"registered to convert from Toy ({V1}) to Toy ({V1ALPHA1})"

    def half(new: Toy) -> MiddleToy:
        return MiddleToy(metadata=new.metadata, spec=MiddleSpec())

    def general(toy: kw.Object) -> kw.Object:
        return toy

    with pytest.raises(TypeError, match=re.escape(f"up takes a Toy ({V1ALPHA1}), but is {way}")):
        operator.converts(Toy, OldToy)(up)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=rf"half returns a Toy \(.*v1beta1\), but is {re.escape(way)}"):
        operator.converts(Toy, OldToy)(half)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a conversion must be a function of a Toy, not "):
        operator.converts(Toy, OldToy)(lambda: None)  # type: ignore[arg-type, misc]
    operator.converts(Toy, OldToy)(general)  # type: ignore[arg-type]
