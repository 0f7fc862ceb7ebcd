"""The pages and actions. Each page reads what the viewer may see, and is drawn again when that changes."""

from kubewright.api import apps, core
from kubewright.client import MergePatch
from kubewright.console import ActionContext, Extension, ExtensionPage, Needs
from kubewright.controller import RECONCILE_ANNOTATION
from postgres_operator.kinds import Postgresql
from postgres_operator.patroni import CLUSTER_LABEL
from postgres_operator.ui.steps import steps_of
from postgres_operator.ui.teams import by_team, teams_of

postgres = Extension("postgres", title="Postgres")


@postgres.page("clusters", title="Clusters", icon="storage", needs=[Needs("list", Postgresql)])
async def clusters(page: ExtensionPage) -> None:
    """Lists the clusters: those of the viewer's teams first."""
    from nicegui import ui

    from kubewright.console.pages.widgets import heading, link
    from postgres_operator.ui.drawing import cluster_table

    teams = [page.query["team"]] if "team" in page.query else await teams_of(page.client)
    with ui.row().classes("kw-toolbar"):
        heading("PostgreSQL clusters", page.namespace or "all namespaces")
        ui.space()
        link("New cluster", page.new_address(Postgresql, page.namespace), "kw-chip")
    shown = ui.column().classes("w-full")

    async def draw() -> None:
        mine, others = by_team(await page.objects(Postgresql, page.namespace), teams)
        shown.clear()
        with shown:
            cluster_table(page, "My team's clusters", mine)
            cluster_table(page, "Other clusters", others)

    await draw()
    await page.on_change(draw, Postgresql)


@postgres.page("status", title="Cluster status", icon="fact_check", needs=[Needs("list", Postgresql)], navigation=False)
async def status(page: ExtensionPage) -> None:
    """Shows the steps of one cluster, its pods and its links."""
    from nicegui import ui

    from postgres_operator.ui.drawing import cluster_status

    namespace, _, name = page.path.partition("/")
    shown = ui.column().classes("w-full")

    async def draw() -> None:
        cluster = await page.get(Postgresql, name, namespace)
        stateful_set = await page.get(apps.StatefulSet, name, namespace)
        pods = [
            pod for pod in await page.objects(core.Pod, namespace) if pod.metadata.labels.get(CLUSTER_LABEL) == name
        ]
        shown.clear()
        with shown:
            steps = steps_of(cluster, stateful_set, pods) if cluster is not None else []
            cluster_status(page, namespace, name, cluster, steps, pods)

    await draw()
    await page.on_change(draw, Postgresql, apps.StatefulSet, core.Pod)


@postgres.page("queues", title="Worker queues", icon="pending_actions")
async def queues(page: ExtensionPage) -> None:
    """Shows what the workers of the operator have to do, from its REST API."""
    from nicegui import ui

    from postgres_operator.ui.drawing import worker_queues
    from postgres_operator.ui.rest import operator_url, read

    url = operator_url()
    shown = ui.column().classes("w-full")

    async def draw() -> None:
        found = {path: await read(url, path) for path in ("/status/", "/workers/all/queue")} if url else None
        shown.clear()
        with shown:
            worker_queues(found)

    await draw()
    ui.timer(5.0, draw)


@postgres.action(
    Postgresql,
    "sync",
    title="Synchronize now",
    icon="sync",
    needs="patch",
    confirm="Compares the pods and the content of the database with the manifest now, instead of at the next resync.",
)
async def sync(action: ActionContext[Postgresql]) -> str:
    """Requests a reconcile."""
    from datetime import UTC, datetime

    about = action.obj.metadata
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    patch = {"metadata": {"uid": about.uid, "annotations": {RECONCILE_ANNOTATION: stamp}}}
    await action.client.patch(Postgresql, about.name, MergePatch(patch), about.namespace)
    return "The operator synchronizes the cluster."
