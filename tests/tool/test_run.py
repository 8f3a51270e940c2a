# SPDX-License-Identifier: Apache-2.0
"""run: how the command ends, what it finds in its environment, what is said at the end."""
import os
import re
import signal
import subprocess
import time

from harness import read

SHOW = "printf '%s|' \"$LD_PRELOAD\" \"$RANKSHARE\" \"$RANKSHARE_JOB\" \"$RANKSHARE_WAIT\" " \
       "\"$RANKSHARE_LOG\" \"$RANKSHARE_SEGMENT\""


def cases(context):
    library = context.empty_library()
    run = ("run", "--library", library)
    for make in (status_cases, environment_cases, summary_cases, signal_cases, library_cases):
        yield from make(context, run, library)


def status_cases(context, run, _library):
    endings = [(("true",), 0), (("false",), 1), (("sh", "-c", "exit 7"), 7), (("sh", "-c", "exit 255"), 255),
               (("sh", "-c", "kill -KILL $$"), 137), (("sh", "-c", "kill -TERM $$"), 143),
               (("sh", "-c", "kill -SEGV $$"), 139), (("/nonexistent/command",), 127),
               (("no-such-command-at-all",), 127), ((context.work,), 126), ((context.path("plain", b"x"),), 126)]

    def ending(command, status):
        return lambda: context.expect(status, *run, "--", *command)

    for command, status in endings:
        yield "run: %s ends with %d" % (" ".join(command)[-24:], status), ending(command, status)

    def arguments():
        result = context.expect(0, *run, "--", "printf", "%s.", "--wait", "-q", "a b", "")
        assert result.stdout == b"--wait.-q.a b..", result
        result = context.expect(0, *run, "printf", "%s.", "--quiet", "--")
        assert result.stdout == b"--quiet.--.", result

    yield "run: the command's arguments are its own", arguments

    def pipes():
        result = context.expect(0, *run, "-q", "cat", stdin=b"through\0it")
        assert result.stdout == b"through\0it" and result.stderr == b""

    yield "run: standard input and output are the command's", pipes


def environment_cases(context, run, library):
    def shown(*options, **changes):
        result = context.expect(0, *run, "-q", *options, "--", "sh", "-c", SHOW, env=context.environment(**changes))
        return result.stdout.decode().split("|")[:-1]

    def defaults():
        preload, on, job, wait, log, _ = shown()
        assert (preload, on, wait, log) == (library, "1", "", ""), (preload, on, wait, log)
        assert re.fullmatch(r"run-\d+-\d+", job), job
        assert shown()[2] != job

    yield "run: environment", defaults

    def kept():
        other = context.path("other.so")
        if not os.path.exists(other):
            os.link(library, other)
        values = shown(LD_PRELOAD=other, RANKSHARE_JOB="mine", RANKSHARE="0", RANKSHARE_WAIT="5")
        assert values[:4] == [library + ":" + other, "1", "mine", "5"], values

    yield "run: what was there is kept", kept

    def options():
        name, _ = context.segment("run-options", fill=False)
        values = shown("--wait", "12", "--log", "/dev/null", "--segment", name, "--job", "j 1",
                       RANKSHARE_JOB="mine", RANKSHARE_WAIT="5")
        assert values[2:] == ["j 1", "12", "/dev/null", name], values

    yield "run: options win", options


def summary_cases(context, run, _library):
    def nothing_seen():
        name, _ = context.segment("run-nothing", fill=False)
        context.refuse(0, *run, "--segment", name, "true", error=r"no lookups seen: .*doctor --python")
        context.expect(0, *run, "--segment", name, "--quiet", "true", error=r"\A\Z")

    yield "run: no lookups seen", nothing_seen

    def not_started():
        name, _ = context.segment("run-not", fill=False)
        for command, status, reason in (("./nowhere", 127, "No such file or directory"), ("/etc/passwd", 126, "Permission denied")):
            context.refuse(status, *run, "--segment", name, command, error=r"\A[^\n]*%s\n\Z" % reason)

    yield "run: nothing is said of a command that could not be started", not_started

    def no_library():
        context.refuse(2, "run", "--library", "/etc/passwd", "true", error=r"/etc/passwd: is no shared object")
        context.refuse(2, "run", "--library", "/nowhere.so", "true", error=r"/nowhere.so: No such file")

    yield "run: what is no library", no_library

    def caches_off():
        name, _ = context.segment("run-off", fill=False)
        command = (*run, "--segment", name, "true")
        off = context.environment(TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", TORCHINDUCTOR_FREEZING="0")
        said = context.expect(0, *command, env=off).stderr.decode()
        assert "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1: torch's caches are switched off" in said, said
        assert "FREEZING" not in said, said
        assert "DISABLE_CACHES" not in context.expect(0, *command).stderr.decode()

    yield "run: no lookups, and the setting that explains it", caches_off

    def one_line():
        name, _ = context.segment("run-line", fill=False)
        context.refuse(
            0, *run, "--segment", name, "--job", "train", "--", context.fill_program, name,
            error=r"^rankshare: 2 ranks; FX graphs: 2 compiled, 2 of 4 loaded \(50 %, 1 after waiting\); "
                  r"AOTAutograd entries: 1 of 1 loaded; Triton kernels: 0 compiled, 5 of 5 loaded \(100 %\); "
                  r"autotuning results: 1 measured, 6 taken; waited 4\.2 s in all; refused: 1 ")

    yield "run: one line at the end", one_line

    def verbose():
        name, _ = context.segment("run-verbose", fill=False)
        context.expect(0, *run, "-v", "-s", name, "-j", "train", "--", context.fill_program, name,
                       error=r"library .*, job train, segment .*\n(.*\n)*job train: torch 2\.11\.0")

    yield "run: the table with --verbose", verbose


def signal_cases(context, run, _library):
    def start(script):
        ready = context.path("ready")
        if os.path.exists(ready):
            os.unlink(ready)
        process = subprocess.Popen([context.program, *run, "--", "sh", "-c", script, "sh", ready],
                                   stderr=subprocess.PIPE, env=context.environment(),
                                   start_new_session=True)
        while not os.path.exists(ready):
            assert process.poll() is None
            time.sleep(0.01)
        return process

    def end(process, status):
        try:
            _, error = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # or its loop would outlive the tests
            raise
        assert process.returncode == status, (process.returncode, error)
        assert b"rankshare: " in error, error

    def passed_on(number):
        def case():
            process = start("trap 'exit 42' %d; : > \"$1\"; while :; do sleep 0.05; done" % number)
            process.send_signal(number)
            end(process, 42)
        return case

    for number in (signal.SIGTERM, signal.SIGHUP):
        yield "run: %s is passed on" % number.name, passed_on(number)

    def from_terminal():
        """A terminal sends to the whole group: the command decides, and the summary still comes."""
        process = start("trap 'exit 42' INT; : > \"$1\"; while :; do sleep 0.05; done")
        os.killpg(process.pid, signal.SIGINT)
        end(process, 42)

    yield "run: SIGINT from a terminal", from_terminal

    def ignored():
        """What was ignored before stays ignored in the command (nohup)."""
        script = "kill -HUP $$; echo survived"
        result = subprocess.run(["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", context.program, *run, "-q", "--", "sh",
                                 "-c", script], capture_output=True, env=context.environment(), check=False)
        assert result.returncode == 0 and result.stdout == b"survived\n", result

    yield "run: ignored signals stay ignored", ignored


def library_cases(context, _run, library):
    def found_beside():
        for folder, place in (("prefix/bin", "prefix/lib"), ("beside", "beside")):
            program = context.path(os.path.join(folder, "rankshare"))
            for part in (folder, place):
                os.makedirs(context.path(part), exist_ok=True)
            with open(program, "wb") as file:
                file.write(read(context.program))
            os.chmod(program, 0o755)
            wanted = context.path(os.path.join(place, "librankshare.so"))
            if not os.path.exists(wanted):
                os.link(library, wanted)
            result = context.expect(0, "run", "-q", "sh", "-c", SHOW, program=program)
            assert result.stdout.decode().split("|")[0] == os.path.realpath(wanted), result

    yield "run: the library is found beside the program", found_beside

    def absent():
        context.refuse(2, "run", "--library", context.path("no.so"), "true", error=r"no\.so: No such file")

    yield "run: no library", absent

    def bad_path():
        folder = context.path("a folder")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "librankshare.so")
        if not os.path.exists(path):
            os.link(library, path)
        context.refuse(2, "run", "--library", path, "true", error=r"space or a colon")

    yield "run: a path that LD_PRELOAD can't hold", bad_path
