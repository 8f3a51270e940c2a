# SPDX-License-Identifier: Apache-2.0
"""The table of cases: which hook, what about it, and how to see it."""
import importlib
import os

ALL = {}
MODULES = sorted(name[:-3] for name in os.listdir(os.path.dirname(os.path.abspath(__file__)))
                 if name.startswith('cases_') and name.endswith('.py'))
SLEEPERS = ('cases_apart', 'cases_silent', 'cases_space', 'cases_stall', 'cases_tuning', 'cases_wait')  # they wait for deadlines, without any work


class Case:
    def __init__(self, hooks, title, function, environment, prepare, hashed, ordinal, sleeps):
        self.hooks, self.title, self.function = hooks, title, function
        self.environment, self.prepare, self.hashed, self.ordinal = environment, prepare, hashed, ordinal
        self.sleeps = sleeps
        self.name = '%s: %s' % (' '.join(hooks) or 'edge', title)


def case(hooks, title, environment=None, prepare=None, hashed=('aot', 'fx'), ordinal=11, **fixed):
    """Adds a case. HOOKS: names it calls. ENVIRONMENT: variables on top ({root} is filled in, None
    takes one away). PREPARE: run on the root beforehand, without the library. HASHED: details that the
    rank hashes first. FIXED: further arguments of the function."""
    def add(function):
        names = tuple(hooks.split())
        one = Case(names, title, lambda rank: function(rank, **fixed), environment or {}, prepare, hashed, ordinal,
                   function.__module__ in SLEEPERS)
        if one.name in ALL:
            raise RuntimeError('two cases named ' + one.name)
        ALL[one.name] = one
        return function
    return add


def load():
    for module in MODULES:
        importlib.import_module(module)
    return ALL
