"""The stories about a subject, and how they are judged."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from kubewright.explore.model import Create, Delete, Pause, Revise, Step, Story, Wait
from kubewright.explore.workloads._samples import Subject
from kubewright.explore.workloads._values import Change, changed, changes_of, entries_of, missing_images_of, stored
from kubewright.explore.worlds import Masks

__all__ = [
    "BYSTANDER",
    "Judged",
    "Scene",
    "bystanders_of",
    "company_of",
    "fresh_of",
    "hasty_life_of",
    "life_of",
    "rebirth_of",
    "scenes_of",
]

_OTHER_NAMESPACE: Final = "explore-other"
_REST_SECONDS: Final = 3600.0
BYSTANDER: Final = "-of-a-user"
"""The suffix of the names of objects that have nothing to do with the operator."""
_PLAIN: Final = {"ConfigMap": ("data",), "Secret": ("data", "type"), "ServiceAccount": ()}
"""Kinds of bystanders, with the fields that are copied from a child."""
_CONTENT: Final = ("ConfigMap", "Secret")
_SHORT_PAUSE: Final = 2.0
_QUICK: Final = 3
_LONG_NAME_LENGTH: Final = 50
_FIRST_CHANGES: Final = 10

Judged = Literal["alone", "reference", "gone", "isolated", "unready", "bystanders", "postponed", "tried", "recovered"]
"""How a story is judged: by itself, by a reference story, as an empty end, by what is missing, and so on.

For `tried`, only mistakes of the program count. For `recovered`, the workloads that are ready in the reference must be
ready at the end.
"""


class Scene(msgspec.Struct, frozen=True, omit_defaults=True):
    """A story with the story that shows how it must end.

    The last checkpoint of `story` must equal the last one of each reference, limited to the objects of that reference.
    """

    story: Story
    judged: Judged
    references: tuple[Story, ...] = ()
    history: bool = False
    """Whether the story has a past that its reference does not have. The status may show it."""
    value: str = ""
    """The change of a value that it tries."""
    plain: bool = False
    """Whether no program has a reason to reject the value."""
    fresh: Story | None = None
    """The start with the sample, if the operator may refuse the value that the story tries."""
    text: bool = False
    """Whether the value is a string."""
    summaries: tuple[str, str] = (
        "the changed spec does not end as a fresh start with it",
        "the spec was changed back, but the state was not",
    )
    """The summaries of findings for a story with a history: if its middle differs, and if its end differs."""


def fresh_of(subject: Subject) -> Story:
    """Returns the story in which the sample is created."""
    return Story(f"create {subject.title}", (*company_of(subject), subject.create(), Wait()))


def life_of(subject: Subject, change: Change | None) -> Story:
    """Returns the story at whose requests faults occur: create, change, delete."""
    steps: list[Step] = [*company_of(subject), subject.create(), Wait()]
    if change is not None:
        steps += [_revise(subject, change), Wait()]
    steps += [_delete(subject), Wait()]
    return Story(f"create, change and delete {subject.title}", tuple(steps))


def hasty_life_of(subject: Subject, change: Change | None) -> Story:
    """Returns the same story without waits, for crashes after which the operator misses the following steps."""
    steps: list[Step] = [*company_of(subject), subject.create(), Pause(_SHORT_PAUSE)]
    if change is not None:
        steps += [_revise(subject, change), Pause(_SHORT_PAUSE)]
    steps += [_delete(subject), Wait()]
    return Story(f"create, change and delete {subject.title} without waiting", tuple(steps))


def rebirth_of(subject: Subject) -> Story:
    """Returns the story in which a new object takes the name of a deleted one."""
    steps = (
        *company_of(subject),
        subject.create(),
        Wait(),
        _delete(subject),
        Pause(_SHORT_PAUSE),
        subject.create(),
        Wait(),
    )
    return Story(f"create {subject.title}, delete it, and create it again", steps)


def bystanders_of(subject: Subject, children: Sequence[tuple[str, dict[str, Any]]]) -> Scene | None:
    """Returns the story of a subject beside objects of its children's kinds that have nothing to do with it.

    Args:
        subject: the subject.
        children: the kind and the content of each child.
    """
    made: dict[tuple[str, str], Step] = {}
    for kind, child in children:
        metadata = child["metadata"]
        if kind in _PLAIN:
            place = {name: metadata[name] for name in ("namespace",) if name in metadata}
            named = f"{metadata['name'][:40]}{BYSTANDER}"
            content = {name: child[name] for name in _PLAIN[kind] if name in child}
            obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": named, **place}, **content}
            made[kind, named] = Create(obj)
    if not made:
        return None
    steps = (
        *company_of(subject),
        *made.values(),
        subject.create(),
        Wait(),
        _delete(subject),
        Wait(),
    )
    return Scene(Story(f"create and delete {subject.title} beside objects of a user", steps), "bystanders")


def scenes_of(subject: Subject) -> Iterator[Scene]:
    """Yields the stories without faults, the most likely to show a bug first."""
    exempt = Masks(exempt=subject.exemptions)
    changes = [
        change for change in changes_of(subject.object, subject.schema) if not exempt.exempts(subject.key, change.path)
    ]
    fresh = fresh_of(subject)
    yield Scene(Story(f"create {subject.title}; its pods never become ready", fresh.steps), "unready")
    rest = (*company_of(subject), subject.create(), Wait(rest=_REST_SECONDS))
    yield Scene(Story(f"create {subject.title} and let an hour pass", rest), "alone")
    first = [_change_scene(subject, change, fresh) for change in changes[:_FIRST_CHANGES]]
    images = [
        _image_scene(subject, change, fresh)
        for change in missing_images_of(subject.object.get("spec"))
        if not exempt.exempts(subject.key, change.path)
    ]
    for scenes in itertools.zip_longest(first, _company_scenes(subject), images, _needed_scenes(subject, fresh)):
        yield from (scene for scene in scenes if scene is not None)
    yield Scene(
        Story(
            f"create {subject.title}, delete it, and create it again",
            (*company_of(subject), subject.create(), Wait(), _delete(subject), Wait(), subject.create(), Wait()),
        ),
        "reference",
        (fresh,),
    )
    yield Scene(
        Story(
            f"create {subject.title} and delete it immediately",
            (*company_of(subject), subject.create(), _delete(subject), Wait()),
        ),
        "gone",
    )
    yield from _quick_scenes(subject, changes, fresh)
    yield from (_change_scene(subject, change, fresh) for change in changes[_FIRST_CHANGES:])


def _change_scene(subject: Subject, change: Change, fresh: Story) -> Scene:
    """Changes a field, and back. The middle must equal a fresh start with the value, and the end the beginning."""
    target = changed(subject.object, change)
    reference = Story(
        f"create {subject.title} with {change.title}", (*company_of(subject), subject.create(target), Wait())
    )
    story = Story(
        f"create {subject.title}, {change.title}, and change it back",
        _there_and_back(subject, change),
    )
    return Scene(
        story,
        "tried" if change.odd else "reference",
        (reference, fresh),
        history=True,
        value=change.title,
        plain=change.is_plain,
        fresh=fresh,
        text=isinstance(change.value, str),
    )


def _there_and_back(subject: Subject, change: Change) -> tuple[Step, ...]:
    begin = (*company_of(subject), subject.create(), Wait())
    return (*begin, _revise(subject, change), Wait(), _revise(subject, change.back()), Wait())


def _image_scene(subject: Subject, change: Change, fresh: Story) -> Scene:
    """Changes an image to one that does not exist, and changes it back. The pods must become ready again."""
    field = ".".join(str(part) for part in change.path)
    title = f"create {subject.title}, set {field} to an image that does not exist, and change it back"
    return Scene(Story(title, _there_and_back(subject, change)), "recovered", (fresh,), value=change.title)


def _needed_scenes(subject: Subject, fresh: Story) -> Iterator[Scene]:
    """Creates a ConfigMap or Secret of the sample late, or changes it and changes it back."""
    needed = [each for each in subject.company if each["kind"] in _CONTENT and each["apiVersion"] == "v1"]
    if not needed:
        return
    titles = " and ".join(_title(each) for each in needed)
    others = msgspec.structs.replace(subject, company=tuple(each for each in subject.company if each not in needed))
    late = (*company_of(others), subject.create(), Wait(), *(Create(each) for each in needed), Wait())
    differs = f"the state differs from that of a custom resource that was created after {titles}"
    yield Scene(
        Story(f"create {subject.title}, and {titles} later", late),
        "reference",
        (fresh,),
        history=True,
        summaries=(differs, differs),
    )
    changes = [(each, change) for each in needed for change in entries_of(each)]
    yield from (_needed_scene(subject, each, change, fresh) for each, change in changes[:_FIRST_CHANGES])


def _needed_scene(subject: Subject, needed: dict[str, Any], change: Change, fresh: Story) -> Scene:
    subject = _with_company(subject, needed, stored(needed))
    with_target = _with_company(subject, stored(needed), changed(stored(needed), change))
    place = needed["metadata"].get("namespace", "default")
    revise, back = (
        Revise("v1", needed["kind"], needed["metadata"]["name"], place, each.path, each.value)
        for each in (change, change.back())
    )
    title = f"{change.title} in {_title(needed)}"
    reference = Story(f"create {subject.title}; {title}", (*company_of(with_target), subject.create(), Wait()))
    steps = (*company_of(subject), subject.create(), Wait(), revise, Wait(), back, Wait())
    summaries = (
        f"{_title(needed)} was changed, but the state differs from a fresh start with it",
        f"{_title(needed)} was changed back, but the state was not",
    )
    return Scene(
        Story(f"create {subject.title}, {title}, and change it back", steps),
        "reference",
        (reference, fresh),
        history=True,
        value=title,
        fresh=fresh,
        text=True,
        summaries=summaries,
    )


def _with_company(subject: Subject, old: dict[str, Any], new: dict[str, Any]) -> Subject:
    return msgspec.structs.replace(subject, company=tuple(new if each == old else each for each in subject.company))


def _title(obj: dict[str, Any]) -> str:
    return f"{obj['kind']} {obj['metadata']['name']}"


def _quick_scenes(subject: Subject, changes: list[Change], fresh: Story) -> Iterator[Scene]:
    """Changes in quick succession must end like the last one."""
    usable = (change for change in changes if not change.remove and not change.odd)
    chosen = [change for change in usable if isinstance(change.path[-1], str)][:_QUICK]
    if not chosen:
        return
    last = chosen[-1]
    steps: list[Step] = [*company_of(subject), subject.create()]
    for change in chosen[:-1]:
        steps += [_revise(subject, change), _revise(subject, change.back())]
    steps += [_revise(subject, last), Wait()]
    reference = Story(
        f"create {subject.title} with {last.title}",
        (*company_of(subject), subject.create(changed(subject.object, last)), Wait()),
    )
    yield Scene(
        Story(f"change {subject.title} in quick succession", tuple(steps)),
        "reference",
        (reference,),
        history=True,
        fresh=fresh,
        text=isinstance(last.value, str),
    )


def _company_scenes(subject: Subject) -> Iterator[Scene]:
    """A second object, with a similar or long name or in another namespace, changes nothing for the first one."""
    longer = f"{subject.name}-2"
    names = [(subject.name, longer), (longer, subject.name)]
    base = (subject.name + "-" + "x" * _LONG_NAME_LENGTH)[:_LONG_NAME_LENGTH].rstrip("-")
    names.append((f"{base}a", f"{base}b"))
    for first, second in names:
        one, two = _renamed(subject, first), _renamed(subject, second)
        yield from _pair(subject, one, two, f"{subject.object['kind']} {first} and {second}")
    if subject.namespaced:
        here, there = subject, _moved(subject, _OTHER_NAMESPACE)
        yield from _pair(subject, here, there, f"{subject.title} in two namespaces")


def _pair(subject: Subject, one: Subject, two: Subject, title: str) -> Iterator[Scene]:
    prelude = (*company_of(subject), *_namespace(one), *_namespace(two))
    alone = tuple(
        Story(f"create only {each.namespace}/{each.name}", (*prelude, each.create(), Wait())) for each in (one, two)
    )
    yield Scene(Story(f"create {title}", (*prelude, one.create(), two.create(), Wait())), "isolated", alone)
    yield Scene(
        Story(
            f"create {title}, then delete the first one",
            (*prelude, one.create(), two.create(), Wait(), _delete(one), Wait()),
        ),
        "isolated",
        (alone[1],),
    )


def _renamed(subject: Subject, name: str) -> Subject:
    obj = copy.deepcopy(subject.object)
    if name != subject.name:
        obj["metadata"]["name"] = name
        obj["spec"] = _distinct(obj.get("spec"), subject, name)
    return msgspec.structs.replace(subject, object=obj)


def _moved(subject: Subject, namespace: str) -> Subject:
    obj = copy.deepcopy(subject.object)
    obj["metadata"]["namespace"] = namespace
    company = tuple(
        {**other, "metadata": {**other["metadata"], "namespace": namespace}}
        for other in subject.company
        if other["kind"] in ("Secret", "ConfigMap")
    )
    return msgspec.structs.replace(subject, object=obj, company=company)


def _distinct(value: Any, subject: Subject, name: str, field: str = "") -> Any:
    """Returns a spec whose names differ from those of the first object, where the spec names objects."""
    if isinstance(value, dict):
        return {key: _distinct(held, subject, name, key) for key, held in value.items()}
    if isinstance(value, list):
        return [_distinct(held, subject, name, field) for held in value]
    if isinstance(value, str) and value in {each["metadata"].get("name") for each in subject.company}:
        return value
    if isinstance(value, str) and subject.name in value:
        return value.replace(subject.name, name)
    if isinstance(value, str) and field.lower().endswith("name") and not field.endswith("ClassName"):
        return f"{value}-of-{name}"[:63]
    return value


def _namespace(subject: Subject) -> tuple[Step, ...]:
    if subject.namespace != _OTHER_NAMESPACE:
        return ()
    made = Create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": subject.namespace}})
    return (made, *(Create(other) for other in subject.company))


def company_of(subject: Subject) -> tuple[Step, ...]:
    """Returns the steps that create the objects that must exist before a subject."""
    namespaces = {each["metadata"].get("namespace") for each in (*subject.company, subject.object)} - {None, "default"}
    named = {each["metadata"].get("name") for each in subject.company if each["kind"] == "Namespace"}
    made = [
        Create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for name in sorted(namespaces - named - {"", "kube-system", "kube-public", _OTHER_NAMESPACE})
    ]
    ordered = sorted(subject.company, key=lambda each: each["kind"] not in ("Namespace", "CustomResourceDefinition"))
    return (*made, *(Create(each) for each in ordered))


def _revise(subject: Subject, change: Change) -> Revise:
    return Revise(
        subject.object["apiVersion"],
        subject.object["kind"],
        subject.name,
        subject.namespace,
        change.path,
        change.value,
        change.remove,
    )


def _delete(subject: Subject) -> Delete:
    return Delete(subject.object["apiVersion"], subject.object["kind"], subject.name, subject.namespace)
