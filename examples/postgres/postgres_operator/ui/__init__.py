"""The web page: an extension of the console, `kubewright ui --extension postgres_operator.ui:postgres`.

Its new-cluster form is the console's own, with the layout that `kinds/form.py` declares. NiceGUI is imported only when
a page is drawn.
"""

from postgres_operator.ui.pages import postgres
from postgres_operator.ui.steps import Step, steps_of
from postgres_operator.ui.teams import by_team, teams_of

__all__ = ["Step", "by_team", "postgres", "steps_of", "teams_of"]
