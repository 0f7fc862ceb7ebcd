"""Views: show the messages of `development.messages` as lines, as lines above a live table, or as JSON.

`view_for` picks one for a stream. `lines_of` turns one message into lines, and a `Board` keeps the rows of the live
table; neither prints anything.
"""

from __future__ import annotations

from kubewright.development.views._board import Board, Row
from kubewright.development.views._lines import Line, lines_of
from kubewright.development.views._views import JsonView, LinesView, LiveView, View, view_for

__all__ = ["Board", "JsonView", "Line", "LinesView", "LiveView", "Row", "View", "lines_of", "view_for"]
