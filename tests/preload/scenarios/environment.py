# SPDX-License-Identifier: Apache-2.0
"""Ranks where the machine withholds something: other users, no /proc, no shared memory, no memfd, full disks."""
import os

from room import Failed, need_root, scenario, short


def segment_of(room, uid):
    return room.segment_path().replace('rankshare.%d.' % os.geteuid(), 'rankshare.%d.' % uid)


@scenario('users: who drops its rights leaves the segment of its old user')
def users(room):
    need_root()
    room.open_to_others()
    mine, theirs = room.segment_path(), segment_of(room, 65534)
    status, output, error = room.rank('users', '65534', mine, room.details, room.told['details']['12']['fx'], room.fx)
    lines = output.splitlines()
    raw = room.view(0).split(' ', 1)[1]
    if status or error or len(lines) != 3:
        raise Failed(short((status, output, error)))
    if raw in output or not lines[0].endswith(' child True') or ' unchanged True' not in lines[2] or lines[1] != room.view():
        raise Failed(short(output))
    if not os.path.exists(theirs) or os.stat(theirs).st_uid != 65534:
        raise Failed('the child made no segment of its own')
