# SPDX-License-Identifier: Apache-2.0
"""The recordings of tests/data, unpacked once into a temporary directory."""
import pathlib
import tarfile
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


class Recordings:
    def __enter__(self):
        self._directory = tempfile.TemporaryDirectory(prefix="rankshare-replay-")
        self.root = pathlib.Path(self._directory.name)
        for archive in sorted(DATA.glob("*.tar.xz")):
            with tarfile.open(archive) as tar:
                tar.extractall(self.root)
        return self

    def __exit__(self, *_):
        self._directory.cleanup()

    def cases(self):
        return sorted(path.parent for path in self.root.glob("*/keys0"))

    @staticmethod
    def keys(case, device):
        return sorted((case / f"keys{device}").iterdir())

    @staticmethod
    def entries(case, device):
        root = case / f"dev{device}_inductor"
        return sorted(root.glob("fxgraph/*/*/*")) + sorted(root.glob("aotautograd/*/*"))

    @staticmethod
    def sources(case, device):
        return sorted((case / f"dev{device}_inductor").glob("??/*.py"))
