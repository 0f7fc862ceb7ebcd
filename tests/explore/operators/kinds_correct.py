"""Reconciles two kinds: a team lists its members."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class TeamSpec(kw.Model):
    """The desired state."""

    title: str = ""


class TeamStatus(kw.Model):
    """The observed state."""

    members: list[str] | None = None


class MemberSpec(kw.Model):
    """The desired state."""

    team: str


class MemberStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("explored.example.com/v1")
class Team(kw.Resource[TeamSpec, TeamStatus]):
    """A team."""


@kw.resource("explored.example.com/v1")
class Member(kw.Resource[MemberSpec, MemberStatus]):
    """A member."""


operator = kw.Operator("team-operator")


@operator.reconciles(Member, owns=[core.ServiceAccount])
async def sync_member(member: Member, ctx: kw.Context[Member]) -> None:
    """Creates the account of the member."""
    await ctx.apply(core.ServiceAccount(metadata=meta.ObjectMeta(name=f"member-{member.metadata.name}")))
    await ctx.patch_status(ready=True)


def team_of(member: Member) -> list[kw.ObjectKey]:
    """Returns the team of a member."""
    return [kw.ObjectKey(member.metadata.namespace, member.spec.team)]


@operator.reconciles(Team, owns=[core.ConfigMap], watches=[kw.Watch(Member, map=team_of)])
async def sync_team(team: Team, ctx: kw.Context[Team]) -> None:
    """Lists the members."""
    names = sorted(each.metadata.name for each in ctx.list(Member) if each.spec.team == team.metadata.name)
    data = {"members": ",".join(names), "title": team.spec.title}
    await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=f"team-{team.metadata.name}"), data=data))
    await ctx.patch_status(members=names)
