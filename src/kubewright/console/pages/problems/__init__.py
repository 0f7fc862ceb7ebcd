"""The page of all problems: failing objects of all kinds, worst first. `find_problems` selects and sorts them."""

from __future__ import annotations

from kubewright.console.pages.problems._found import Problem, find_problems

__all__ = ["Problem", "find_problems"]
