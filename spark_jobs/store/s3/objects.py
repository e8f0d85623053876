"""The folder of claims in a warehouse's object store, by the client that delta-rs has, too: the same environment."""

import uuid
from contextlib import suppress

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import ObjectStore, from_url

from spark_jobs.errors import WarehouseError
from spark_jobs.store.location import Location

FOLDER = "_claims"


def object_store(location: Location) -> ObjectStore:
    """Raises `WarehouseError` where the environment does not say how it is reached."""
    try:
        return from_url(f"{location.location}/{FOLDER}")
    except Exception as error:
        raise WarehouseError(f"the object store of {location.location} cannot be reached: {reason(error)}") from error


def reason(error: Exception) -> str:
    """The first line of what obstore says; how its request was made follows."""
    return str(error).partition("\n")[0]


def check_puts(location: Location) -> None:
    """Raises `WarehouseError` where the store ignores `If-None-Match` and overwrites an object."""
    store, name = object_store(location), f"probe-{uuid.uuid4().hex}"
    try:
        obstore.put(store, name, b"", mode="create")
        obstore.put(store, name, b"", mode="create")
    except AlreadyExistsError:
        return
    except Exception as error:
        raise WarehouseError(f"the object store of {location.location} cannot be written: {reason(error)}") from error
    finally:
        with suppress(Exception):  # what is wrong has been said
            obstore.delete(store, name)
    raise WarehouseError(
        f"the object store of {location.location} ignores conditional writes (If-None-Match): two writers would "
        "overwrite each other's commits. Use a store or a version that has them"
    )


def remove_all(location: Location) -> None:
    """Removes every object below the location; raises `WarehouseError` if the store still lists one."""
    try:
        store = from_url(location.location)
        obstore.delete(store, [entry["path"] for page in obstore.list(store) for entry in page])
        left = [entry["path"] for page in obstore.list(store) for entry in page]
    except Exception as error:
        raise WarehouseError(f"the objects below {location.location} cannot be removed: {reason(error)}") from error
    if left:
        raise WarehouseError(f"the store still lists {len(left)} objects that were removed below {location.location}")
