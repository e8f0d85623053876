"""A standalone cluster of Spark until it is ended; its first line is the master's URL."""

import signal

from benchmarks.standalone import two_workers

if __name__ == "__main__":
    with two_workers() as master:
        print(master, flush=True)
        signal.pause()
