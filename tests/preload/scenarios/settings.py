# SPDX-License-Identifier: Apache-2.0
"""Nonsense in the library's environment variables: a rank goes on as with the default."""
import os

from room import PYTHON, RANK, Failed, scenario, short

def refused(room, log, **more):
    """Makes the library log one line: a rank stores what is no entry."""
    what = room.write('garbage', 'no entry')
    got = room.rank('store', room.details, room.fx, what, RANKSHARE_LOG=log, deadline=20, **more)
    if got != (0, 'stored\n', ''):
        raise Failed(short(got))


def unreadable(path):
    os.mkdir(path, 0o000)
    return os.path.join(path, 'log')


def loop(path):
    os.symlink(path, path + '2')
    os.symlink(path + '2', path)
    return path


def made(function):
    def make(path):
        function(path)
        return path
    return make


# (what RANKSHARE_LOG names, what makes it, whether a line may be written)
LOGS = (
    ('a new file', lambda path: path, True),
    ('a file', made(lambda path: open(path, 'w').close()), True),
    ('a link to nowhere', made(lambda path: os.symlink(path + '.target', path)), True),
    ('a directory', made(os.mkdir), True),
    ('a directory that is not there', lambda path: os.path.join(path, 'log'), False),
    ('a directory without permissions', unreadable, None),
    ('a FIFO without a reader', made(os.mkfifo), False),
    ('a loop of links', loop, False),
    ('a device', lambda path: '/dev/full', False),
    ('the standard error', lambda path: '/dev/stderr', None),  # a pipe; nothing may appear there
    ('a name that is too long', lambda path: path + '/' + 'l' * 5000, False),
    ('bytes that are no text', lambda path: path + '\udcff\udcfe', True),
)


def log_lines(place):
    """The lines at PLACE, a file or a directory of files."""
    lines = []
    for path in [os.path.join(place, name) for name in os.listdir(place)] if os.path.isdir(place) else [place]:
        if os.path.isfile(path):
            with open(path) as text:
                lines += text.readlines()
    return lines


def add_log(name, make, written):
    @scenario('settings: RANKSHARE_LOG is ' + name)
    def run(room):
        place = make(os.path.join(room.folder, 'there'))
        refused(room, place)
        if written is not None and written != bool(log_lines(place)):
            raise Failed('lines: %s' % short(log_lines(place)))


for line in LOGS:
    add_log(*line)


@scenario('settings: a FIFO as the log, whose reader reads nothing')
def full_fifo(room):
    path = os.path.join(room.folder, 'fifo')
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        refused(room, path)
        if os.read(reader, 100):
            raise Failed('something was written')
    finally:
        os.close(reader)


@scenario("settings: a log's directory in which others laid a link")
def planted(room):
    """One log file per process, by a name that can be guessed: a link there is not followed."""
    directory = os.path.join(room.folder, 'logs')
    os.mkdir(directory)
    program = ('import os, sys\nos.symlink("../victim", "logs/rankshare.%d.log" % os.getpid())\n'
               'os.execv(sys.executable, [sys.executable, *sys.argv[1:]])')
    what = room.write('garbage', 'no entry')
    got = room.run([PYTHON, '-c', program, RANK, 'store', room.details, room.fx, what], 'active', RANKSHARE_LOG=directory)
    if got != (0, 'stored\n', ''):
        raise Failed(short(got))
    if os.path.exists(os.path.join(room.folder, 'victim')):
        raise Failed('the link was followed')


@scenario('settings: nonsense in every variable, a log that cannot be written')
def nonsense(room):
    room.is_view(room.rank('read', room.details, room.fx, RANKSHARE_WAIT='soon', RANKSHARE_SIZE='-5Q', RANKSHARE_DIR='\1' * 2000,
                           RANKSHARE_ROOTS=':' * 3000, RANKSHARE_LOG='/nowhere/at/all', RANKSHARE_VERIFY='maybe',
                           RANKSHARE_PTX='2', RANKSHARE_JOB='j' * 5000, RANK='many', WORLD_SIZE='-1', LOCAL_RANK=''))


# The default holds, or the value does what it can: a rank sees its view either way.
ODD = (
    ('RANKSHARE_WAIT', '-1', 'abc', '1e9', '9' * 400, '', ' 5', '0x10', '\udcff'),
    ('RANKSHARE_ROOTS', ':::', 'root', '.:..:/', '/nowhere:/dev/null', ':'.join('/r%d' % i for i in range(10000)), '/' + 'd' * 1022, '\udcff:/\udcfe'),
    ('RANKSHARE_REDIRECT', 'yes', '2', '-1', ''),
    ('RANKSHARE_JOB', 'j' * 95, 'j' * 96, 'j' * 10240, '\udcff\33[1m', 'a/b', '%s%n'),
)


def add_odd(variable, *values):
    @scenario('settings: odd values of ' + variable)
    def run(room):
        for value in values:
            room.is_view(room.rank('read', room.details, room.fx, **{variable: value}))


for line in ODD:
    add_odd(*line)


@scenario('settings: anything but 1 in RANKSHARE is off')
def off(room):
    plain = room.rank('read', room.details, room.fx, mode='plain')
    for value in ('yes', 'on', 'true', '01', ' 1', '1 ', '\udcff', '1' * 5000):
        got = room.rank('read', room.details, room.fx, RANKSHARE=value)
        if got != plain:
            raise Failed('%s: plain %s, preloaded %s' % (short(value), short(plain), short(got)))
    room.no_segment()
