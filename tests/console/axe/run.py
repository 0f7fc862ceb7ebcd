"""Runs axe-core, which is beside this file, on a page."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Final

from playwright.async_api import Page

__all__ = ["violations"]

AXE: Final = gzip.decompress((Path(__file__).parent / "axe.min.js.gz").read_bytes()).decode()


async def violations(page: Page) -> list[str]:
    """Returns the violations that axe-core finds: rule, help, and the elements."""
    await page.evaluate(AXE)
    result = await page.evaluate("axe.run({ resultTypes: ['violations'] })")
    return [
        f"{one['id']}: {one['help']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for one in result["violations"]
        for node in one["nodes"][:4]
    ]
