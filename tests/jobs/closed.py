# SPDX-License-Identifier: Apache-2.0
"""A directory in which nothing can be written, for a while."""

import contextlib
import os
import subprocess


class Unable(Exception):
    """It can't be made here."""


@contextlib.contextmanager
def closed(path):
    """PATH takes no file: by its mode, or for root, whom modes do not stop, by a mount."""
    if os.geteuid():
        subprocess.run(["chmod", "-R", "a-w", path], check=True)
    elif subprocess.run(["mount", "--bind", path, path], stderr=subprocess.DEVNULL).returncode:
        raise Unable("mount is not allowed")
    else:
        subprocess.run(["mount", "-o", "remount,ro,bind", path], check=True)
    try:
        yield
    finally:
        undo = ["chmod", "-R", "u+w"] if os.geteuid() else ["umount", "-l"]
        subprocess.run([*undo, path], check=True)
