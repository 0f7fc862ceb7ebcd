"""The sign-in page: a plain form that works without a script, since scripts are for those who are in."""

from __future__ import annotations

from html import escape
from typing import Final

__all__ = ["sign_in_page", "style_sheet"]

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sign in · Kubewright</title>
<link rel="stylesheet" href="/sign-in/style.css">
</head>
<body>
<main>
<h1>Kubewright</h1>
<p>Sign in to <strong>{cluster}</strong>.</p>
{problem}
<form method="post" action="/sign-in">
<input type="hidden" name="next" value="{next}">
<label for="token">Bearer token</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required autofocus
 aria-describedby="help">
<p id="help">You act with the rights of this token, and see what it may see. It stays in the console's memory until you
sign out, and is written nowhere. A token of a service account:
<code>kubectl create token NAME</code></p>
<button type="submit">Sign in</button>
</form>
{local}
</main>
</body>
</html>
"""

_LOCAL: Final = (
    "<p>You started this console yourself? Open the address that <code>kubewright ui</code> has printed: it lets you "
    "in with your kubeconfig, once.</p>"
)

_STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #f6f7f9; color: #1c2733; }
main { box-sizing: border-box; width: min(28rem, 100vw); padding: 2rem; background: #fff; border-radius: .75rem;
  box-shadow: 0 1px 4px #0002; overflow-wrap: anywhere; }
h1 { margin: 0 0 .5rem; font-size: 1.4rem; }
label { display: block; font-weight: 600; }
input[type=password] { box-sizing: border-box; width: 100%; margin: .25rem 0; padding: .6rem; font: inherit;
  border: 1px solid #8793a1; border-radius: .4rem; background: transparent; color: inherit; }
button { padding: .6rem 1.2rem; font: inherit; font-weight: 600; color: #fff; background: #1f5fbf; border: 0;
  border-radius: .4rem; cursor: pointer; }
:focus-visible { outline: 3px solid #5a9bff; outline-offset: 2px; }
p { margin: .5rem 0 1rem; }
#help, main > p:last-child { font-size: .875rem; color: #51606f; }
.problem { padding: .6rem .8rem; border-left: 4px solid #b3261e; background: #fbe9e7; color: #5f1410; }
@media (prefers-color-scheme: dark) {
  body { background: #12171d; color: #e4e9ef; }
  main { background: #1b222b; }
  #help, main > p:last-child { color: #a9b5c2; }
  .problem { background: #4a1d1a; color: #ffdad6; }
  button { background: #2f6fd0; }
}
"""


def sign_in_page(cluster: str, *, next_: str, problem: str = "", local: bool = False) -> str:
    """The page. `problem` is why the last try failed; `next_` is where to go afterwards."""
    told = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    return _PAGE.format(cluster=escape(cluster), next=escape(next_), problem=told, local=_LOCAL if local else "")


def style_sheet() -> str:
    """How it looks, in light and dark."""
    return _STYLE
