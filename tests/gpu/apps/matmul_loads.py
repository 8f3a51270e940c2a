# SPDX-License-Identifier: Apache-2.0
"""What `import torch` and one matrix product cost: seconds, and the peak of this process's memory in kB."""
import resource
import sys
import time

begin = time.monotonic()
import torch  # noqa: E402


def main():
    x = torch.ones(512, 512, device="cuda")
    (x @ x).sum().item()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


if __name__ == "__main__":
    sys.exit(main())
