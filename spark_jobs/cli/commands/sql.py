"""The command that prints SQL, to be run elsewhere: it reads and changes nothing."""

from argparse import Namespace

from schemas import SOURCES
from spark_jobs.errors import ExitCode
from spark_jobs.store.flat_views import view_statements
from spark_jobs.store.location import Location
from spark_jobs.store.sql import create_table


def sql_command(arguments: Namespace) -> int:
    """Print the statements, each with a semicolon."""
    location = Location.parse(arguments.warehouse)
    if arguments.WHAT == "sources":
        statements = [create_table(table, location.identifier(table.name)) for table in SOURCES]
    else:
        statements = [*view_statements(location, arguments.engine)]
    print(*(f"{statement};" for statement in statements), sep="\n\n")
    return ExitCode.CLEAN
