"""``python -m tests.bench``, which is ``make bench``: measure, and report."""

import argparse
import os
import platform
import resource
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import psutil
import typer

from tests.bench import bulk, churn, claims, floors, waiting
from tests.bench.explain import explain_beside, explain_deep, explain_locks
from tests.bench.profiling import profile
from tests.bench.report import Circumstances, lines, write_json
from tests.bench.stage import QUICK, Scale, Stage, in_database, postgres, run

_OPEN_FILES = 65_536
_SPARE_FILES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part that can be asked for, and the parts whose figures its targets need."""

    measure: Callable[[Stage], None]
    needs: tuple[str, ...] = ()


SECTIONS: Mapping[str, Section] = MappingProxyType(
    {
        "client": Section(measure=floors.client),
        "noop": Section(measure=floors.noop, needs=("client",)),
        "one": Section(measure=claims.one_at_a_time, needs=("noop",)),
        "next": Section(measure=claims.finish_and_take, needs=("noop",)),
        "swaps": Section(measure=floors.swaps),
        "batch": Section(measure=claims.batches, needs=("swaps",)),
        "lone": Section(measure=claims.lone, needs=("noop", "swaps")),
        "wake": Section(measure=waiting.wake_up, needs=("lone",)),
        "depth": Section(measure=claims.depth),
        "waiting": Section(measure=waiting.waiting),
        "explain_deep": Section(measure=explain_deep),
        "explain_beside": Section(measure=explain_beside),
        "explain_locks": Section(measure=explain_locks),
        "bulk": Section(measure=bulk.bulk),
        "retention": Section(measure=churn.retention),
        "churn": Section(measure=churn.churn),
    }
)
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "floors": ("client", "noop", "swaps"),
        "claim": ("one", "next", "lone"),
        "explain": ("explain_deep", "explain_beside", "explain_locks"),
    }
)


def chosen(words: Iterable[str]) -> list[str]:
    """Name the sections to run, in their order: those asked for, and those they need.

    Raises:
        ValueError: a word names neither a section nor a group.
    """
    wanted: set[str] = set()
    left = [section for word in words for section in GROUPS.get(word, (word,))]
    while left:
        name = left.pop()
        if name not in SECTIONS:
            message = f"no section {name!r}; there are {', '.join([*SECTIONS, *GROUPS])}"
            raise ValueError(message)
        wanted.add(name)
        left += SECTIONS[name].needs
    return [name for name in SECTIONS if name in wanted]


def main(words: Sequence[str] | None = None) -> None:
    """Measure what was asked for."""
    parser = _parser()
    options = parser.parse_args(words)
    try:
        sections = chosen(options.only or SECTIONS)
    except ValueError as error:
        parser.error(str(error))
    scale = _scale(options)
    load_before = psutil.getloadavg()[0]
    with postgres(durable=options.durable, options={}) as (server, databases):
        stage = Stage(
            postgres=server,
            databases=databases,
            scale=scale,
            durable=options.durable,
            say=typer.echo,
        )
        if options.profile:
            typer.echo(profile(stage))
            return
        for name in sections:
            typer.echo(name)
            SECTIONS[name].measure(stage)
        version: str = run(
            in_database(server.url, lambda conn: conn.fetchval("show server_version"))
        )
    circumstances = Circumstances(
        cores=os.cpu_count() or 1,
        python=platform.python_version(),
        postgres=f"PostgreSQL {version.split(maxsplit=1)[0]}",
        durable=options.durable,
        quick=options.quick,
        load_before=load_before,
        load_after=psutil.getloadavg()[0],
    )
    for line in lines(circumstances, stage.figures):
        typer.echo(line)
    if options.json is not None:
        write_json(options.json, circumstances, stage.figures)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench ARGS=…", description="Measure the floors, then the service."
    )
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        metavar="NAME,…",
        help=f"sections to run, with what they need: {', '.join([*SECTIONS, *GROUPS])}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there, too")
    parser.add_argument("--quick", action="store_true", help="see in a minute that it all runs")
    parser.add_argument("--seconds", type=float, metavar="S", help="how long to measure each")
    parser.add_argument("--warm-up", type=float, metavar="S", help="what comes before, uncounted")
    parser.add_argument("--jobs", type=int, metavar="N", help="jobs in the queue of most sections")
    parser.add_argument("--deep", type=int, metavar="N", help="jobs in the deep queues")
    parser.add_argument("--churn", type=int, metavar="N", help="jobs that wear a table out")
    parser.add_argument("--waiting", type=int, metavar="N", help="how many factories wait")
    parser.add_argument("--repos", type=int, metavar="N", help="spread jobs over so many repos")
    parser.add_argument(
        "--durable",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="let PostgreSQL be safe at a power cut, as `fleet up` does",
    )
    parser.add_argument(
        "--profile", action="store_true", help="profile the server at `one`, and do nothing else"
    )
    return parser


def _scale(options: argparse.Namespace) -> Scale:
    scale = QUICK if options.quick else Scale()
    given = {
        "measure_s": options.seconds,
        "warm_up_s": options.warm_up,
        "jobs": options.jobs,
        "deep": options.deep,
        "churn": options.churn,
        "waiting": options.waiting,
        "repos": options.repos,
    }
    scale = replace(scale, **{name: value for name, value in given.items() if value is not None})
    return replace(scale, waiting=min(scale.waiting, _open_files() - _SPARE_FILES))


def _open_files() -> int:
    """Let us, and the servers we start, open as many connections as the machine allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if most == resource.RLIM_INFINITY else min(most, _OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    return wanted


if __name__ == "__main__":
    main()
