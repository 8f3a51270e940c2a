# SPDX-License-Identifier: Apache-2.0
"""What a rank on each ordinal would hash, compile and store: made from the recordings in tests/data.

Ordinals 0 and 1 are recorded; the others come from ordinals.py. A graph compiled on cuda:0 and the same
graph compiled on cuda:1 differ in timings and in the numbers of a few kernels, so there are two
"families": whatever a rank loads must be one of them with its own ordinal, byte for byte.
"""
import concurrent.futures
import json
import os
import tarfile

import ordinals

CASE = "blocks"
GRAPHS = ("forward", "backward")
FAMILIES = (0, 1)  # the recordings: dev0, dev1


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def write(data, *path):
    os.makedirs(os.path.dirname(os.path.join(*path)), exist_ok=True)
    with open(os.path.join(*path), "wb") as file:
        file.write(data)


def extract(archive, into):
    """Unpacks the recordings and returns the case's folder."""
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.split("/")[0] == CASE and "again" not in member.name:
                tar.extract(member, into)
    return os.path.join(into, CASE)


def only_file(directory):
    (name,) = os.listdir(directory)
    return os.path.join(directory, name)


class Family:
    """One recording: a cold run on cuda:0 or on cuda:1."""

    def __init__(self, case, device):
        self.device = device
        self.cache = os.path.join(case, "dev%d_inductor" % device)
        keys = os.path.join(case, "keys%d" % device)
        names = dict(zip(("aot",) + GRAPHS, sorted(os.listdir(keys))))
        self.details = {graph: read(keys, name) for graph, name in names.items()}
        self.keys = {graph: ("a" if graph == "aot" else "f") + ordinals.name51(details)
                     for graph, details in self.details.items()}
        self.torch_key = ordinals.torch_key_of(self.details["forward"])

    def entry_path(self, graph):
        if graph == "aot":
            return only_file(os.path.join(self.cache, "aotautograd", self.keys[graph]))
        key = self.keys[graph]
        return only_file(os.path.join(self.cache, "fxgraph", key[1:3], key))

    def entry(self, graph):
        return ordinals.Artifact(read(self.entry_path(graph)))

    def kernel(self, name):
        return read(self.cache, name[1:3], name + ".py").decode()

    def groups(self, entry):
        """Triton directories in the order in which the entry's bundle has them."""
        return [item.fields()["kernel_hash"] for item in entry.find("TritonKernelArtifacts")][::-1]


def replace_keys(data, old, new):
    for graph in old:
        data = data.replace(old[graph].encode(), new[graph].encode())
    return data


def make_details(family, targets, out):
    """Writes the details of every ordinal; returns {ordinal: {graph: key}}."""
    keys = {}
    artifacts = {graph: ordinals.Artifact(data) for graph, data in family.details.items()}
    for to in targets:
        keys[to] = {}
        for graph, artifact in artifacts.items():
            details = ordinals.rewrite(artifact, to)
            keys[to][graph] = family.keys[graph][0] + ordinals.name51(details)
            write(details, out, str(to), graph + ".details")
    return keys


def make_entry(case, device, graph, keys, out):
    """Writes what each ordinal has of one graph (or of the AOT entry) of one recording, and returns
    {ordinal: its description}. Runs in a process of its own."""
    family = Family(case, device)
    entry = family.entry(graph)
    source, kernels, described = None, [], {}
    if graph != "aot":
        source = entry.find("CompiledFxGraph")[0].fields()["source_code"]
        kernels = [family.kernel(name) for name in ordinals.kernel_names(source, device)]
    for to, names in keys.items():
        folder = os.path.join(out, str(to), "family%d" % device, graph)
        data = replace_keys(ordinals.rewrite(entry, to, family.torch_key), family.keys, names)
        write(data, folder, "entry")
        if source:
            write(ordinals.rewrite_source(source, to).encode(), folder, "wrapper.py")
        for number, text in enumerate(kernels):
            write(ordinals.rewrite_source(text, to).encode(), folder, "kernel%d.py" % number)
        described[to] = {"folder": folder, "entry": ordinals.name51(data), "kernels": len(kernels),
                         "groups": family.groups(entry)}
    return described


def make(archive, targets, out):
    """Writes OUT/<ordinal>.json and what it names, for every ordinal in TARGETS. Returns the folder of
    the recordings."""
    case = extract(archive, os.path.join(out, "recordings"))
    keys = [make_details(Family(case, device), targets, out) for device in FAMILIES]
    if keys[0] != keys[1]:
        raise ValueError("the two recordings give different keys for the same ordinal")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = {(device, graph): pool.submit(make_entry, case, device, graph, keys[0], out)
                for device in FAMILIES for graph in GRAPHS + ("aot",)}
    for to in targets:
        families = {}
        for device in FAMILIES:
            triton = os.path.join(case, "dev%d_inductor" % device, "triton", str(device))
            families[device] = {graph: jobs[device, graph].result()[to] for graph in GRAPHS + ("aot",)}
            families[device]["triton"] = triton
        plan = {"ordinal": to, "own": 0 if to == 0 else 1, "keys": keys[0][to],
                "families": families, "details": os.path.join(out, str(to))}
        write(json.dumps(plan, indent=1).encode(), out, "%d.json" % to)
    return case


def recorded_keys(case, device):
    """Names of the FX key directories that a plain run on cuda:DEVICE left."""
    root = os.path.join(case, "dev%d_inductor" % device, "fxgraph")
    return {key for short in os.listdir(root) for key in os.listdir(os.path.join(root, short))}

