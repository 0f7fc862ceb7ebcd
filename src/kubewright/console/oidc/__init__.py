"""Sign-in with OpenID Connect: the authorization code flow with PKCE.

The console is a client of the provider, and never trusts it more than the API server does: it passes the ID token on as
the user's bearer token. The API server decides who the user is. The console impersonates no user.

- `OIDC` has the settings.
- `Provider` reads the discovery document and the keys, and redeems codes, over verified TLS and within limits.
- `verify_id_token` checks signature, issuer, audience, nonce and times.
- `OIDCSignIn` starts and completes sign-ins, and renews tokens or ends their sessions.
"""

from __future__ import annotations

from kubewright.console.oidc._id_tokens import Expected, IDToken, InvalidIDToken, SigningKeys, verify_id_token
from kubewright.console.oidc._provider import Provider, Tokens
from kubewright.console.oidc._settings import OIDC
from kubewright.console.oidc._sign_in import COOKIE_SECONDS, Grant, OIDCSignIn

__all__ = [
    "COOKIE_SECONDS",
    "OIDC",
    "Expected",
    "Grant",
    "IDToken",
    "InvalidIDToken",
    "OIDCSignIn",
    "Provider",
    "SigningKeys",
    "Tokens",
    "verify_id_token",
]
