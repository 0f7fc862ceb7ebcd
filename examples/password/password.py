"""Password: a Secret with a random password.

The schema validates each number, a CEL rule in the schema validates their combination, and a webhook validates the
rest. Another webhook sets defaults. The password is stored in the Secret and nowhere else.

    kubectl apply --server-side -k config/default
    kubectl apply -f example-password.yaml
    kubectl get secret example-password -o jsonpath='{.data.password}' | base64 --decode
"""

import secrets
import string
from collections.abc import Iterator
from typing import Annotated

import kubewright as kw
from kubewright.api import core, is_controlled_by, meta
from kubewright.client import AlreadyExists
from kubewright.webhook import FieldError

SYMBOLS = "~!@#$%^&*()_+`-={}|[]:<>?,./"
LONGEST = 100_000


@kw.constrain(
    kw.Rule(
        "!has(self.disallowRepeat) || !self.disallowRepeat || self.digit <= 10",
        message="there are only 10 digits that do not repeat",
        field_path=".digit",
    ),
)
class PasswordSpec(kw.Model):
    """The desired state."""

    length: Annotated[int, kw.Range(8)] = 20
    digit: Annotated[int, kw.Range(0)] = 10
    symbol: Annotated[int, kw.Range(0)] = 10
    case_sensitive: bool | None = None
    disallow_repeat: bool | None = None


class PasswordStatus(kw.Model):
    """The result: InSync, or Failed with the reason."""

    state: str = ""
    reason: str | None = None


@kw.resource("secret.example.com/v1alpha1", columns={"State": ".status.state", "Age": ".metadata.creationTimestamp"})
class Password(kw.Resource[PasswordSpec, PasswordStatus]):
    """A random password in a Secret of the same name."""


operator = kw.Operator("password-operator")


@operator.defaults(Password)
def fill_in(password: Password) -> None:
    """Sets options that are missing to false."""
    spec = password.spec
    spec.case_sensitive = bool(spec.case_sensitive)
    spec.disallow_repeat = bool(spec.disallow_repeat)


@operator.validates(Password)
def check(password: Password) -> Iterator[FieldError]:
    """Rejects an impossible composition, on create and on update."""
    spec = password.spec
    if spec.digit + spec.symbol > spec.length:
        yield FieldError.invalid(
            "spec.length", spec.length, "number of digits and symbols must be less than total length"
        )


# The Secret is created once and never changed, so the operator needs no verb to change it.
@operator.reconciles(Password, owns=[kw.Owns(core.Secret, verbs=["get", "list", "watch", "create"])])
async def sync(password: Password, ctx: kw.Context[Password]) -> kw.Result | None:
    """Creates the Secret if it does not exist, and reports the result."""
    try:
        await ensure_secret(password, ctx)
    except ValueError as error:
        await ctx.set_status(PasswordStatus(state="Failed", reason=str(error)))
        if ctx.changed:
            ctx.record("Failed", str(error), type="Warning")
        return kw.Result(requeue=True)
    await ctx.set_status(PasswordStatus(state="InSync"))
    return None


async def ensure_secret(password: Password, ctx: kw.Context[Password]) -> None:
    """Creates the Secret. Raises ValueError if another owner has a Secret of that name."""
    name, namespace = password.metadata.name, password.metadata.namespace
    secret = ctx.get(core.Secret, name)
    if secret is None:
        content = {"password": generate(password.spec).encode()}
        try:
            secret = await ctx.create(core.Secret(metadata=meta.ObjectMeta(name=name), data=content))
            ctx.log.info("Secret %s has a new password of %s characters", name, password.spec.length)
        except AlreadyExists:  # the cache is behind
            secret = await ctx.client.get(core.Secret, name, namespace)
    if not is_controlled_by(secret, password):
        raise ValueError(f'Secret "{name}" already exists and is not managed by Password')


def generate(spec: PasswordSpec) -> str:
    """Returns a random password. Raises ValueError for an impossible composition."""
    letters = string.ascii_letters if spec.case_sensitive else string.ascii_lowercase
    parts = [(letters, spec.length - spec.digit - spec.symbol), (string.digits, spec.digit), (SYMBOLS, spec.symbol)]
    characters: list[str] = []
    random = secrets.SystemRandom()
    for alphabet, count in parts:
        if count < 0:
            raise ValueError("number of digits and symbols must be less than total length")
        if spec.disallow_repeat and count > len(alphabet):
            raise ValueError(f"there are no {count} different characters among {len(alphabet)}")
        if count > LONGEST:
            raise ValueError(f"a password has at most {LONGEST} characters of a sort")
        characters += random.sample(alphabet, count) if spec.disallow_repeat else random.choices(alphabet, k=count)
    random.shuffle(characters)
    return "".join(characters)


if __name__ == "__main__":
    operator.run()
