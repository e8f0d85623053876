"""Warehouses that older code wrote: the first 150 seconds of the recording, loaded and audited.

Without `_quality`, `_staging` and `_claims`, which no reader of tables looks at.
"""

from __future__ import annotations

import tarfile
import time
from pathlib import Path

_DATA = Path(__file__).parents[2] / "data"
#: By the code at commit c52dd86, before findings were muted and had roots, and request modes were recorded.
BEFORE_MUTES = _DATA / "warehouse_of_2026-11-22.tar.gz"


def unpack(archive: Path, folder: Path) -> Path:
    """The warehouse of an archive, in the folder, as if it had been written now: no retention has run out."""

    def young(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        found = tarfile.data_filter(member, path)
        return None if found is None else found.replace(mtime=time.time())

    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter=young)
        return folder / packed.getnames()[0]
