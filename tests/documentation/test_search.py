"""Full-text search of the documentation, without a network."""

from __future__ import annotations

import pytest

from kubewright.documentation import Hit, Page, pages, search

A = Page("a", "# Caches\n\nThe store keeps bytes.\n\n## Indexes\n\nAn index of Pods by node.\n")
B = Page("b", "# Queue\n\nA key waits; the cache is elsewhere.\n\n```console\n# not a heading\n```\n")


def test_section_about_an_attribute_comes_first() -> None:
    first = search(pages().values(), "ctx.clock")[0]
    assert (first.page, first.heading) == ("reconcile", "The clock")


def test_finds_sections_with_all_words_in_any_case() -> None:
    assert search([A, B], "pods INDEX") == [Hit("a", "Indexes", "An index of Pods by node.")]
    assert search([A, B], "pods bytes") == []
    assert search([A, B], "") == []


def test_headings_come_first() -> None:
    assert [hit.heading for hit in search([B, A], "cache")][:2] == ["Caches", "Queue"]


def test_a_comment_in_code_is_not_a_heading() -> None:
    assert search([B], "not a heading")[0].heading == "Queue"


def test_returns_a_limited_number() -> None:
    assert len(search([A, B] * 50, "the", limit=5)) == 5


@pytest.mark.promise("Development", "The documentation is part of the installation, and can be searched offline.")
@pytest.mark.parametrize(
    ("words", "page"), [("leader election fence", "fencing"), ("requeue_after", "reconcile"), ("NotOwned", "reconcile")]
)
def test_finds_what_users_look_for(words: str, page: str) -> None:
    assert any(page in hit.page for hit in search(pages().values(), words))
