"""The folder of claims in a warehouse's object store, by the client that delta-rs has, too: the same environment."""

from obstore.store import ObjectStore, from_url

from spark_jobs.errors import WarehouseError
from spark_jobs.store.location import Location

FOLDER = "_claims"


def object_store(location: Location) -> ObjectStore:
    """Raises `WarehouseError` where the environment does not say how it is reached."""
    try:
        return from_url(f"{location.location}/{FOLDER}")
    except Exception as error:
        raise WarehouseError(f"the object store of {location.location} cannot be reached: {error}") from error
