/* SPDX-License-Identifier: Apache-2.0 */
#include "base/state.h"

_Atomic(int) rs_phase = RS_EARLY;
struct rs_config rs_config;
