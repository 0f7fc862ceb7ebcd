"""Measures the console in a browser: `python -m tests.console.speed [--rounds 5] [--objects 10000] [--pages 30]`.

Not a test, and not part of CI: times depend on the machine. The console runs in its own process, next to an embedded
cluster, so that its CPU time and memory are its own. Compare two versions in alternating rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, async_playwright, expect

from kubewright.client import Client, load_config
from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.crd import install
from tests.console.conftest import FLAGS, TOOL
from tests.console.gadgets import PATH, Gadget, gadget, set_phase

NAMESPACE = "default"
FEW = 200
AT_ONCE = 200
QUIET_SECONDS = 10.0
SETTLED_SECONDS = 1.0
# CSS selectors, because each search by role takes Playwright 80 ms of the page's CPU time.
ROW = f".ag-row[row-id='{NAMESPACE}/gadget-00000']"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
FRAMES = """async () => {
  const body = document.querySelector('.ag-body-viewport');
  const times = [];
  const start = performance.now();
  await new Promise(done => {
    const frame = now => {
      times.push(now);
      body.scrollTop += 40;
      now - start < 3000 ? requestAnimationFrame(frame) : done();
    };
    requestAnimationFrame(frame);
  });
  const gaps = times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b);
  return {fps: 1000 * gaps.length / (times[times.length - 1] - times[0]), p95: gaps[Math.floor(gaps.length * 0.95)]};
}"""


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_megabytes(pid: int) -> float:
    """Returns the resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES / 1e6


async def serve(kubeconfig: str) -> None:
    """Serves a console, and prints its URL and an invitation for each line of standard input."""
    client = Client(load_config(kubeconfig=kubeconfig))
    async with Console(client, name="speed", pages_per_viewer=100) as console, console.serving() as url:
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps({"url": url, "open": url + console.invitation()}), flush=True)


class Served:
    """A console in its own process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.pid = process.pid

    async def invitation(self) -> dict[str, str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"\n")
        found: dict[str, str] = json.loads(await self.process.stdout.readline())
        return found


@asynccontextmanager
async def served(kubeconfig: Path) -> AsyncIterator[Served]:
    """Starts a console, and stops it afterwards."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.console.speed", "--serve", str(kubeconfig)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield Served(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Starts the browser of the tests."""
    tool = await asyncio.create_subprocess_exec(TOOL, stdout=subprocess.PIPE)
    path = (await tool.communicate())[0].decode().strip()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [path, *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
        process = await asyncio.create_subprocess_exec(
            *command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )
        try:
            assert process.stderr is not None
            while not (found := re.search(rb"DevTools listening on (ws://\S+)", await process.stderr.readline())):
                pass
            async with async_playwright() as playwright:
                yield await playwright.chromium.connect_over_cdp(found[1].decode())
        finally:
            os.killpg(process.pid, 15)
            await process.wait()


async def visitor(browser: Browser, console: Served) -> tuple[Page, str]:
    """Returns a page of a new browser profile that is signed in, and the console's URL."""
    about = await console.invitation()
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(60_000)
    await context.request.get(about["open"], max_redirects=0)
    return await context.new_page(), about["url"]


async def visit(browser: Browser, console: Served) -> dict[str, float]:
    """Measures a first visit, then the way to a list and to its form."""
    page, url = await visitor(browser, console)
    before = cpu_seconds(console.pid)
    await page.goto(f"{url}/kinds/core/namespaces")
    await page.locator(".ag-row a").first.wait_for()
    painted = await page.evaluate(PAINTED)
    await page.goto(url)
    link = page.locator(f"main a[href$='/kinds/{PATH}']").first
    await link.wait_for()
    await asyncio.sleep(SETTLED_SECONDS)  # real: scripts that are loaded in advance
    start = time.perf_counter()
    await link.click()
    await page.locator(ROW).wait_for()
    listed = time.perf_counter()
    await page.locator(f"{ROW} a").click()
    edit = page.locator("[data-testid=edit]")
    await edit.wait_for()
    await asyncio.sleep(SETTLED_SECONDS)  # real: the page finishes loading
    opening = time.perf_counter()
    await edit.click()
    await page.locator("[data-testid=bar] button").first.wait_for()
    found = {
        "first paint (ms)": painted or float("nan"),
        "click to list (ms)": (listed - start) * 1000,
        "click to edit (ms)": (time.perf_counter() - opening) * 1000,
        "console CPU per visit (ms)": (cpu_seconds(console.pid) - before) * 1000,
    }
    await page.context.close()
    return found


async def open_pages(browser: Browser, console: Served, client: Client, number: int) -> dict[str, float]:
    """Measures the console with open lists: idle, and while an object changes ten times a second."""
    opened = [await visitor(browser, console) for _ in range(number)]
    for page, url in opened:
        await page.goto(f"{url}/kinds/{PATH}?namespace={NAMESPACE}")
    await asyncio.sleep(2)  # real: the pages settle
    before, start = cpu_seconds(console.pid), time.perf_counter()
    await asyncio.sleep(QUIET_SECONDS)  # real: this is measured
    idle = (cpu_seconds(console.pid) - before) / (time.perf_counter() - start)
    before, start = cpu_seconds(console.pid), time.perf_counter()
    changed = await client.get(Gadget, "gadget-00000", NAMESPACE)
    while time.perf_counter() < start + QUIET_SECONDS:
        changed = await set_phase(client, changed, f"{time.perf_counter()}")
        await asyncio.sleep(0.1)  # real: ten changes a second
    busy = (cpu_seconds(console.pid) - before) / (time.perf_counter() - start)
    memory = memory_megabytes(console.pid)
    for page, _ in opened:
        await page.context.close()
    return {
        f"{number} pages, idle (% of a core)": idle * 100,
        f"{number} pages, changes (% of a core)": busy * 100,
        f"{number} pages, memory (MB)": memory,
    }


async def scroll(browser: Browser, console: Served) -> dict[str, float]:
    """Measures the frames of a long list that scrolls for three seconds."""
    page, url = await visitor(browser, console)
    await page.goto(f"{url}/kinds/{PATH}?namespace={NAMESPACE}&sort=name")
    await expect(page.get_by_role("gridcell", name="gadget-00000", exact=True)).to_be_visible()
    found: dict[str, Any] = await page.evaluate(FRAMES)
    await page.context.close()
    return {"scrolling (frames per second)": found["fps"], "scrolling, 95 % of gaps (ms)": found["p95"]}


async def fill(client: Client, start: int, end: int) -> None:
    for first in range(start, end, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, end))
        await asyncio.gather(*(client.create(gadget(f"gadget-{number:05}", NAMESPACE)) for number in numbers))


async def measure(rounds: int, objects: int, pages: int) -> None:
    async with Cluster() as cluster, chromium() as browser:
        await cluster.serve()
        client = cluster.client()
        await install(client, Gadget)
        await fill(client, 0, FEW)
        async with served(cluster.kubeconfig()) as console:
            await visit(browser, console)  # the first one also starts the caches
            found = [await visit(browser, console) for _ in range(rounds)]
            for name in found[0]:
                report(name, [one[name] for one in found])
            for name, value in (await open_pages(browser, console, client, pages)).items():
                report(name, [value])
            await fill(client, FEW, objects)
            for name, value in (await scroll(browser, console)).items():
                report(f"{objects:,} objects: {name}", [value])


def report(name: str, values: list[float]) -> None:
    print(
        f"{name:<58} {statistics.median(values):8.1f}   {' '.join(f'{one:.0f}' for one in sorted(values))}", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(given.serve))
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    asyncio.run(measure(given.rounds, given.objects, given.pages))
    print(f"CPU of the measuring process and the cluster: {resource.getrusage(resource.RUSAGE_SELF).ru_utime:.0f} s")


if __name__ == "__main__":
    main()
