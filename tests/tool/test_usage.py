# SPDX-License-Identifier: Apache-2.0
"""Verbs, options, help."""

VERBS = ("run", "stats", "key", "ordinals", "inspect", "rewrite", "ls", "verify", "evict", "warm", "clear", "doctor", "help")
# Wrong usage ends with 1, whatever is wrong.
WRONG = [
    (), ("nonsense",), ("--nonsense",), ("-x",), ("warm",), ("trace",),
    ("key",), ("key", "a", "b"), ("key", "--nonsense", "a"),
    ("inspect",), ("inspect", "--json"), ("inspect", "--device", "a"), ("inspect", "--nonsense", "a"),
    ("ordinals",), ("ordinals", "--json"), ("ordinals", "--nonsense", "a"),
    ("rewrite",), ("rewrite", "a", "b"), ("rewrite", "--to", "0", "a"), ("rewrite", "--to", "0", "a", "b", "c"),
    ("rewrite", "--to", "128", "a", "b"), ("rewrite", "--to", "-1", "a", "b"), ("rewrite", "--to", "", "a", "b"),
    ("rewrite", "--to", "x", "a", "b"), ("rewrite", "--to", "1x", "a", "b"), ("rewrite", "--to"),
    ("rewrite", "--to", "99999999999999999999", "a", "b"), ("rewrite", "--to", "0", "-d", "-", "-", "b"),
    ("stats", "file"), ("stats", "--nonsense"), ("stats", "--prometheus"), ("stats", "--watch"),
    ("stats", "--segment", "a/b"), ("stats", "--segment", "x" * 300),
    ("clear", "file"), ("clear", "--segment", "../x"), ("doctor", "file"), ("doctor", "--segment", "a/b"),
    ("run",), ("run", "--"), ("run", "--quiet"), ("run", "--wait", "soon", "true"), ("run", "--wait", "-1", "true"),
    ("run", "--nonsense", "true"), ("run", "--segment", "a/b", "true"),
    ("help", "nonsense"), ("help", "run", "stats"),
]


def cases(context):
    def wrong(arguments):
        def case():
            result = context.expect(1, *arguments)
            assert result.stderr and not result.stdout, result
        return case

    for arguments in WRONG:
        yield "usage: " + " ".join(argument[:20] for argument in arguments), wrong(arguments)

    def verb_help(verb):
        def case():
            if verb != "help":
                context.expect(0, verb, "--help", out=r"Usage: rankshare %s" % verb)
            context.expect(0, "help", verb, out=r"Usage: rankshare")
        return case

    for verb in VERBS:
        yield "help: " + verb, verb_help(verb)

    def overview():
        text = context.expect(0, "help").stdout.decode()
        assert all("  %s " % verb in text for verb in VERBS), text
        assert context.expect(0, "--help").stdout.decode() == text

    yield "help: all verbs", overview

    def version():
        context.expect(0, "--version", out=r"^rankshare \d+\.\d+\.\d+ \(segment layout \d+\)$")

    yield "version", version

    def full_output():
        with open("/dev/full", "wb") as full:
            import subprocess
            result = subprocess.run([context.program, "help"], stdout=full, stderr=subprocess.PIPE,
                                    env=context.environment(), check=False)
        assert result.returncode == 2 and b"standard output" in result.stderr, result

    yield "help: nowhere to write", full_output
