"""A file that holds a secret: its owner alone may read it, and what is wrong with it is said without its content."""

import stat
from pathlib import Path

from spark_jobs.errors import SecretFileError


def secret_text(file: Path) -> str:
    """The content of the file; raises `SecretFileError` if other users can read it, or it is no text."""
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise SecretFileError(f"other users can read {file}, which contains a secret: run chmod 600 on it")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SecretFileError(f"{file} does not exist. Check its name") from None
    except OSError as error:
        raise SecretFileError(f"{file} cannot be read: {error.strerror}. Check its name and permissions") from None
    except UnicodeDecodeError:
        raise SecretFileError(f"{file} cannot be read as text. Check its content") from None
