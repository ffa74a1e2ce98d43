"""A disk with little room, for tests of what writers leave where it is full."""

import functools
import resource
import signal
import subprocess

PAGE = resource.getpagesize()  # what a file system in memory hands out at once

MOUNTED = """
disk=$1 before=$2 after=$3 room=$4; shift 4
mount -t tmpfs -o size="$room" none "$disk" && cp -a "$before"/. "$disk" || exit 125
(cd "$disk" && exec "$@")
code=$?
cp -a "$disk"/. "$after"
exit $code
"""


@functools.cache
def why_none():
    """Why no disk can be made here; nothing where one can."""
    try:
        words = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
        tried = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        return str(error)
    return f"no file system can be mounted: {tried.stderr.strip()}" if tried.returncode else None


def pages(number):
    """How many pages so many bytes take."""
    return -(-number // PAGE)


def on_small_disk(folder, name, before, room, words, **options):
    """Runs `words` on a disk of `room` pages that holds what is in the folder `before`. Returns the
    process, and a folder with what the disk holds then."""
    disk, after = folder / "disk", folder / name
    disk.mkdir(exist_ok=True)
    after.mkdir()
    places = [str(disk), str(before), str(after), str(room * PAGE)]
    process = subprocess.run(
        ["unshare", "-rm", "sh", "-c", MOUNTED, "sh", *places, *map(str, words)],
        capture_output=True, text=True, timeout=300, check=False, **options,
    )  # fmt: skip
    assert process.returncode != 125, process.stderr
    return process, after


def with_short_files(bytes_of_a_file):
    """What a process calls so that no file of its own grows beyond so many bytes."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the call fails then
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_of_a_file, bytes_of_a_file))

    return limit
