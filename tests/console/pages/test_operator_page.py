"""The page of the operators in a browser, on both clusters."""

from __future__ import annotations

import re
from functools import partial
from itertools import combinations

import pytest
from playwright.async_api import Page, expect

from kubewright.client import Client, MergePatch
from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.console.operators import InProcess, Remote, WatchedOperator
from tests.console.axe.run import violations
from tests.console.screenshots import shoot
from tests.console.stalls import Stall, operator_of, stall, stalls_defined
from tests.patience import until

pytestmark = pytest.mark.browser

POINTS = """element => {
  const chart = getElement(parseInt(element.id.slice(1))).chart;
  return chart.getOption().series.map(one => one.data.length);
}"""


CHARTS = ["reconciles", "durations", "queue"]

BOXES = """names => names.map((name) => {
  const chart = document.querySelector(`[data-testid=chart-${name}]`);
  return [chart, chart.querySelector("canvas")].map((element) => {
    const box = element.getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom];
  });
})"""

Box = list[float]
"""Left, top, right and bottom."""


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def inside(one: Box, outer: Box) -> bool:
    return one[0] >= outer[0] - 1 and one[1] >= outer[1] - 1 and one[2] <= outer[2] + 1 and one[3] <= outer[3] + 1


async def sampled(operator: WatchedOperator, times: int) -> bool:
    """Whether an operator was queried this often."""
    return len(operator.samples("stall")) >= times


@pytest.mark.promise(
    "Objects and operators in the console",
    "The operator's page has charts, queues, caches, watches and the leader, and shows since when one is unavailable.",
)
@pytest.mark.clusters
async def test_shows_queues_charts_caches_and_leader(
    cluster_kind: str, client: Client, namespace: str, console: Console, console_url: str, page: Page
) -> None:
    await stalls_defined(client)
    operator = operator_of([namespace], health_bind="127.0.0.1:0", leader_elect=True, lease_namespace=namespace)
    async with operator.running(client, install_crds=False) as running:
        await running.wait_for_leadership()
        seen = console.operators.add(Remote(f"127.0.0.1:{running.servers[0].port}"))
        for number in range(4):
            await client.create(stall(f"stall-{number}", namespace, broken="no apples" if number == 3 else ""))

        # Creates activity between two queries, for the charts. The screenshot needs only one cluster.
        for size in range(2, 7 if cluster_kind == "embedded" else 4):
            for number in range(3):
                patch = MergePatch({"spec": {"replicas": size}})
                await client.patch(Stall, f"stall-{number}", patch, namespace)
            await until(partial(sampled, seen, size))
        await page.goto(f"{console_url}/operator")
        await expect(page.get_by_role("heading", name="stall-operator")).to_be_visible()
        controllers = page.get_by_test_id("controllers")
        await expect(controllers.get_by_test_id("controller")).to_contain_text("0 of 10")
        await expect(controllers).to_contain_text("success")
        await expect(controllers).to_contain_text("error")
        await expect(controllers.get_by_role("link", name="Stall", exact=True)).to_be_visible()
        caches = page.get_by_test_id("caches").get_by_test_id("cache")
        await expect(caches.filter(has_text="Stall")).to_contain_text("watching")
        await expect(caches.filter(has_text="Deployment")).to_be_visible()
        leader = page.get_by_test_id("leader")
        await expect(leader).to_contain_text("this replica leads")
        await expect(leader).to_contain_text(f"{namespace}/stall-operator")
        await expect(page.get_by_test_id("requests")).to_contain_text("201")
        for chart in CHARTS:
            element = page.get_by_test_id(f"chart-{chart}")
            await expect(element.locator("canvas").first).to_be_visible()
            points = await element.evaluate(POINTS)
            assert points
            assert all(count >= 2 for count in points)
        boxes, canvases = zip(*await page.evaluate(BOXES, CHARTS), strict=True)  # of one moment: the page is live
        assert all(right - left >= 300 for left, _, right, _ in boxes), boxes  # readable at 1280 pixels
        assert not any(overlap(one, other) for one, other in combinations(boxes, 2)), boxes
        assert all(inside(canvas, box) for canvas, box in zip(canvases, boxes, strict=True)), (canvases, boxes)
        problems = page.get_by_test_id("operator-problems")
        await expect(problems).to_contain_text("1 Stall object fails to reconcile (controller stall)")
        await expect(problems.get_by_role("link")).to_have_attribute("href", re.compile(r"/kinds/.*filter=failing"))
        await shoot(page, "operator")
        # Live: keys that wait for a retry are shown.
        await client.patch(Stall, "stall-3", MergePatch({"spec": {"broken": ""}}), namespace)
        await client.create(stall("late", namespace))
        await expect(caches.filter(has_text="Stall").locator("td").nth(2)).to_have_text("5")
    # A stopped operator shows since when, and the fix.
    await expect(page.get_by_test_id("operator-away")).to_contain_text("Unavailable since")
    await expect(page.get_by_test_id("operator-away")).to_contain_text("--health-bind")
    await expect(page.get_by_test_id("controllers")).to_contain_text("stall")


async def test_follows_operators_and_explains_how_to_add_one(console: Console, console_url: str, page: Page) -> None:
    await page.goto(f"{console_url}/operator")
    await expect(page.get_by_test_id("problem")).to_contain_text("kubewright ui --operator 127.0.0.1:8081")
    operator = console.operators.add(Remote("127.0.0.1:1"))
    await expect(page.get_by_test_id("operator-away")).to_contain_text("no operator answers at 127.0.0.1:1")
    await expect(page.get_by_test_id("problem")).to_have_count(0)
    await console.operators.remove(operator)
    await expect(page.get_by_test_id("problem")).to_be_visible()


async def test_shows_several_operators_and_marks_standby(
    cluster: Cluster, cluster_namespace: str, console: Console, console_url: str, page: Page
) -> None:
    client, electing = cluster.client(), {"leader_elect": True, "lease_namespace": cluster_namespace}
    await stalls_defined(client)
    first, second = (operator_of([cluster_namespace], **electing) for _ in range(2))
    async with first.running(client, install_crds=False) as leader:
        await leader.wait_for_leadership()
        async with second.running(client, install_crds=False) as standby:
            for running in (leader, standby):
                await until(partial(sampled, console.operators.add(InProcess(running)), 1))
            console.operators.add(Remote("127.0.0.1:1"))
            await page.goto(f"{console_url}/operator?controller=stall")
            tabs = page.get_by_role("tab")
            await expect(tabs).to_have_count(3)
            part = page.get_by_test_id("operator")
            await expect(part).to_have_count(1)
            await expect(part).to_contain_text("in this process")
            await expect(part.get_by_test_id("leader")).to_contain_text("this replica leads")
            # Problems of all operators are on top, regardless of the selected one.
            problems = page.get_by_test_id("operator-problems")
            await expect(problems).to_contain_text("127.0.0.1:1: Unavailable since")
            await tabs.nth(1).click()
            await expect(part.get_by_test_id("leader")).to_contain_text("warm standby")
            await tabs.nth(2).click()
            await expect(part.get_by_test_id("operator-away")).to_contain_text("127.0.0.1:1")
            await expect(page).to_have_url(f"{console_url}/operator?operator=127.0.0.1%3A1")
            await page.reload()  # the URL names the operator
            await expect(part.get_by_test_id("operator-away")).to_contain_text("127.0.0.1:1")
            assert await violations(page) == []
