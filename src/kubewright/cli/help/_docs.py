"""`kubewright docs`: the documentation of this release, without a network."""

from __future__ import annotations

import click

from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.suggestions import nearest

__all__ = ["command"]


@click.command("docs")
@click.argument("page", required=False)
@click.option("--search", metavar="WORDS", help="List the sections that contain all words.")
@click.option("--text", is_flag=True, help="Print the page instead of opening a browser.")
@click.option("--list", "listed", is_flag=True, help="List all pages.")
@output_option
def command(page: str | None, search: str | None, text: bool, listed: bool, output: Output) -> None:
    """Open the documentation of this release in a browser. It needs no network.

    \b
    Example:
      kubewright docs
      kubewright docs reconcile --text
      kubewright docs --search "leader election"
    """
    from kubewright.documentation import pages, readable
    from kubewright.documentation import search as find

    chosen = [way for way, given in (("PAGE", page), ("--search", search is not None), ("--list", listed)) if given]
    if len(chosen) > 1:
        raise WrongUse(f"{' and '.join(chosen)} cannot be combined: use one of PAGE, --search and --list")
    if search is not None and not search.strip():
        raise WrongUse('--search is empty, expected words: kubewright docs --search "leader election"')
    found = pages()
    if not found:
        raise click.ClickException("this installation has no documentation: reinstall Kubewright from a release")
    name = (page or "index").removesuffix(".md")
    if name not in found:
        meant = nearest(name, found)
        hint = f"Did you mean {meant!r}?" if meant else "`kubewright docs --list` lists all pages."
        raise WrongUse(f"there is no page {name!r}. {hint} `kubewright docs --search {name}` searches in all pages.")
    if search is not None:
        hits = find(found.values(), search)
        output.line("\n".join(f"{hit.page}: {hit.heading}\n    {hit.line}" for hit in hits) or "Nothing found.")
        output.document(hits=hits)
    elif listed:
        width = max(map(len, found))
        output.line("\n".join(f"{one.name:<{width}}  {one.title}" for one in found.values()))
        output.document(pages=[{"name": one.name, "title": one.title} for one in found.values()])
    elif text or output.json:
        output.line(readable(found[name]).rstrip())
        output.document(name=name, title=found[name].title, text=found[name].text)
    else:
        _open(name, output)


def _open(name: str, output: Output) -> None:
    import webbrowser

    from kubewright.documentation import pages, write_site
    from kubewright.testing.binaries import cache_directory
    from kubewright.version import VERSION

    folder = cache_directory() / "docs" / VERSION
    try:
        write_site(pages(), folder)
    except OSError as error:
        raise click.ClickException(
            f"{error.filename or folder} cannot be written ({error.strerror}): set KUBEWRIGHT_CACHE_DIR to a writable"
            f" folder, or use `kubewright docs {name} --text`"
        ) from error
    address = (folder / f"{name}.html").as_uri()
    if not webbrowser.open(address):
        output.line("Could not open a browser. Open this file, or use --text:")
    output.line(address)
