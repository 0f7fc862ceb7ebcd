"""Findings and runs as text."""

from __future__ import annotations

from collections.abc import Iterator

from kubewright.counts import counted
from kubewright.durations import format_duration
from kubewright.explore.model import (
    Apply,
    Create,
    Delete,
    Fault,
    Finding,
    Outcome,
    Pause,
    Plan,
    Report,
    Restart,
    Revise,
    Step,
    Wait,
    Write,
)

__all__ = ["fault_words", "finding_lines", "step_words", "story_lines", "summary_lines"]

_MOST_LINES = 60
_READS = ("get", "list", "find")
_STEP_FAULTS = frozenset(
    {
        "slow-watch",
        "reordered-watch",
        "expired-watch",
        "slow-garbage",
        "downtime",
        "restart",
        "remove",
        "label",
        "edit",
    }
)


def step_words(step: Step) -> str:
    """Describes a step of the user."""
    match step:
        case Create():
            metadata = step.object["metadata"]
            return f"the user creates {step.object['kind']} {metadata.get('namespace', '')}/{metadata.get('name')}"
        case Apply():
            metadata = step.object["metadata"]
            return f"the user applies {step.object['kind']} {metadata.get('namespace', '')}/{metadata.get('name')}"
        case Revise():
            field = ".".join(str(part) for part in step.path)
            change = f"removes {field}" if step.remove else f"sets {field} to {step.value!r}"
            return f"the user {change} of {step.kind} {step.namespace}/{step.name}"
        case Delete():
            return f"the user deletes {step.kind} {step.namespace}/{step.name}"
        case Restart():
            others = " with another hash seed, and finds what it made before" if step.left or step.made else ""
            return f"the operator is restarted{others}"
        case Pause():
            return f"{format_duration(step.seconds)} pass"
        case Wait():
            rest = f", then {format_duration(step.rest)} pass" if step.rest else ""
            return f"the cluster becomes quiet{rest}"


def fault_words(fault: Fault) -> str:
    """Describes a fault."""
    place = f"{fault.resource} {fault.namespace}/{fault.name}" if fault.name else fault.resource or "all kinds"
    effect = " after it took effect" if fault.after else ""
    lasting = format_duration(fault.seconds) if fault.seconds else "immediately"
    match fault.kind:
        case "crash":
            when = "after" if fault.after else "before"
            again = f"restarted after {lasting}" if fault.seconds else "restarted immediately"
            return f"the operator is killed {when} its write {fault.at} and {again}"
        case "fail":
            return f"write {fault.at} fails with {fault.status}{effect}"
        case "lost":
            return f"the response to write {fault.at} is lost{effect}"
        case "hang":
            return f"write {fault.at} gets no response until the timeout{effect}"
        case "conflict":
            return f"another client changes the object just before write {fault.at}"
        case "forbidden":
            return f"writes like number {fault.at} are forbidden for {lasting}"
        case "webhook-down":
            return f"an admission webhook is down, so that writes of the kind of write {fault.at} fail for {lasting}"
        case "takeover" if fault.until:
            late = f"whose caches contain nothing since write {fault.at} and lag {lasting} behind"
            return f"after write {fault.until}, a standby takes over, {late}"
        case "takeover":
            return f"after write {fault.at}, a standby takes over, whose caches lag {lasting} behind"
        case "reordered-watch":
            return f"at step {fault.at + 1}, events of {place} arrive first, others up to {lasting} late"
        case "slow-watch":
            return f"events of {place} arrive {lasting} late from step {fault.at + 1} on"
        case "expired-watch":
            return f"watches of {place} expire {lasting} after step {fault.at + 1}, and the operator lists again"
        case "downtime":
            return f"the operator is down during step {fault.at + 1} and for {lasting} afterwards"
        case "slow-garbage":
            return f"the garbage collector is {lasting} late from step {fault.at + 1} on"
        case "restart":
            return f"the operator is restarted at rest after step {fault.at + 1}"
        case "remove":
            return f"another client deletes {place} after step {fault.at + 1}"
        case "label":
            return f"another client annotates {place} after step {fault.at + 1}"
        case "edit":
            field = ".".join(str(part) for part in fault.path)
            return f"another client sets {field} of {place} to {fault.value!r} after step {fault.at + 1}"
        case "external-crash":
            when = "after" if fault.after else "before"
            return f"the operator is killed {when} its call {fault.at} of an external system and restarted immediately"
        case "external-fail":
            return f"call {fault.at} of an external system fails{effect}"
        case "read-fail":
            return f"read {fault.at} fails with {fault.status}"
        case "read-forbidden":
            return f"reads of the kind of read {fault.at} are forbidden for {lasting}"
        case _:
            return f"{fault.kind} at {fault.at}"


def story_lines(plan: Plan, outcome: Outcome) -> list[str]:
    """Returns a run as a story: the steps, the writes in between, and the faults."""
    lines: list[str] = []
    waits = {checkpoint.step: checkpoint for checkpoint in outcome.checkpoints}
    for number, step in enumerate(plan.story.steps):
        lines.append(f"{number + 1}. {step_words(step)}")
        lines += [f"   fault: {fault_words(fault)}" for fault in plan.faults if _is_at_step(fault, number)]
        lines += _writes(outcome, number)
        if number in waits and not waits[number].quiet:
            lines.append("   the cluster does not become quiet")
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 10], f"   … {counted(len(lines) - _MOST_LINES, 'more line')} …", *lines[-10:]]
    return lines


def _is_at_step(fault: Fault, number: int) -> bool:
    return fault.kind in _STEP_FAULTS and fault.at == number


def _writes(outcome: Outcome, step: int) -> Iterator[str]:
    stored = {write.request for write in outcome.writes if write.request}
    timed: list[tuple[float, int, str]] = []
    incarnation = 1
    for sent in outcome.requests:
        if sent.step != step:
            incarnation = sent.incarnation
            continue
        again = f" (start {sent.incarnation} of the operator)" if sent.incarnation != incarnation else ""
        incarnation = sent.incarnation
        target = f"{sent.resource}{'/' + sent.subresource if sent.subresource else ''} {sent.namespace}/{sent.name}"
        result = f" → {sent.status}" if sent.status else ""
        same = "" if sent.number in stored or sent.status >= 300 or not sent.status else ", nothing changed"
        fault = f"; {sent.fault}" if sent.fault else ""
        line = f"write {sent.number}: operator {sent.verb} {target}{result}{same}{fault}{again}"
        timed.append((sent.time, sent.number, f"   {format_duration(sent.time):>9}  {line}"))
    for call in outcome.calls:
        if call.step == step and (call.fault or not call.verb.startswith(_READS)):
            fault = f"; {call.fault}" if call.fault else ""
            line = f"call {call.number}: operator calls {call.resource}.{call.verb}{fault}"
            timed.append((call.time, 0, f"   {format_duration(call.time):>9}  {line}"))
    for write in outcome.writes:
        if write.step == step and write.actor != "operator" and _is_shown(write):
            did = "created" if write.before is None else "deleted" if write.after is None else "changed"
            who = {"user": "user", "other": "another client"}.get(write.actor, "cluster")
            target = f"{write.resource} {write.namespace}/{write.name}"
            timed.append((write.time, 0, f"   {format_duration(write.time):>9}  {who} {did} {target}"))
    yield from (line for _, _, line in sorted(timed, key=lambda each: (each[0], each[1])))


def _is_shown(write: Write) -> bool:
    return write.actor in ("user", "other") or write.after is None


def finding_lines(finding: Finding, number: int, replay: str = "") -> list[str]:
    """Returns a finding as text."""
    lines = [f"{number}. {finding.oracle}: {finding.summary}"]
    lines += [f"     {detail}" for detail in finding.details if detail not in finding.summary]
    if finding.plan is not None:
        lines.append(f"   Story: {finding.plan.story.name}")
        lines += [f"   Fault: {fault_words(fault)}" for fault in finding.plan.faults]
    lines += [f"   {line}" for line in finding.story]
    if replay:
        lines.append(f"   Replay: {replay}")
    return lines


def summary_lines(report: Report) -> list[str]:
    """Returns a summary of the exploration."""
    lines = [
        f"{counted(report.runs, 'run')} in {format_duration(round(report.seconds))};"
        f" write boundaries: {report.boundaries};"
        f" fault plans: {report.executed} run, {max(report.planned - report.executed, 0)} left",
        f"schema values tried: {len(report.values)}; equivalent faults that were not combined: {report.pruned};"
        f" operator statements reached: {report.lines}",
        f"not confirmed by a replay: {report.unconfirmed}; runs that did not end: {report.inconclusive}",
    ]
    if report.planned and not report.executed:
        lines.append(
            "no fault was injected: the limit was reached before the first fault plan; raise --minutes or --budget"
        )
    lines += [f"operator lines never reached: {place}" for place in report.unreached]
    lines += [f"not compared: {mask}" for mask in report.masks]
    lines += [f"not deterministic: {escape}" for escape in report.escapes]
    return lines
