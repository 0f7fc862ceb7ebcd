"""The colors have enough contrast in both themes, and all classes have rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kubewright import console
from kubewright.console.objects import State
from kubewright.console.theme import DARK, ICONS, LIGHT, SURFACES, TEXT_COLORS, custom_properties

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def luminance(color: str) -> float:
    """Returns the relative luminance of WCAG 2.2."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted([luminance(one), luminance(other)], reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_formula_matches_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.promise(
    "Lists and layout of the console",
    "The theme is remembered, and text has a contrast of 4.5:1 in both themes.",
)
@THEMES
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("text", TEXT_COLORS)
def test_text_has_contrast_on_every_surface(theme: dict[str, str], text: str, surface: str) -> None:
    assert contrast(theme[text], theme[surface]) >= 4.5


@THEMES
def test_buttons_and_flashes_have_contrast(theme: dict[str, str]) -> None:
    assert contrast(theme["on-accent"], theme["accent"]) >= 4.5
    assert contrast(theme["text"], theme["flash"]) >= 4.5


@THEMES
def test_focus_ring_has_contrast(theme: dict[str, str]) -> None:
    assert all(contrast(theme["accent"], theme[surface]) >= 3 for surface in SURFACES)


def test_themes_have_equal_colors_and_states_have_icons() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert ICONS.keys() == set(State)
    assert all(f"--kw-{name}:" in custom_properties() for name in LIGHT)


def test_every_class_of_the_console_has_a_rule() -> None:
    """No compiler creates rules for classes in the browser: see base.css."""
    folder = Path(console.__file__).parent
    rules = "".join(path.read_text() for path in sorted(folder.rglob("*.css")))
    pages = "".join(path.read_text() for path in sorted(folder.rglob("*.py")))
    used = {name for names in re.findall(r'\.classes\("([^"]+)"', pages) for name in names.split()}
    plain = {name for name in used if not name.startswith(("kw-", "q-"))}
    assert plain
    assert [name for name in sorted(plain) if f".{name} {{" not in rules] == []
