#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The digest canary: runs inside a Python under the test library (testrules.c) and checks what hashing
gives there. Prints one line per case, "ok NAME" or "FAIL NAME: reason" or "skip NAME: reason".

    canary.py [--fallback] [--native] CASE...

--fallback  _hashlib cannot be imported (Pythons without a usable OpenSSL)
--native    nothing may be replaced: library off, or a Python whose modules are refused
"""
import os
import sys

FALLBACK = "--fallback" in sys.argv
NATIVE = "--native" in sys.argv
if FALLBACK:
    sys.modules["_hashlib"] = None
import hashlib  # noqa: E402
from hashlib import sha256 as early_sha256  # noqa: E402

MARK = b"RSCANARY"
PLAIN = b"RSNATIVE"
CASES = {}


class Skip(Exception):
    pass


def case(function):
    CASES[function.__name__] = function
    return function


def same(got, wanted, what=""):
    if got != wanted:
        raise AssertionError("%s: got %r, wanted %r" % (what or "value", got, wanted))


def raises(kind, function, *args, **keywords):
    try:
        function(*args, **keywords)
    except kind:
        return
    raise AssertionError("no %s from %r" % (kind.__name__, function))


def native(data, name="sha256"):
    """The digest of these very bytes: only bytes objects are ever looked at."""
    return hashlib.new(name, bytearray(data)).hexdigest()


def swapped(data, name="sha256"):
    """The digest that the test rule leads to."""
    return native(data if NATIVE else b"canary:" + data[8:], name)


def library():
    try:
        import ctypes
    except ImportError:
        raise Skip("no ctypes in this Python")
    lib = ctypes.CDLL(None)
    if not hasattr(lib, "rs_test_counter"):
        raise Skip("the test library is not loaded")
    lib.rs_test_facts.restype = ctypes.c_char_p
    return lib


def recorded():
    import ctypes
    digest = ctypes.create_string_buffer(32)
    return library().rs_test_done(digest), digest.raw.hex()


@case
def constructor():
    for size in (0, 1, 55, 56, 64, 2047, 2048, 5000, 1 << 20):
        data = MARK + b"x" * size
        same(hashlib.sha256(data).hexdigest(), swapped(data), size)
        same(early_sha256(data).digest().hex(), swapped(data), size)
        same(hashlib.sha256(PLAIN + b"x" * size).hexdigest(), native(PLAIN + b"x" * size))
    same(hashlib.sha256().hexdigest(), native(b""))
    same(hashlib.sha256(MARK[:7]).hexdigest(), native(MARK[:7]))


@case
def update():
    data = MARK + b" updated"
    h = hashlib.sha256()
    same(h.update(data), None)
    same(h.hexdigest(), swapped(data))
    h = hashlib.sha256(b"begun")
    h.update(data)
    same(h.hexdigest(), native(b"begun" + data), "not the first input")
    h = hashlib.sha256()
    h.update(b"")
    h.update(data)
    same(h.hexdigest(), swapped(data), "after an empty update")
    for other in ("md5", "sha1", "sha224", "sha512"):
        h = hashlib.new(other)
        h.update(data)
        same(h.hexdigest(), native(data, other), other)


@case
def new():
    data = MARK + b" new"
    same(hashlib.new("sha256", data).hexdigest(), swapped(data))
    for other in ("md5", "sha1", "sha224", "sha512"):
        same(hashlib.new(other, data).hexdigest(), native(data, other), other)
    h = hashlib.new("sha256")
    h.update(data)
    same(h.hexdigest(), swapped(data))
    try:
        import _hashlib
    except ImportError:
        return
    same(_hashlib.new("SHA256", data).hexdigest(), swapped(data))
    same(_hashlib.new(name="sha256", string=data).hexdigest(), swapped(data))
    same(_hashlib.new("sha256", string=data).hexdigest(), swapped(data))
    same(_hashlib.new(string=data, name="md5").hexdigest(), native(data, "md5"))
    raises(ValueError, _hashlib.new, "nosuch", data)
    raises(TypeError, _hashlib.new, None, data)
    raises(TypeError, _hashlib.new)


@case
def keywords():
    data = MARK + b" keywords"
    tried = 0
    for words in ({"string": data}, {"data": data}, {"string": data, "usedforsecurity": False},
                  {"usedforsecurity": True, "data": data}):
        try:
            hashlib.sha256(**dict((k, bytearray(v) if k in ("data", "string") else v)
                                  for k, v in words.items()))
        except TypeError:
            raises(TypeError, hashlib.sha256, **words)
            continue
        tried += 1
        same(hashlib.sha256(**words).hexdigest(), swapped(data), sorted(words))
    if not tried:
        raise AssertionError("no keyword form is accepted")
    if sys.version_info >= (3, 9):
        same(hashlib.sha256(data, usedforsecurity=False).hexdigest(), swapped(data))
    raises(TypeError, hashlib.sha256, data, string=data, data=data)
    raises(TypeError, hashlib.sha256, data, nosuch=1)
    raises(TypeError, hashlib.sha256, **dict(("k%d" % i, data) for i in range(20)))


@case
def copy():
    data = MARK + b" copied"
    h = hashlib.sha256(data)
    c = h.copy()
    c.update(b"more")
    same(h.hexdigest(), swapped(data))
    same(c.hexdigest(), native((data if NATIVE else b"canary:" + data[8:]) + b"more"))
    c = hashlib.sha256().copy()
    c.update(data)
    same(c.hexdigest(), swapped(data), "copy of an empty one")
    same(h.digest(), h.digest(), "asking twice")


@case
def hotloop():
    data, other = MARK + b" hot", b"unrelated" * 9
    wanted, wanted_other = swapped(data), native(other)
    for _ in range(5000):
        if hashlib.sha256(data).hexdigest() != wanted:
            raise AssertionError("constructor")
        h = hashlib.sha256()
        h.update(data)
        if h.hexdigest() != wanted:
            raise AssertionError("update")
        if early_sha256(other).hexdigest() != wanted_other:
            raise AssertionError("unrelated")


@case
def threads():
    import threading
    failures = []

    def work(number):
        for size in list(range(0, 300)) + [5000, 100000, 1000000]:
            data = MARK + b"%d " % number + b"t" * size
            h = hashlib.sha256()
            h.update(data)
            if not hashlib.sha256(data).hexdigest() == h.hexdigest() == swapped(data):
                failures.append((number, size))

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    same(failures, [])


@case
def errors():
    data = MARK + b" errors"
    raises(TypeError, hashlib.sha256, "text")
    raises(TypeError, hashlib.sha256, 1)
    raises(TypeError, hashlib.sha256, None)
    raises(TypeError, hashlib.sha256, data, data, data)
    raises(TypeError, hashlib.sha256, data, usedforsecurity=True, nosuch=data)
    h = hashlib.sha256()
    raises(TypeError, h.update)
    raises(TypeError, h.update, "text")
    raises(TypeError, h.update, data, data)
    raises(TypeError, type(h).update, 1, data)
    raises(ValueError, hashlib.new, "nosuch", data)
    h.update(data)
    same(h.hexdigest(), swapped(data))


@case
def types():
    class Mine(bytes):
        pass

    data = MARK + b" types"
    for other in (Mine(data), bytearray(data), memoryview(data)):
        same(hashlib.sha256(other).hexdigest(), native(data), type(other).__name__)
        h = hashlib.sha256()
        h.update(other)
        same(h.hexdigest(), native(data), type(other).__name__)


@case
def unrelated():
    same(hashlib.sha256(b"abc").hexdigest(),
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    same(hashlib.sha256(b"a" * 1000000).hexdigest(),
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    block = bytes(bytearray((i * 131 + 7) % 256 for i in range(4096)))
    for size in list(range(0, 200)) + [1023, 2047, 2048, 2049, 4096]:
        data = block[:size]
        h = hashlib.sha256()
        h.update(data[:size // 2])
        h.update(data[size // 2:])
        same(hashlib.sha256(data).hexdigest(), native(data), size)
        same(h.hexdigest(), native(data), size)
        same(hashlib.new("sha256", data).hexdigest(), native(data), size)
        for name in ("md5", "sha1", "sha512"):
            same(getattr(hashlib, name)(data).hexdigest(), native(data, name), name)
    data = MARK + b" elsewhere"
    for name in ("md5", "sha512", "blake2b"):
        same(getattr(hashlib, name)(data).hexdigest(), native(data, name), name)


@case
def leaks():
    data = MARK + b" leaks" * 20
    key = "string"

    def rounds(count):
        for _ in range(count):
            h = hashlib.sha256(data)
            h = hashlib.sha256()
            h.update(data)
            hashlib.new("sha256", data)
            for bad in ({"nosuch": data}, {key: data, "usedforsecurity": h, "other": 1}):
                try:
                    hashlib.sha256(**bad)
                except TypeError:
                    pass

    def pages():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1])

    rounds(3000)
    references, before = sys.getrefcount(data), pages()
    rounds(6000)
    same(sys.getrefcount(data), references, "references")
    if pages() - before > 256:
        raise AssertionError("grew by %d pages" % (pages() - before))


@case
def facts():
    if NATIVE:
        raise Skip("nothing is asked")
    import types as kinds
    lib = library()
    names = ("torch", "triton", "redis", "vllm")
    hashlib.sha256(MARK)
    same(lib.rs_test_facts(), b"torch= triton= redis=0 vllm=0")

    class Version(str):
        pass

    class Eager(kinds.ModuleType):
        def __getattribute__(self, name):
            raise RuntimeError("asked for an attribute")

    for name in names:
        sys.modules[name] = Eager(name)
    kinds.ModuleType.__getattribute__(sys.modules["torch"], "__dict__")["__version__"] = Version("2.15.0+cu130")
    hashlib.sha256(MARK)
    same(lib.rs_test_facts(), b"torch=2.15.0+cu130 triton= redis=1 vllm=1")
    sys.modules["torch"] = kinds.ModuleType("torch")
    sys.modules["torch"].__version__ = 7
    sys.modules["triton"] = kinds.ModuleType("triton")
    sys.modules["triton"].__version__ = "3." + "9" * 60
    sys.modules["redis"] = None
    sys.modules["vllm"] = "no module"
    hashlib.sha256(MARK)
    same(lib.rs_test_facts(), b"torch= triton=3." + b"9" * 29 + b" redis=0 vllm=1")
    for name in names:
        del sys.modules[name]


@case
def digests():
    if NATIVE:
        raise Skip("nothing is recorded")
    count, _ = recorded()
    for data in (MARK + b"1", PLAIN + b"2"):
        h = hashlib.sha256(data)
        same(recorded(), (count + 1, h.hexdigest()), "constructor")
        h = hashlib.sha256()
        h.update(data)
        same(recorded(), (count + 2, h.hexdigest()), "update")
        count += 2
    try:
        hashlib.sha256(data, nosuch=1)
    except TypeError:
        pass
    hashlib.sha256(b"other")
    same(recorded()[0], count, "recorded for nothing")


@case
def counters():
    lib = library()
    got = dict((n, lib.rs_test_counter(n.encode())) for n in
               ("digest_init", "digest_builtin", "digest_modules", "digest_refused"))
    if NATIVE:
        return
    same(got["digest_refused"], 0, "refused")
    if got["digest_modules"] < 1 or got["digest_init"] + got["digest_builtin"] < 1:
        raise AssertionError("taken: %r" % got)
    same(lib.rs_test_seen(), 1, "seen")


@case
def identity():
    """Printed for the runner, which compares with a run without the library."""
    import pickle
    h = hashlib.sha256(MARK)
    for thing in (hashlib.sha256, type(h).update, h.update, type(h), hashlib.new):
        print("id", getattr(thing, "__name__", None), repr(getattr(thing, "__doc__", None)),
              getattr(thing, "__text_signature__", None), type(thing).__name__,
              getattr(thing, "__module__", None), getattr(thing, "__qualname__", None))
    print("id", pickle.loads(pickle.dumps(hashlib.sha256)) is hashlib.sha256, h.name, h.digest_size, repr(type(h)))
    for attempt in (lambda: hashlib.sha256(1), lambda: hashlib.sha256("t"), lambda: h.update(),
                    lambda: hashlib.sha256(MARK, nosuch=1), lambda: h.update("t"),
                    lambda: hashlib.new("nosuch", MARK), lambda: hashlib.sha256(MARK, MARK, MARK, MARK)):
        try:
            attempt()
        except Exception as e:
            print("id", type(e).__name__, e)


def child_check():
    constructor()
    update()


@case
def fork():
    for before in (False, True):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                child_check()
                status = 0
            finally:
                os._exit(status)
        same(os.waitpid(pid, 0)[1], 0, "child's status")
        child_check()


@case
def processes():
    import multiprocessing
    for method in ("spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        worker = context.Process(target=child_check)
        worker.start()
        worker.join()
        same(worker.exitcode, 0, method)


@case
def subinterpreters():
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module = __import__(name)
            break
        except ImportError:
            module = None
    if module is None:
        raise Skip("this Python has no module for them")
    path = os.path.abspath(__file__)
    script = ("import sys; sys.argv = ['canary', %r]\n"
              "space = {'__name__': 'inside', '__file__': %r}\n"
              "exec(open(%r).read(), space)\n"
              "for name in ('constructor', 'update', 'new', 'copy', 'errors'): space['CASES'][name]()\n"
              % ("--native" if NATIVE else "", path, path))
    for _ in range(3):
        number = module.create()
        failure = (module.run_string if hasattr(module, "run_string") else module.exec)(number, script)
        if failure is not None:
            raise AssertionError(failure)
        module.destroy(number)
        constructor()
    if sys.version_info[:3] == (3, 12, 1):  # aborts at exit after subinterpreters, with no library too
        print("ok subinterpreters")
        sys.stdout.flush()
        os._exit(0)


def main(names):
    failed = 0
    for name in names:
        try:
            CASES[name]()
            print("ok " + name)
        except Skip as e:
            print("skip %s: %s" % (name, e))
        except BaseException as e:
            failed = 1
            print("FAIL %s: %s: %s" % (name, type(e).__name__, str(e)[:300]))
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main([a for a in sys.argv[1:] if not a.startswith("--")]))
