# SPDX-License-Identifier: Apache-2.0
"""One rank of a job: does with recorded artifacts what torch 2.11 does when it compiles and loads.

An ordinary program. It knows its own ordinal, the cache directory that torch would use, and nothing
else: it hashes the details of each graph, looks up, "compiles" on a miss (sleeps, then takes what was
recorded for its own ordinal), stores, loads, and checks that whatever it loaded is its own.

    rank.py PLAN COMPILE_SECONDS      (PLAN: see material.py)

Prints one line of JSON. Ends with 1 when something that it loaded is wrong.
"""
import base64
import hashlib
import json
import os
import re
import sys
import threading
import time
import uuid


RECORDED_ROOTS = {"0": b"/tmp/cA_inductor", "1": b"/tmp/cB_inductor"}  # TORCHINDUCTOR_CACHE_DIR of each family
FX_KEY = re.compile(rb"\x8c4(f[a-z2-7]{51})")  # as a pickle holds a string of 52 characters


class Wrong(Exception):
    """What was loaded isn't what this rank would have compiled."""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def name51(data):
    return base64.b32encode(hashlib.sha256(data).digest()).decode()[:51].lower()


def write_atomic(path, content, make_dirs=False):
    """As torch stores: a temporary file in the final directory, then rename."""
    directory = os.path.dirname(path)
    if make_dirs:
        os.makedirs(directory, exist_ok=True)
    temporary = os.path.join(directory, ".%d.%d.tmp" % (os.getpid(), threading.get_ident()))
    with open(temporary, "wb") as file:
        file.write(content)
    os.rename(temporary, path)


class Rank:
    def __init__(self, plan, compile_seconds):
        self.plan = plan
        self.ordinal = plan["ordinal"]
        self.own = plan["families"][str(plan["own"])]
        self.root = os.environ["TORCHINDUCTOR_CACHE_DIR"]
        self.triton = os.path.join(self.root, "triton", str(self.ordinal))
        self.compile_seconds = compile_seconds
        self.result = {"rank": self.ordinal, "fx_hits": 0, "fx_misses": 0, "aot_hits": 0, "aot_misses": 0,
                       "compiling": 0.0, "looking": 0.0, "left": 0, "compiled": []}

    # ---- keys and directories

    def key(self, graph):
        details = read(os.path.join(self.plan["details"], graph + ".details"))
        return ("a" if graph == "aot" else "f") + name51(details)

    def fx_directory(self, key):
        return os.path.join(self.root, "fxgraph", key[1:3], key)

    def aot_directory(self, key):
        return os.path.join(self.root, "aotautograd", key)

    def look_up(self, directory):
        """torch 2.11: exists, then listdir, then open. Returns the entries' contents."""
        start = time.monotonic()
        found = []
        if os.path.exists(directory):
            for name in sorted(os.listdir(directory)):
                if not name.startswith("."):
                    found.append(read(os.path.join(directory, name)))
        self.result["looking"] += time.monotonic() - start
        return found

    def store(self, directory, content):
        if not os.path.exists(directory):
            os.makedirs(directory, exist_ok=True)
        write_atomic(os.path.join(directory, name51(content)), content)

    # ---- what an entry holds

    def with_keys(self, content, keys):
        """An entry names keys as hashlib gave them to the rank that wrote it."""
        for graph, key in keys.items():
            content = content.replace(self.plan["keys"][graph].encode(), key.encode())
        return content

    def with_root(self, content, old, new):
        """Strings that are paths name the directory of who wrote the entry. Where a rank's directory has the length of
        the recorded one, nothing else in the entry changes."""
        if len(old) != len(new):
            return content
        return re.sub(rb"(?s)(\x8c.)" + re.escape(old) + b"/", lambda found: found[1] + new + b"/", content)

    def recognise(self, graph, content, keys):
        """Finds which recording this is, as it looks on this rank's own ordinal; nothing else will do."""
        for graph_name, key in keys.items():
            content = content.replace(key.encode(), self.plan["keys"][graph_name].encode())
        for number, family in self.plan["families"].items():
            recorded = self.with_root(content, self.root.encode(), RECORDED_ROOTS[number])
            if family[graph]["entry"] == name51(recorded):
                return family
        raise Wrong("%s: an entry that isn't this rank's (%d bytes)" % (graph, len(content)))

    # ---- compiling

    def write_source(self, text):
        """A generated .py: named after its text, written when it isn't there. Returns its path."""
        name = "c" + name51(text.strip())
        path = os.path.join(self.root, name[1:3], name + ".py")
        if not os.path.exists(path):
            write_atomic(path, text, make_dirs=True)
        return path

    def write_group(self, source, key):
        """Triton's cache: each file in a temporary directory of its own, then os.replace; the group
        file, which names all others, comes last."""
        target = os.path.join(self.triton, key)
        os.makedirs(target, exist_ok=True)
        names = sorted(os.listdir(source), key=lambda name: name.startswith("__grp__"))
        for name in names:
            temporary = os.path.join(target, "tmp.pid_%d_%s" % (os.getpid(), uuid.uuid4()))
            os.makedirs(temporary, exist_ok=True)
            with open(os.path.join(temporary, name), "wb") as file:
                file.write(self.group_file(source, name, target))
            os.replace(os.path.join(temporary, name), os.path.join(target, name))
            os.rmdir(temporary)

    def group_file(self, source, name, target):
        """The content of a group's file; the group file names absolute paths."""
        content = read(os.path.join(source, name))
        if not name.startswith("__grp__"):
            return content
        children = json.loads(content)["child_paths"]
        return json.dumps({"child_paths": {child: os.path.join(target, child)
                                           for child in children}}).encode()

    def compile(self, graph, keys):
        start = time.monotonic()
        made = self.own[graph]
        time.sleep(self.compile_seconds)
        for number in range(made["kernels"]):
            self.write_source(read(os.path.join(made["folder"], "kernel%d.py" % number)))
        for key in made["groups"]:
            if not os.path.exists(os.path.join(self.triton, key)):
                self.write_group(os.path.join(self.own["triton"], key), key)
        entry = self.with_root(read(os.path.join(made["folder"], "entry")), RECORDED_ROOTS[str(self.plan["own"])],
                               self.root.encode())
        self.store(self.fx_directory(keys[graph]), self.with_keys(entry, keys))
        self.result["compiling"] += time.monotonic() - start
        self.result["compiled"].append(graph)
        return self.own

    # ---- loading

    def emit_bundle(self, family, graph):
        """The kernels that come with an entry: a whole directory each, by os.replace."""
        os.makedirs(self.triton, exist_ok=True)
        for key in family[graph]["groups"]:
            target = os.path.join(self.triton, key)
            if os.path.exists(target) and os.listdir(target):
                continue
            temporary = os.path.join(self.triton, "tmp.%s" % uuid.uuid4())
            os.makedirs(temporary)
            source = os.path.join(family["triton"], key)
            for name in os.listdir(source):
                with open(os.path.join(temporary, name), "wb") as file:
                    file.write(self.group_file(source, name, target))
            try:
                os.replace(temporary, target)
            except OSError:  # another rank was first: torch 2.8 and later log it
                self.result["left"] += 1

    def check_kernels(self, family, graph):
        """Opens each kernel as Triton does: the group file, then every file that it names."""
        for key in family[graph]["groups"]:
            directory = os.path.join(self.triton, key)
            (group,) = [name for name in os.listdir(directory) if name.startswith("__grp__")]
            for child, path in json.loads(read(os.path.join(directory, group)))["child_paths"].items():
                if not os.path.exists(path):
                    raise Wrong("%s: %s names %s, which isn't there" % (graph, group, path))
                if child.endswith(".cubin") and read(path)[:4] != b"\x7fELF":
                    raise Wrong("%s: %s is no kernel" % (graph, path))

    def load(self, graph, family):
        """The wrapper comes from the file on disk when there is one, else from the entry."""
        text = read(os.path.join(family[graph]["folder"], "wrapper.py"))
        path = self.write_source(text)
        if read(path) != text:
            raise Wrong("%s: %s is another device's source" % (graph, path))
        self.check_kernels(family, graph)

    def run_graph(self, graph, key, keys):
        entries = self.look_up(self.fx_directory(key))
        if entries:
            self.result["fx_hits"] += 1
            families = [self.recognise(graph, content, keys) for content in entries]
            family = families[0]
            self.emit_bundle(family, graph)
        else:
            self.result["fx_misses"] += 1
            family = self.compile(graph, keys)
        self.load(graph, family)

    def run(self):
        aot = self.key("aot")
        entries = self.look_up(self.aot_directory(aot))
        if entries:
            self.result["aot_hits"] += 1
            self.run_warm(entries)
            return
        self.result["aot_misses"] += 1
        keys = {}
        for graph in ("forward", "backward"):
            keys[graph] = self.key(graph)
            self.run_graph(graph, keys[graph], keys)
        entry = read(os.path.join(self.own["aot"]["folder"], "entry"))
        self.store(self.aot_directory(aot), self.with_keys(entry, keys))

    def run_warm(self, entries):
        """An AOT entry names the FX keys, so their details aren't hashed again."""
        keys = dict(zip(("forward", "backward"), FX_KEY.findall(entries[0])))
        keys = {graph: key.decode() for graph, key in keys.items()}
        for content in entries:
            self.recognise("aot", content, keys)
        for graph, key in keys.items():
            self.run_graph(graph, key, keys)


def main():
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    rank = Rank(plan, float(sys.argv[2]))
    start = time.monotonic()
    try:
        rank.run()
    except (Wrong, OSError, ValueError) as error:
        rank.result["error"] = "%s: %s" % (type(error).__name__, error)
    rank.result["wall"] = time.monotonic() - start
    print(json.dumps(rank.result))
    return 1 if "error" in rank.result else 0


if __name__ == "__main__":
    sys.exit(main())
