"""The table of refused requests is generated from the code."""

from __future__ import annotations

import pytest

from tools.unsupported import BEGIN, END, PAGE, page_with_table, table


@pytest.mark.promise("The embedded cluster", "The list of requests that it refuses is generated from its code.")
async def test_page_lists_what_the_code_refuses() -> None:
    page = PAGE.read_text()
    assert page_with_table(page, await table()) == page, "run: python -m tools.unsupported"


async def test_table_has_resources_subresources_paths_and_conditions() -> None:
    rows = await table()
    for part in ("writes of `flowschemas.", "`pods/resize`", "`/debug`", "the authorizer in CEL expressions"):
        assert part in rows


def test_replaces_only_what_is_between_the_marks() -> None:
    page = f"before\n{BEGIN}old\n{END}after\n"
    assert page_with_table(page, "new\n") == f"before\n{BEGIN}\nnew\n\n{END}after\n"
    with pytest.raises(ValueError, match="has no marks"):
        page_with_table("nothing", "new")
