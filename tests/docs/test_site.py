"""The built documentation: links between pages, `llms.txt`, accessibility, stable addresses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import Browser, Page

from tests.console.axe.run import violations
from tests.console.conftest import MILLISECONDS, browser, browser_address, browser_path
from tests.docs.markdown import ROOT

__all__ = ["browser", "browser_address", "browser_path"]  # fixtures

DOCS: Final = ROOT / "docs"
ADDRESSES: Final = Path(__file__).parent / "addresses.txt"
SHOWN: Final = ["index", "tutorials/password", "migration/kopf", "running", "comparison", "design/cluster"]


def written_pages() -> set[str]:
    found = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
    return {name for name in found if not name.startswith(("api/", "_build/"))}


def test_no_page_has_moved() -> None:
    """Links from elsewhere keep working. To add a page, add its name to tests/docs/addresses.txt."""
    assert written_pages() >= set(ADDRESSES.read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A broken link fails the build."""
    folder = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-n", "-q", "-b", "html", "-d", str(folder / "trees")]
    command = [sys.executable, "-m", "sphinx", *options, str(DOCS), str(folder / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.browser
@pytest.mark.timeout(900)
def test_every_page_links_to_the_next(site: Path) -> None:
    pages = [site / f"{name}.html" for name in sorted(written_pages())]
    without = [page for page in pages if 'class="next-page"' not in page.read_text(encoding="utf-8")]
    assert len(without) <= 1, "only the last page has no next one"


@pytest.mark.browser
@pytest.mark.timeout(900)
def test_llms_txt_lists_existing_pages_with_summaries(site: Path) -> None:
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# Kubewright\n\n> Kubewright is the Python SDK for Kubernetes operators.\n")
    listed = re.findall(r"^- \[(.+)\]\((\S+)\): (.+)$", text, re.MULTILINE)
    assert len(listed) > 40
    assert [target for _, target, _ in listed if not (site / target).is_file()] == []


@pytest.mark.promise("The control plane for tests", "Pages of the documentation pass axe-core, light and dark.")
@pytest.mark.browser
@pytest.mark.timeout(900)
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_pages_have_no_accessibility_violations(site: Path, browser: Browser, theme: Any) -> None:
    context = await browser.new_context(color_scheme=theme, reduced_motion="reduce")
    context.set_default_timeout(MILLISECONDS)
    page: Page = await context.new_page()
    found: list[str] = []
    try:
        for name in SHOWN:
            await page.goto((site / f"{name}.html").as_uri())
            found += [f"{name} {one}" for one in await violations(page)]
    finally:
        await context.close()
    assert not found, "\n".join(found)
