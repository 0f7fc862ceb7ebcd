"""Broken operators are found with the plan that shows them, and their corrected twins are not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kubewright.explore.model import Conditions, Fault, Finding, Plan
from kubewright.explore.oracles import actions_after_a_time
from kubewright.explore.runner import Pool
from kubewright.explore.search import (
    CIRCUMSTANCES,
    Baseline,
    judge_hash_seed,
    judge_plan,
    judge_scene,
    judge_undisturbed,
    learn_masks,
)
from kubewright.explore.workloads import (
    Subject,
    aging_of,
    bystanders_of,
    changes_of,
    fresh_of,
    hasty_life_of,
    life_of,
    postponed_of,
    read_subjects,
    rebirth_of,
    scenes_of,
)
from kubewright.explore.worlds import Masks
from kubewright.operator.loading import load_operator

OPERATORS = Path(__file__).parent / "operators"
HOUR = 3600.0
LIFE = {
    "duplicates": (Fault("crash", 1, after=True), "same-end-state"),
    "conflict": (Fault("fail", 1, status=500), "same-end-state"),
    "foreign": (Fault("conflict", 2), "other-writers"),
    "wrong_deletion": (Fault("restart", 1), "wrong-deletion"),
}
HASTY = {
    "orphan": (Fault("crash", 1, after=True, seconds=HOUR), "same-end-state"),
    "memory": (Fault("crash", 2, after=True, seconds=HOUR), "same-end-state"),
    "finalizer": (Fault("crash", 5, after=True, seconds=HOUR), "same-end-state"),
}
SCENES = {
    "removal": ("set spec.labels to {}", "changed-spec"),
    "rest": ("let an hour pass", "writes-at-rest"),
    "collision": ("xxxa and", "isolation"),
    "prefix": ("web and web-2, then delete the first", "isolation"),
}
OUTDATED = Fault("takeover", 4, after=True, seconds=60, until=7)
"""A standby takes over that has seen the deletion of the former object, but not the new object."""
FOLDER = Path(__file__).parent / "pairs"
PAIRS: dict[str, tuple[str | tuple[str, Fault], str]] = {
    "changed_namespaces": ("set spec.namespaces to ['kube-public']", "changed-spec"),
    "changed_port": ("set spec.port to", "changed-spec"),
    "changed_settings": ("set data.color to", "changed-spec"),
    "convergence_counter": ("undisturbed", "convergence"),
    "convergence_suffix": ("undisturbed", "convergence"),
    "crash_swallowed": (("life", Fault("fail", 1, status=500)), "same-end-state"),
    "crash_two_steps": (("life", Fault("crash", 1, after=True)), "same-end-state"),
    "decode_number": ("set spec.weights.flour to 500.5", "decode"),
    "decode_quantity": ("set spec.memory to '65536Ki'", "decode"),
    "deletion_by_name": ("beside objects of a user", "wrong-deletion"),
    "duplicates_finished_job": (("life", Fault("crash", 2, after=True)), "duplicates"),
    "duplicates_job": (("life", Fault("crash", 1, after=True)), "same-end-state"),
    "duplicates_schedule": (("life", Fault("crash", 1, after=True)), "same-end-state"),
    "exception_empty_list": ("set spec.hosts to []", "exception"),
    "exception_removed_key": ("set spec.labels to {}", "exception"),
    "external_duplicates": (("life", Fault("external-crash", 1, after=True)), "same-end-state"),
    "finalizer_despite_failure": (("life", Fault("fail", 5, status=500)), "same-end-state"),
    "generation_if_changed": ("set spec.owner", "observed-generation"),
    "generated_unrelated": ("set spec.user to", "generated-again"),
    "generated_token": (("life", Fault("crash", 2, after=True)), "generated-again"),
    "hash_order": ("another hash seed", "same-end-state"),
    "invariant_primaries": ("undisturbed", "invariant"),
    "leadership_cache": (("life", Fault("takeover", 1, after=True, seconds=30)), "same-end-state"),
    "leadership_memory": (("life", Fault("takeover", 1, after=True, seconds=30)), "same-end-state"),
    "orphans_first_namespace": ("undisturbed", "orphans"),
    "others_annotations": (
        ("life", Fault("label", 1, resource="configmaps", namespace="default", name="web-config")),
        "other-writers",
    ),
    "postponed_archive": ("restart the operator", "postponed"),
    "postponed_expiry": ("restart the operator", "postponed"),
    "permission_to_read": (("life", Fault("read-forbidden", 2, seconds=300)), "wrong-deletion"),
    "published_cass_operator_412": (("rebirth", OUTDATED), "wrong-deletion"),
    "published_cassandra_operator_402": (("rebirth", OUTDATED), "wrong-deletion"),
    "published_cluster_operator_648": (
        ("rebirth", Fault("takeover", 3, after=True, seconds=60, until=6)),
        "wrong-deletion",
    ),
    "published_cassandra_operator_398": (("life", Fault("crash", 11, after=True)), "same-end-state"),
    "published_zookeeper_operator_314": ("set spec.replicas to 2", "convergence"),
    "published_zookeeper_operator_547": ("set spec.image to an image that does not exist", "rolled-back-spec"),
    "rbac_secret": ("undisturbed", "rbac"),
    "rbac_verb": ("undisturbed", "rbac"),
    "ready_first_child": ("undisturbed", "ready-too-early"),
    "rest_two_passes": ("let an hour pass", "writes-at-rest"),
    "rolled_back_option": ("set spec.extra to True", "rolled-back-spec"),
    "rolled_back_refusal": ("set spec.size to", "rolled-back-spec"),
    "rolled_back_size": ("set spec.replicas to 3", "rolled-back-spec"),
    "stale_members": (("life", Fault("slow-watch", 0, resource="pods", seconds=60)), "wrong-deletion"),
    "stale_reference": (("life", Fault("slow-watch", 0, resource="secrets", seconds=60)), "same-end-state"),
    "unobserved_moment": (("life", Fault("crash", 1, after=True, seconds=HOUR)), "same-end-state"),
    "unobserved_rename": (("life", Fault("downtime", 2, seconds=120)), "same-end-state"),
}
"""The story and fault, or the title of the story, that shows each pair; and the oracle."""
CLASSES = {
    "end state after a crash": ("conflict", "crash_swallowed", "crash_two_steps"),
    "stale reads": ("stale_members", "stale_reference"),
    "unobserved states": ("memory", "unobserved_moment", "unobserved_rename"),
    "changed spec": ("removal", "changed_namespaces", "changed_port", "changed_settings"),
    "rolled-back spec": (
        "published_zookeeper_operator_547",
        "rolled_back_option",
        "rolled_back_refusal",
        "rolled_back_size",
    ),
    "writes at rest": ("rest", "rest_two_passes"),
    "deletions": ("wrong_deletion", "deletion_by_name"),
    "objects with a former name": ("published_cass_operator_412", "published_cluster_operator_648"),
    "orphans": ("orphan", "orphans_first_namespace"),
    "duplicates": (
        "duplicates",
        "duplicates_finished_job",
        "duplicates_job",
        "duplicates_schedule",
        "external_duplicates",
    ),
    "other writers": ("foreign", "others_annotations"),
    "isolation": ("collision", "prefix"),
    "convergence": ("convergence_counter", "convergence_suffix"),
    "observed generation": ("generation", "generation_if_changed"),
    "ready": ("ready", "ready_first_child"),
    "exceptions": ("exception_empty_list", "exception_removed_key"),
    "generated values": ("generated_token", "generated_unrelated"),
    "permissions": ("rbac_secret", "rbac_verb", "permission_to_read"),
    "decode errors": ("decode_number", "decode_quantity"),
    "lost leadership": ("leadership_cache", "leadership_memory"),
    "actions after a time": ("postponed_archive", "postponed_expiry"),
    "finalizers": ("finalizer", "finalizer_despite_failure"),
}
"""The pairs for each class of bugs that the explorer checks."""
ALONE = {"ready": "ready-too-early", "generation": "observed-generation"}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("", workers=1) as started:
        yield started


def target_of(name: str, variant: str) -> str:
    return str(OPERATORS / f"{name}_{variant}.py")


def subject_of(target: str) -> Subject:
    return read_subjects(load_operator(target), [OPERATORS / "sample.yaml"])[0]


def disturbed(pool: Pool, target: str, fault: Fault, *, hasty: bool) -> list[Finding]:
    subject = subject_of(target)
    change = next(each for each in changes_of(subject.object, subject.schema) if each.path == ("spec", "message"))
    story = (hasty_life_of if hasty else life_of)(subject, change)
    outcomes = [pool.run(Plan(story, (), conditions), target) for conditions in CIRCUMSTANCES[:2]]
    baseline = Baseline(subject, story, outcomes[0], learn_masks(outcomes))
    plan = Plan(story, (fault,))
    outcome = pool.run(plan, target)
    assert outcome.broken == ""
    return judge_plan(baseline, plan, outcome)


@pytest.mark.parametrize("name", [*LIFE, *HASTY])
def test_finds_the_fault_that_a_broken_operator_does_not_survive(pool: Pool, name: str) -> None:
    fault, oracle = {**LIFE, **HASTY}[name]
    found = disturbed(pool, target_of(name, "broken"), fault, hasty=name in HASTY)
    assert oracle in [finding.oracle for finding in found]
    assert disturbed(pool, target_of(name, "correct"), fault, hasty=name in HASTY) == []


@pytest.mark.parametrize("name", SCENES)
def test_finds_the_story_that_a_broken_operator_does_not_survive(pool: Pool, name: str) -> None:
    title, oracle = SCENES[name]
    found = {}
    for variant in ("broken", "correct"):
        target = target_of(name, variant)
        subject = subject_of(target)
        scene = next(scene for scene in scenes_of(subject) if title in scene.story.name)
        run = partial(pool.run, target=target)
        found[variant] = judge_scene(subject, scene, Masks(), run, Conditions())
    assert oracle in [finding.oracle for finding in found["broken"]]
    assert found["correct"] == []


@pytest.mark.parametrize("name", ALONE)
def test_finds_a_wrong_status_without_faults(pool: Pool, name: str) -> None:
    found = {}
    for variant in ("broken", "correct"):
        target = target_of(name, variant)
        subject = subject_of(target)
        change = next(each for each in changes_of(subject.object, subject.schema) if each.path == ("spec", "replicas"))
        outcome = pool.run(Plan(life_of(subject, change)), target)
        found[variant] = judge_undisturbed(subject, outcome, deletes=True)
    assert ALONE[name] in [finding.oracle for finding in found["broken"]]
    assert found["correct"] == []


@pytest.mark.parametrize("name", [name for name, shown in PAIRS.items() if isinstance(shown[0], tuple)])
def test_finds_the_fault_in_a_pair(pool: Pool, name: str) -> None:
    shown, oracle = PAIRS[name]
    assert isinstance(shown, tuple)
    story, fault = shown
    found = {variant: in_story(pool, name, variant, story, fault) for variant in ("broken", "correct")}
    assert oracle in [finding.oracle for finding in found["broken"]]
    assert found["correct"] == []


@pytest.mark.parametrize("name", [name for name, shown in PAIRS.items() if isinstance(shown[0], str)])
def test_finds_the_story_in_a_pair(pool: Pool, name: str) -> None:
    title, oracle = PAIRS[name]
    assert isinstance(title, str)
    learns = oracle == "generated-again"
    found = {variant: in_scene(pool, name, variant, title, learns=learns) for variant in ("broken", "correct")}
    assert oracle in [finding.oracle for finding in found["broken"]]
    assert found["correct"] == []


@pytest.mark.parametrize("title", ["set spec.keep to 7", "nightly and nightly-2, then delete the first one"])
def test_accepts_that_a_schedule_continues(pool: Pool, title: str) -> None:
    assert in_scene(pool, "duplicates_schedule", "correct", title, learns=True) == []


def test_accepts_that_a_schedule_pauses_while_the_operator_is_down(pool: Pool) -> None:
    fault = Fault("crash", 1, after=True, seconds=HOUR)
    assert in_story(pool, "duplicates_schedule", "correct", "life", fault) == []


def test_accepts_that_an_object_ages_while_the_operator_is_down(pool: Pool) -> None:
    fault = Fault("crash", 1, after=True, seconds=HOUR)
    assert in_story(pool, "postponed_archive", "correct", "life", fault, ages=(600.0,)) == []


@pytest.mark.parametrize("title", ["and ConfigMap settings later", "set spec.settings to 'settings-2'"])
def test_accepts_settings_that_are_missing(pool: Pool, title: str) -> None:
    assert in_scene(pool, "changed_settings", "correct", title) == []


def test_accepts_a_choice_that_outlives_a_restart_with_another_hash_seed(pool: Pool) -> None:
    assert in_scene(pool, "hash_order", "settled", "another hash seed") == []


def test_restart_with_another_hash_seed_has_the_same_journal_each_time(pool: Pool) -> None:
    target, subject = pair_of("hash_order", "settled")
    run = partial(pool.run, target=target)
    _, plan = judge_hash_seed(subject, fresh_of(subject), 1, Masks(), run, Conditions())
    assert plan is not None  # the choices of both processes differ
    assert plan.conditions.hash_seed == 1
    assert run(plan).journal == run(plan, fresh=True).journal


def test_accepts_that_a_user_asks_for_another_password(pool: Pool) -> None:
    assert in_scene(pool, "generated_unrelated", "correct", "set spec.rotation to", learns=True) == []


def test_finds_settings_that_come_too_late(pool: Pool) -> None:
    found = in_scene(pool, "changed_settings", "broken", "and ConfigMap settings later")
    assert [finding.oracle for finding in found] == ["changed-spec"]


def in_story(
    pool: Pool, name: str, variant: str, story: str, fault: Fault, ages: tuple[float, ...] = ()
) -> list[Finding]:
    """Returns the findings of a fault in one of the stories. The operator acts at these ages of the object."""
    target, subject = pair_of(name, variant)
    change = changes_of(subject.object, subject.schema)[0]
    steps = {
        "life": life_of(subject, change),
        "hasty life": hasty_life_of(subject, change),
        "rebirth": rebirth_of(subject),
    }[story]
    outcomes = [pool.run(Plan(steps, (), conditions), target) for conditions in CIRCUMSTANCES[:2]]
    masks = Masks(exempt=subject.exemptions, ages=ages).merged(learn_masks(outcomes))
    plan = Plan(steps, (fault,))
    outcome = pool.run(plan, target)
    assert outcome.broken == ""
    assert all(outcome.hits)
    return judge_plan(Baseline(subject, steps, outcomes[0], masks), plan, outcome)


def in_scene(pool: Pool, name: str, variant: str, title: str, *, learns: bool = False) -> list[Finding]:
    """Returns the findings in a story without faults: `undisturbed`, or one whose name has this title.

    Args:
        pool: the processes that run it.
        name: the pair.
        variant: `broken` or `correct`.
        title: a part of the name of the story.
        learns: whether undisturbed runs show first what depends on the time.
    """
    target, subject = pair_of(name, variant)
    run = partial(pool.run, target=target)
    if title == "undisturbed":
        story = life_of(subject, changes_of(subject.object, subject.schema)[0])
        return judge_undisturbed(subject, run(Plan(story)), deletes=True)
    if title == "another hash seed":
        return judge_hash_seed(subject, fresh_of(subject), 1, Masks(), run, Conditions())[0]
    if title == "beside objects of a user":
        world = run(Plan(life_of(subject, None))).checkpoints[0].world
        children = [("ConfigMap", obj) for key, obj in world.items() if key[0] == "configmaps"]
        scene = bystanders_of(subject, children)
        assert scene is not None
    elif title == "restart the operator":
        aged = run(Plan(aging_of(subject)))
        ((seconds,),) = actions_after_a_time(aged, subject.key).values()
        scene = postponed_of(subject, seconds)
    else:
        scene = next(scene for scene in scenes_of(subject) if title in scene.story.name)
    life = life_of(subject, changes_of(subject.object, subject.schema)[0])
    learned = learn_masks([run(Plan(life, (), conditions)) for conditions in CIRCUMSTANCES[:2]]) if learns else Masks()
    return judge_scene(subject, scene, Masks(exempt=subject.exemptions).merged(learned), run, Conditions())


def pair_of(name: str, variant: str) -> tuple[str, Subject]:
    target = f"{FOLDER / name}.py:{variant}"
    return target, read_subjects(load_operator(target), [FOLDER / f"{name}.yaml"])[0]


def test_every_class_of_bugs_has_two_pairs() -> None:
    listed = [*LIFE, *HASTY, *SCENES, *ALONE, *PAIRS]
    for name, pairs in CLASSES.items():
        assert len(pairs) >= 2, name
        assert set(pairs) <= set(listed), name
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(PAIRS)


@pytest.mark.promise("The explorer", "The same plan has the same outcome.")
def test_same_plan_has_the_same_outcome(pool: Pool) -> None:
    target = target_of("duplicates", "correct")
    plan = Plan(life_of(subject_of(target), None), (Fault("crash", 1, after=True),))
    first, *others = [pool.run(plan, target) for _ in range(4)]
    assert all(outcome == first for outcome in others)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_conditions_survive_a_lost_response_to_a_status(pool: Pool, number: int) -> None:
    fault = Fault("lost", number, after=True)
    assert disturbed(pool, target_of("conditions", "correct"), fault, hasty=False) == []


def test_accepts_that_a_new_leader_generates_what_it_cannot_see(pool: Pool) -> None:
    fault = Fault("takeover", 1, after=True, seconds=30)
    assert disturbed(pool, target_of("password", "correct"), fault, hasty=False) == []


@pytest.mark.parametrize("number", [0, 1])
def test_children_of_another_kind_are_no_orphans_and_no_collisions(pool: Pool, number: int) -> None:
    target = target_of("kinds", "correct")
    subject = read_subjects(load_operator(target), [OPERATORS / "kinds.yaml"])[number]
    run = partial(pool.run, target=target)
    story = life_of(subject, changes_of(subject.object, subject.schema)[0])
    assert judge_undisturbed(subject, run(Plan(story)), deletes=True) == []
    scenes = [scene for scene in scenes_of(subject) if scene.judged == "isolated"]
    assert len(scenes) > 2
    for scene in scenes[:2]:
        assert judge_scene(subject, scene, Masks(), run, Conditions()) == []
