"""The commands of ``fleet`` that talk to a coordinator; those that start one join in main."""

import typer

from app.cli.explain import explain
from app.cli.factories import factories
from app.cli.factory_orders import factory
from app.cli.job_orders import job
from app.cli.jobs import jobs
from app.cli.policy import policy
from app.cli.project import project
from app.cli.repo import repo
from app.cli.submit import submit
from app.cli.tick import tick
from app.cli.token import token
from app.cli.top import top
from app.cli.workflow import workflow

fleet = typer.Typer(
    name="fleet",
    help="Hands every coding-agent machine its best next job, and can always say why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
fleet.command()(submit)
fleet.command()(jobs)
fleet.command()(factories)
fleet.command()(top)
fleet.command()(explain)
fleet.command()(tick)
fleet.add_typer(policy, name="policy")
fleet.add_typer(project, name="project")
fleet.add_typer(workflow, name="workflow")
fleet.add_typer(repo, name="repo")
fleet.add_typer(token, name="token")
fleet.add_typer(job, name="job")
fleet.add_typer(factory, name="factory")
