"""Draws tables and steps with NiceGUI. Only pages that are shown import this module."""

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from kubewright.api import core
from kubewright.console import ExtensionPage
from kubewright.console.pages.widgets import empty, fact, heading, icon, link, notice, section
from postgres_operator.kinds import Postgresql, State
from postgres_operator.patroni import ROLE_LABEL
from postgres_operator.ui.steps import Step

_COLUMNS = ("Name", "Namespace", "Team", "Version", "Pods", "CPU", "Memory", "Volume", "State", "")
_BAD = (State.CREATE_FAILED, State.UPDATE_FAILED, State.SYNC_FAILED, State.INVALID)


def cluster_table(page: ExtensionPage, title: str, clusters: Sequence[Postgresql]) -> None:
    """Draws a table of clusters."""
    section(title)
    if not clusters:
        empty("No clusters")
        return
    with ui.element("div").classes("kw-scroll").props("tabindex=0 role=region") as around:
        around.props["aria-label"] = title
        with ui.element("table").classes("kw-kinds"):
            with ui.element("thead"), ui.element("tr"):
                for name in _COLUMNS:
                    with ui.element("th" if name else "td"):
                        ui.label(name)
            with ui.element("tbody"):
                for cluster in clusters:
                    _row(page, cluster)


def _row(page: ExtensionPage, cluster: Postgresql) -> None:
    about, spec = cluster.metadata, cluster.spec
    requests = spec.resources.requests if spec.resources is not None else None
    texts = (
        about.namespace or "",
        spec.team_id,
        spec.postgresql.version,
        f"{cluster.status.number_of_instances or 0} of {spec.number_of_instances}",
        (requests.cpu if requests is not None else None) or "default",
        (requests.memory if requests is not None else None) or "default",
        spec.volume.size,
    )
    with ui.element("tr"):
        with ui.element("td"):
            link(about.name, page.address("status", f"{about.namespace}/{about.name}"))
        for text in texts:
            with ui.element("td"):
                ui.label(text)
        with ui.element("td"):
            _state(cluster)
        with ui.element("td"), ui.row():
            _links(page, cluster)


def _links(page: ExtensionPage, cluster: Postgresql) -> None:
    """Draws the links of a cluster. Their names contain the cluster, for screen readers."""
    source = {"spec": {"clone": {"cluster": cluster.metadata.name, "uid": cluster.metadata.uid}}}
    for text, address in (
        ("Logs", f"{page.object_address(cluster)}?tab=logs"),
        ("Edit", page.object_address(cluster, "edit")),
        ("Clone", page.new_address(Postgresql, cluster.metadata.namespace or "", cluster, source)),
        ("Delete", page.object_address(cluster, "delete")),
    ):
        link(text, address).props["aria-label"] = f"{text} {cluster.metadata.name}"


def _state(cluster: Postgresql) -> None:
    state = cluster.status.state
    good = "kw-ready" if state is State.RUNNING else "kw-failing" if state in _BAD else "kw-progressing"
    with ui.element("span").classes("kw-state").classes(good):
        ui.label(state.value if state is not None else "New").style("display: inline")


def cluster_status(
    page: ExtensionPage,
    namespace: str,
    name: str,
    cluster: Postgresql | None,
    steps: Sequence[Step],
    pods: Sequence[core.Pod],
) -> None:
    """Draws the steps of a cluster, its pods and its links."""
    if cluster is None:
        heading(name, namespace)
        empty(f"There is no cluster {name} in namespace {namespace}, or you may not see it.")
        return
    with ui.row().classes("kw-toolbar"):
        heading(name, f"PostgreSQL {cluster.spec.postgresql.version} in {namespace}")
        _state(cluster)
        ui.space()
        link("Overview", page.object_address(cluster))
        _links(page, cluster)
    if cluster.status.message:
        notice("The operator reports", [cluster.status.message], "kw-bad" if cluster.status.state in _BAD else "")
    section("Steps")
    with ui.element("ol").classes("kw-owned").props("data-testid=steps"):
        for step in steps:
            with ui.element("li"), ui.element("span").classes("kw-ready" if step.done else "kw-muted"):
                icon("check_circle" if step.done else "radio_button_unchecked")
                text = f"{step.title}: {'done' if step.done else 'waiting'}"
                ui.label(f"{text}. {step.detail}" if step.detail else text).style("display: inline")
    section("Pods")
    with ui.element("div").classes("kw-facts"):
        for pod in pods:
            fact(pod.metadata.name, f"{pod.metadata.labels.get(ROLE_LABEL, 'no role')}, {pod.status.phase}")
    if not pods:
        empty("No pods that you may see")


def worker_queues(found: Mapping[str, Any] | None) -> None:
    """Draws the answers of the operator's REST API."""
    heading("Worker queues", "What the operator's workers have to do")
    if found is None:
        empty("The address of the operator is not known.", "Set OPERATOR_API_URL, as in http://postgres-operator:8080.")
        return
    status, waiting = found["/status/"], found["/workers/all/queue"]
    fact("Clusters", str(status.get("Clusters", "")))
    section("Waiting")
    keys = waiting.get("Keys") or []
    for key in keys:
        ui.label(str(key))
    if not keys:
        empty("No cluster waits")
    section("Queue length by worker")
    with ui.element("div").classes("kw-facts"):
        for worker, size in (status.get("WorkerQueueSize") or {}).items():
            fact(f"Worker {worker}", str(size))
