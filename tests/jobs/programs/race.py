# SPDX-License-Identifier: Apache-2.0
"""A race that is lost for certain: all ranks have seen that a kernel's directory is not there before the
first of them puts it there."""

import os
import time
import uuid


class MeetingUuid:
    """torch's bundler asks for a random name between its look and its rename: the first time, ranks meet there."""

    def __init__(self, folder, rank, world):
        self.folder, self.rank, self.world = folder, rank, world

    def uuid4(self):
        if self.folder:
            os.makedirs(self.folder, exist_ok=True)
            open(os.path.join(self.folder, str(self.rank)), "w").close()
            while len(os.listdir(self.folder)) < self.world:
                time.sleep(0.01)
            self.folder = None
        return uuid.uuid4()


def meet_at_bundle(folder):
    from torch._inductor import triton_bundler

    triton_bundler.uuid = MeetingUuid(folder, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
