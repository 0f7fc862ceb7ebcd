"""Rewrites the user's Python files for public names that were renamed between versions of the scaffold.

- `RENAMES` is the table, by the version of the scaffold that has the new names. To rename a public name, add a line
  to the newest version there; `kubewright upgrade` does the rest.
- `renames_since(version)` returns the tables that a project of that version needs, oldest first.
- `rewrite(source, renames)` returns the source with the new names. It changes nothing but the names and the imports
  that they need: comments, layout and line lengths stay.
- `python_files(folder)` returns the files of a project that are rewritten.
"""

from __future__ import annotations

from kubewright.scaffold.codemod._files import python_files
from kubewright.scaffold.codemod._renames import RENAMES, Renames, renames_since
from kubewright.scaffold.codemod._rewrite import rewrite

__all__ = ["RENAMES", "Renames", "python_files", "renames_since", "rewrite"]
