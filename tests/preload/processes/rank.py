# SPDX-License-Identifier: Apache-2.0
"""One process under the library: python3 rank.py KIND [ARGUMENT ...] plays KIND's part (kinds.py).

Environment: TOLD, BOOKS. Its statuses are for its own parents; what went wrong is in the books.
"""
import os
import sys
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kinds  # noqa: E402
import walk  # noqa: E402


def main():
    try:
        kinds.load()
        kinds.PARTS[sys.argv[1]](*sys.argv[2:])
    except Exception:
        walk.write({'error': traceback.format_exc()})
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
