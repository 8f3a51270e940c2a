# SPDX-License-Identifier: Apache-2.0
"""The table itself, against the toolkit where there is one."""
import os
import re
import subprocess

from room import CC, FLAGS, HERE, Failed, Skipped, case, run, table


def toolkit():
    for folder in (os.environ.get('CUDA_HOME'), os.environ.get('CUDA_PATH'), '/usr/local/cuda'):
        if folder and os.path.exists(os.path.join(folder, 'include', 'cuda.h')):
            return folder
    raise Skipped('no CUDA toolkit here')


@case('each type is that of cuda.h')
def types(room):
    include = os.path.join(toolkit(), 'include')
    run(CC + FLAGS + ['-isystem', include, '-fsyntax-only', os.path.join(HERE, 'headers.c')])
    # The check can fail: a row with one argument too few.
    wrong = os.path.join(room.folder, 'wrong.c')
    with open(os.path.join(HERE, 'headers.c')) as text, open(wrong, 'w') as out:
        out.write(text.read().replace('#include "hook/cuda_api.def"',
                                      'RS_CUDA(cuModuleUnload, "", 0, unload, (void), (), NULL, NULL, NULL)'))
    done = subprocess.run(CC + FLAGS + ['-isystem', include, '-fsyntax-only', wrong], stderr=subprocess.DEVNULL)
    if done.returncode == 0:
        raise Failed('a wrong row was not noticed')


@case('each version is that of cudaTypedefs.h')
def since(room):
    with open(os.path.join(toolkit(), 'include', 'cudaTypedefs.h')) as text:
        known = set(re.findall(r'\*PFN_(cu\w+)_v(\d+)(?:_ptsz|_ptds)?\)', text.read()))
    wrong = [row['name'] for row in table() if (row['base'], row['since']) not in known]
    if wrong:
        raise Failed('other versions: ' + ', '.join(wrong))


@case('each function and each variant for per-thread streams is exported, and listed')
def variants(room):
    stub = os.path.join(toolkit(), 'lib64', 'stubs', 'libcuda.so')
    if not os.path.exists(stub):
        raise Skipped('the toolkit has no stub of libcuda')
    names = {line.split()[-1] for line in run(['nm', '-D', '--defined-only', stub]).splitlines()}
    wrong = [row['name'] for row in table() if row['name'] not in names]
    listed = {row['name'] for row in table()}
    wrong += [name for one in listed for name in (one + '_ptsz', one + '_ptds') if name in names - listed]
    # A version that came later than the ones we know.
    for base in {row['base'] for row in table()}:
        listed = {row['name'] for row in table() if row['base'] == base}
        wrong += [name for name in names if re.fullmatch(base + r'(_v\d+)?', name) and name not in listed]
    if wrong:
        raise Failed(', '.join(sorted(set(wrong))))
