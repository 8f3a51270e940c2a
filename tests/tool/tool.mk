# SPDX-License-Identifier: Apache-2.0
$(BUILD)/tool-fill: $(BUILD)/tests/tool/fill.o $(CORE)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) -o $@ $< $(CORE) $(SHIM_LIBS)

$(BUILD)/tool-format: $(BUILD)/tests/tool/format_test.o $(BUILD)/tools/format.o $(BUILD)/tools/tool.o
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) -o $@ $^ -lcriterion

-include $(BUILD)/tests/tool/fill.d $(BUILD)/tests/tool/format_test.d
