"""Load and audit the recording that ships with the project, and show what to try next."""

import shlex
from argparse import Namespace

from rich.console import Console
from rich.text import Text

from spark_jobs.api.start import snapshots_of, spark_for
from spark_jobs.cli.commands.run import show_result, show_warnings
from spark_jobs.cli.terminal import from_here, own_command, printable, progress_on
from spark_jobs.errors import ExitCode
from spark_jobs.operate.demo import INTERVAL, demo, example_files
from spark_jobs.store.warehouse import Warehouse


def demo_command(arguments: Namespace) -> int:
    """Exit code 0 also with findings: the recording is full of them, and the demo has worked."""
    warehouse, files = Warehouse.parse(arguments.warehouse), example_files()
    with progress_on() as say:
        spark = spark_for(warehouse, arguments.scale, say, snapshots_of(INTERVAL))
        result, incidents, report = demo(spark, warehouse, files, say)
    show_result(result, warehouse, incidents)
    show_warnings(result)
    print(printable(f"The report is in {from_here(report)}: open it in a browser"))
    show_next_steps(Console(), arguments.warehouse)
    return ExitCode.CLEAN


def show_next_steps(console: Console, warehouse: str) -> None:
    """Show what to try after the demo: a line for each command, ready to be copied, with what it is for."""
    of_warehouse = f"--warehouse {shlex.quote(warehouse)}"
    console.print(Text("\nTry next", style="bold"))
    for command, purpose in (
        (f"status {of_warehouse}", "what needs attention"),
        (f"explain {of_warehouse} --group payment-service --at 2026-11-21T02:10", "one group at one moment"),
        ("--help", "everything else"),
    ):
        console.print(Text.assemble(f"{own_command()} {command}", (f"  # {purpose}", "dim")), soft_wrap=True)
