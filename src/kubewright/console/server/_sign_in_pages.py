"""Pages without scripts: the sign-in page, and notices that replace a page. Only signed-in users get scripts."""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import quote

from kubewright.console.theme import DARK, LIGHT

__all__ = ["notice_page", "sign_in_page", "style_sheet"]

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Kubewright</title>
<link rel="stylesheet" href="/sign-in/style.css">
</head>
<body>
<main>
{content}
</main>
</body>
</html>
"""

_NOTICE: Final = """<h1>{title}</h1>
<p>{text}</p>
<p><a href="">Try again</a> · <a href="/">All kinds</a></p>"""

_SIGN_IN: Final = """<h1>Kubewright</h1>
<p>Sign in to <strong>{cluster}</strong>.</p>
{problem}
{provider}
<form method="post" action="/sign-in">
<input type="hidden" name="next" value="{next}">
<label for="token">Bearer token</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required{focus}
 aria-describedby="help">
<p id="help">You act with the permissions of this token and see what it may see. The console keeps it in memory until
you sign out, and never stores it. To create a token for a service account:
<code>kubectl create token NAME</code></p>
<button type="submit">Sign in</button>
</form>
{local}"""

_PROVIDER: Final = """<p><a class="button" href="/sign-in/oidc?next={next}">Sign in with {name}</a></p>
<p>Or sign in with a token:</p>"""

_LOCAL: Final = (
    "<p>If you started this console, open the address that <code>kubewright ui</code> printed. It signs you in with "
    "your kubeconfig, once.</p>"
)

_STYLE: Final = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--kw-page);
  color: var(--kw-text); }
main { box-sizing: border-box; width: min(28rem, 100vw); padding: 2rem; background: var(--kw-surface);
  border: 1px solid var(--kw-line); border-radius: .75rem; overflow-wrap: anywhere; }
h1 { margin: 0 0 .5rem; font-size: 1.4rem; }
label { display: block; font-weight: 600; }
input[type=password] { box-sizing: border-box; width: 100%; margin: .25rem 0; padding: .6rem; font: inherit;
  border: 1px solid var(--kw-muted); border-radius: .4rem; background: transparent; color: inherit; }
.button { display: inline-block; text-decoration: none; }
button, .button { padding: .6rem 1.2rem; font: inherit; font-weight: 600; color: var(--kw-on-accent);
  background: var(--kw-accent); border: 0; border-radius: .4rem; cursor: pointer; }
:focus-visible { outline: 3px solid var(--kw-accent); outline-offset: 2px; }
p { margin: .5rem 0 1rem; }
form + p { margin: 1.5rem 0 0; }
a:not(.button) { color: var(--kw-accent); }
code { font-size: .9em; color: var(--kw-text); background: var(--kw-raised); padding: .1em .3em; border-radius: .3em; }
#help, form + p { font-size: .875rem; color: var(--kw-muted); }
.problem { padding: .6rem .8rem; border-left: 4px solid var(--kw-failing); background: var(--kw-raised);
  color: var(--kw-failing); }
"""


def sign_in_page(cluster: str, *, next_: str, problem: str = "", local: bool = False, provider: str = "") -> str:
    """Returns the sign-in page. `problem` is the reason of the last failure; `next_` is the path to open afterwards.
    `provider` is the name of the OpenID Connect provider, if there is one.
    """
    alert = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    button = _PROVIDER.format(next=quote(next_, safe=""), name=escape(provider)) if provider else ""
    content = _SIGN_IN.format(
        cluster=escape(cluster),
        next=escape(next_),
        problem=alert,
        provider=button,
        focus="" if provider else " autofocus",
        local=_LOCAL if local else "",
    )
    return _PAGE.format(title="Sign in", content=content)


def notice_page(title: str, text: str) -> str:
    """Returns a page with one message."""
    return _PAGE.format(title=escape(title), content=_NOTICE.format(title=escape(title), text=escape(text)))


def style_sheet() -> str:
    """Returns the style sheet, in the console's colors, light or dark by the system's preference."""
    light, dark = ("".join(f"--kw-{name}: {color}; " for name, color in theme.items()) for theme in (LIGHT, DARK))
    return f":root {{ {light}}}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n{_STYLE}"
