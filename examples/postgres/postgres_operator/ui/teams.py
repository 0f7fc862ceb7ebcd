"""The clusters of the viewer's teams, and the others. A team is a group of the viewer with the same name."""

from collections.abc import Collection, Sequence

from kubewright.api import authentication
from kubewright.client import ApiError, Client
from postgres_operator.kinds import Postgresql


def by_team(clusters: Sequence[Postgresql], teams: Collection[str]) -> tuple[list[Postgresql], list[Postgresql]]:
    """Returns the clusters of these teams, and all others."""
    mine = {team.lower() for team in teams}
    own = [cluster for cluster in clusters if cluster.spec.team_id.lower() in mine]
    return own, [cluster for cluster in clusters if cluster.spec.team_id.lower() not in mine]


async def teams_of(client: Client) -> list[str]:
    """Returns the groups of the viewer, as the API server reports them. None if it does not say."""
    try:
        review = await client.create(authentication.SelfSubjectReview())
    except ApiError:
        return []
    user = review.status.user_info
    return list(user.groups or []) if user is not None else []
