"""Screenshots for the documentation, from the tests."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.async_api import Page

IMAGES = Path(__file__).parents[2] / "docs" / "images"


async def shoot(page: Page, name: str) -> None:
    """Writes docs/images/console-NAME.png if KUBEWRIGHT_SCREENSHOTS is set. Otherwise only takes the screenshot."""
    await page.evaluate("document.fonts.ready")
    if os.environ.get("KUBEWRIGHT_SCREENSHOTS"):
        IMAGES.mkdir(exist_ok=True)
        await page.screenshot(path=IMAGES / f"console-{name}.png", animations="disabled", caret="hide")
    else:
        assert await page.screenshot(animations="disabled")
