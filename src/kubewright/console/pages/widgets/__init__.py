"""Widgets that several pages use."""

from __future__ import annotations

from kubewright.console.pages.widgets._browser_tools import Download, name_editor
from kubewright.console.pages.widgets._charts import durations_chart, durations_options, line_chart, line_options
from kubewright.console.pages.widgets._copy_button import CopyButton
from kubewright.console.pages.widgets._elements import command, heading, icon, labeled, link, state_mark
from kubewright.console.pages.widgets._links import Entry, Links, path_prefix
from kubewright.console.pages.widgets._relative_times import RelativeTimes
from kubewright.console.pages.widgets._sections import add_object_style, banner, empty, fact, notice, section

__all__ = [
    "CopyButton",
    "Download",
    "Entry",
    "Links",
    "RelativeTimes",
    "add_object_style",
    "banner",
    "command",
    "durations_chart",
    "durations_options",
    "empty",
    "fact",
    "heading",
    "icon",
    "labeled",
    "line_chart",
    "line_options",
    "link",
    "name_editor",
    "notice",
    "path_prefix",
    "section",
    "state_mark",
]
