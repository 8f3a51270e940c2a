# SPDX-License-Identifier: Apache-2.0
# A library whose waiters lose patience after seconds, for the tests of silent and stalled producers.

IMPATIENT := $(BUILD)/test/librankshare.so

$(BUILD)/test/wait.o: shim/rank/wait.c
	$(call SAY,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SHIM) -DRS_SILENT_S=3 -DRS_MEASURED_S=2 -DRS_STALL_S=2 -c -o $@ $<

$(IMPATIENT): $(BUILD)/test/wait.o $(HOOK_OBJ) $(CORE) $(BUILD)/rankshare.map
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(SHIM_LINK) -Wl,--version-script=$(BUILD)/rankshare.map $(LDFLAGS) \
	    -o $@ $(HOOK_OBJ) $< $(CORE) $(SHIM_LIBS)

-include $(BUILD)/test/wait.d
