# SPDX-License-Identifier: Apache-2.0
#
# make replay     the recordings through the engine, judged by Python's pickletools and by its pickler

ENGINE_CLI := $(BUILD)/engine_cli

$(ENGINE_CLI): $(BUILD)/tests/replay/engine_cli.o $(CORE)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) -o $@ $^ $(SHIM_LIBS)

replay: $(ENGINE_CLI)
	$(Q)python3 tests/replay/replay.py $(ENGINE_CLI)

sanitized: replay

.PHONY: replay
-include $(BUILD)/tests/replay/engine_cli.d
