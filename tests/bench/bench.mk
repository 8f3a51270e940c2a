# SPDX-License-Identifier: Apache-2.0
# What the library costs and saves, measured side by side in one run; included by the top Makefile.

bench: all $(BUILD)/bench/calls.so $(BUILD)/bench/loads $(BUILD)/bench/libcuda.so.1 $(BUILD)/bench/images \
       $(BUILD)/bench/store
	$(Q)BUILD=$(BUILD) tests/bench/bench.py

# No fortification: it would call __open_2 in the place of open.
$(BUILD)/bench/calls.so: tests/bench/calls.c
	$(call SAY,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -U_FORTIFY_SOURCE -fPIC -shared -o $@ $<

$(BUILD)/bench/loads: tests/bench/loads.c
	$(call SAY,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -Itests -o $@ $< -ldl

# A driver that does nothing (tests/preload/cuda).
$(BUILD)/bench/libcuda.so.1: tests/preload/cuda/driver.c tests/preload/cuda/fake.h shim/hook/cuda_api.def
	$(call SAY,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -Ishim -DFAKE_VERSION=13000 -fPIC -shared \
	    -Wl,-Bsymbolic-functions -Wl,-soname,libcuda.so.1 -o $@ $< -ldl

$(BUILD)/bench/images $(BUILD)/bench/store: $(BUILD)/bench/%: $(BUILD)/tests/bench/%.o $(CORE)
	$(call SAY,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) -o $@ $< $(CORE) $(SHIM_LIBS)

# Jobs of 1 to 16 ranks, plain and under the library; options in BENCH_JOB_FLAGS (tests/bench/jobs/job.py --help).
bench-job: $(LIBRARY) $(PROGRAM)
	$(Q)$(PYTHON3) tests/bench/jobs/job.py --library $(LIBRARY) --tool $(PROGRAM) --json $(BUILD)/bench-job.json $(BENCH_JOB_FLAGS)

.PHONY: bench-job
-include $(BUILD)/tests/bench/store.d
