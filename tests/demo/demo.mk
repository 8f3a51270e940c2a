# SPDX-License-Identifier: Apache-2.0
demo: all
	$(Q)python3 tests/demo/demo.py --build $(BUILD)
