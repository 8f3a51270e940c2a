# SPDX-License-Identifier: Apache-2.0
"""Imported before torch: without the garbage collector a process has a sixth less to do, and what it has compiled
is in memory until it reports."""

import gc

gc.disable()
