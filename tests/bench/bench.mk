# SPDX-License-Identifier: Apache-2.0
# What the library costs and saves, measured side by side in one run; included by the top Makefile.

bench: all $(BUILD)/bench/calls.so
	$(Q)BUILD=$(BUILD) tests/bench/bench.py

# No fortification: it would call __open_2 in the place of open.
$(BUILD)/bench/calls.so: tests/bench/calls.c
	$(call SAY,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE -U_FORTIFY_SOURCE -fPIC -shared -o $@ $<

# Jobs of 1 to 16 ranks, plain and under the library; options in BENCH_JOB_FLAGS (tests/bench/jobs/job.py --help).
bench-job: $(LIBRARY) $(PROGRAM)
	$(Q)$(PYTHON3) tests/bench/jobs/job.py --library $(LIBRARY) --tool $(PROGRAM) --json $(BUILD)/bench-job.json $(BENCH_JOB_FLAGS)

.PHONY: bench-job
