# SPDX-License-Identifier: Apache-2.0
"""Nonsense in the library's environment variables."""
from room import scenario


@scenario('settings: nonsense in every variable, a log that cannot be written')
def nonsense(room):
    room.is_view(room.rank('read', room.details, room.fx, RANKSHARE_WAIT='soon', RANKSHARE_SIZE='-5Q', RANKSHARE_DIR='\1' * 2000,
                           RANKSHARE_ROOTS=':' * 3000, RANKSHARE_LOG='/nowhere/at/all', RANKSHARE_VERIFY='maybe',
                           RANKSHARE_PTX='2', RANKSHARE_JOB='j' * 5000, RANK='many', WORLD_SIZE='-1', LOCAL_RANK=''))
