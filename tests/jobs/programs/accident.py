# SPDX-License-Identifier: Apache-2.0
"""What happens to a rank while it compiles its first graph, with the other ranks beside it.

In the folder where they meet the file "compiling" says that it is at it, "settled.RANK" that another rank has
come to rest: it has ended, or does nothing any more, as one that waits.
"""

import os
import signal
import threading
import time
from pathlib import Path

REST_S, LIMIT_S = 3, 120


def fail():
    raise RuntimeError("this compiler broke")


def send(number):
    os.kill(os.getpid(), number)


HOW = {"kill": lambda: send(signal.SIGKILL), "terminate": lambda: send(signal.SIGTERM), "fail": fail,
       "slow": lambda: None}


def prepare(folder, how):
    """The first graph of this rank meets with an accident, when all others have settled."""
    from torch._inductor.graph import GraphLowering

    compile_to_module, others = GraphLowering.compile_to_module, int(os.environ["WORLD_SIZE"]) - 1

    def meets(*arguments):
        GraphLowering.compile_to_module = compile_to_module
        Path(folder, "compiling").touch()
        end = time.monotonic() + LIMIT_S
        while len(list(Path(folder).glob("settled.*"))) < others and time.monotonic() < end:
            time.sleep(0.1)
        HOW[how]()
        return compile_to_module(*arguments)

    GraphLowering.compile_to_module = meets


class Beside:
    """A rank that comes when the other one compiles, which makes that one the producer."""

    def __init__(self, folder, stopped):
        self.note = Path(folder, "settled." + os.environ["RANK"])
        self.stopped = stopped
        while not Path(folder, "compiling").exists():
            time.sleep(0.05)
        if stopped:  # a job manager's SIGTERM: the wish that this rank end after its step
            signal.signal(signal.SIGTERM, lambda *_: self.note.touch())
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        """Until the main thread has used no processor for a while."""
        clock = time.pthread_getcpuclockid(threading.main_thread().ident)
        used, since = -1.0, time.monotonic()
        while time.monotonic() - since < REST_S:
            time.sleep(0.1)
            now = time.clock_gettime(clock)
            if now - used > 0.01:
                used, since = now, time.monotonic()
        if self.stopped:
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            self.note.touch()

    def end(self):
        self.note.touch()
