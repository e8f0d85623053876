"""How a wheel is made of the checkout: its folders become parts of one package, `rebalance_audit`.

The rest is in setup.cfg. An editable installation is the checkout itself, with its folders as they are.
"""

from __future__ import annotations

import ast
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

PACKAGE = "rebalance_audit"
#: Folders with modules that import each other, and folders of files.
CODE, FILES = ("spark_jobs", "schemas", "expectations"), ("dags", "examples")


def with_prefix(code: str) -> str:
    """The module with `from rebalance_audit.schemas import …` where it says `from schemas import …`, line by line."""
    lines = code.splitlines(keepends=True)
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    # The last one of a line first: where the others stand stays the same.
    for node in sorted(imports, key=lambda node: node.col_offset, reverse=True):
        if isinstance(node, ast.Import):
            if any(_is_ours(alias.name) for alias in node.names):
                raise SyntaxError(f"line {node.lineno}: write `from … import …`, which can be given a prefix")
        elif node.module and not node.level and _is_ours(node.module):
            line = lines[node.lineno - 1]
            start = line.index(node.module, node.col_offset)
            lines[node.lineno - 1] = f"{line[:start]}{PACKAGE}.{line[start:]}"
    return "".join(lines)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in CODE


class BuildPackage(build_py):
    """`build_py` of a wheel; of an editable installation as setuptools has it."""

    def finalize_options(self) -> None:
        """The packages of setup.cfg, below the one that a wheel has."""
        # An editable installation asks for this command before it marks it as editable: for the list of sources.
        if "editable_wheel" not in self.distribution.commands:
            inside = [*find_packages(include=[f"{folder}*" for folder in CODE]), *FILES]
            self.distribution.packages = [PACKAGE, *(f"{PACKAGE}.{name}" for name in inside)]
            self.distribution.package_dir = {f"{PACKAGE}.{folder}": folder for folder in (*CODE, *FILES)}
        super().finalize_options()

    def build_module(self, module: str, module_file: str, package: str) -> tuple[str, bool]:
        """One module, as it is named in a wheel."""
        built, copied = super().build_module(module, module_file, package)
        if not self.editable_mode:
            code = with_prefix(Path(module_file).read_text(encoding="utf-8"))
            Path(built).write_text(code, encoding="utf-8")
        return built, copied


if __name__ == "__main__":
    setup(cmdclass={"build_py": BuildPackage})
