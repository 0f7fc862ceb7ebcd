"""The console's colors, in light and in dark, as custom properties of CSS.

One accent; five colors for states, which never speak alone: an icon and a word stand beside each. Every text color
has a contrast of 4.5 to 1 or more against the surfaces it stands on (WCAG 2.2, AA); the tests compute it.
"""

from __future__ import annotations

from typing import Final

from kubewright.console.objects import State

__all__ = ["DARK", "ICONS", "LIGHT", "SURFACES", "TEXTS", "custom_properties"]

LIGHT: Final = {
    "page": "#f5f7f9",
    "surface": "#ffffff",
    "raised": "#eef2f5",
    "hover": "#e8eff2",
    "selected": "#d8ecee",
    "line": "#d7dee5",
    "text": "#1b2430",
    "muted": "#556270",
    "accent": "#0b666e",
    "on-accent": "#ffffff",
    "ready": "#146c3f",
    "progressing": "#1a56b0",
    "failing": "#b3211a",
    "terminating": "#7d4e00",
    "unknown": "#556270",
    "flash": "#cfe8ea",
}
"""The colors of the light theme."""

DARK: Final = {
    "page": "#11161c",
    "surface": "#181f27",
    "raised": "#1f2831",
    "hover": "#232e38",
    "selected": "#15383c",
    "line": "#303b47",
    "text": "#e4e9ef",
    "muted": "#a3afbc",
    "accent": "#62c9ce",
    "on-accent": "#08272a",
    "ready": "#66d196",
    "progressing": "#8ab6ff",
    "failing": "#ff9a91",
    "terminating": "#ecbf66",
    "unknown": "#a3afbc",
    "flash": "#1d4a4e",
}
"""The colors of the dark theme."""

SURFACES: Final = ("page", "surface", "raised", "hover", "selected")
"""What text stands on."""

TEXTS: Final = ("text", "muted", "accent", *(str(state) for state in State))
"""What text is written in."""

ICONS: Final = {
    State.READY: "check_circle",
    State.PROGRESSING: "hourglass_top",
    State.FAILING: "error",
    State.TERMINATING: "delete_sweep",
    State.UNKNOWN: "help",
}
"""The icon beside each state, of the Material font that NiceGUI brings."""


def custom_properties() -> str:
    """Both themes as CSS; `body--dark` is the class that Quasar gives a dark page."""
    light = "".join(f"--kw-{name}:{color};" for name, color in LIGHT.items())
    dark = "".join(f"--kw-{name}:{color};" for name, color in DARK.items())
    return f"body{{{light}color-scheme:light}}\nbody.body--dark{{{dark}color-scheme:dark}}\n"
