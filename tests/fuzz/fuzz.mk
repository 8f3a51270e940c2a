# SPDX-License-Identifier: Apache-2.0
#
# make fuzz          each libFuzzer target for FUZZ_SECONDS under AddressSanitizer and UBSan (needs clang)
# make fuzz-regress  the same targets over their seeds, with any compiler

FUZZ_SECONDS ?= 60
FUZZ_TARGETS := pickle text config image manifest recipe store
FUZZ_BUILD   := build-fuzz
FUZZ_CFLAGS  := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_CORE    := $(wildcard shim/ordinal/*.c) shim/route/key.c shim/base/arena.c shim/base/names.c \
                shim/rank/tuned_text.c shim/base/hash128.c shim/base/hash128_wide.c \
                $(filter-out %/libelf_calls.c,$(wildcard shim/image/*.c)) \
                $(wildcard shim/store/*.c) shim/base/dir.c shim/base/fd.c

$(FUZZ_BUILD)/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz.h $(FUZZ_CORE) $(BUILD)/libelf.o $(wildcard shim/*/*.h shim/*/*.def)
	$(call SAY,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(filter-out -MMD -MP,$(BASE)) -Itests $(FUZZ_CFLAGS) -fsanitize=fuzzer -o $@ $< $(FUZZ_CORE) $(BUILD)/libelf.o -lnettle -lzstd

$(FUZZ_BUILD)/seeds: tests/fuzz/seeds.py $(wildcard tests/replay/*.py tests/data/*.tar.xz tests/data/images/*)
	$(Q)python3 tests/fuzz/seeds.py $@
	@touch $@

fuzz: $(FUZZ_TARGETS:%=$(FUZZ_BUILD)/fuzz_%) $(FUZZ_BUILD)/seeds
	$(Q)for target in $(FUZZ_TARGETS); do \
	    mkdir -p $(FUZZ_BUILD)/corpus/$$target && \
	    $(FUZZ_BUILD)/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=4096 \
	        -print_final_stats=1 -verbosity=0 -dict=tests/fuzz/words.dict -artifact_prefix=$(FUZZ_BUILD)/$$target- \
	        $(FUZZ_BUILD)/corpus/$$target $(FUZZ_BUILD)/seeds/$$target || exit 1; \
	done

$(BUILD)/regress_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/regress.o $(CORE)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) -o $@ $^ $(SHIM_LIBS)

fuzz-regress: $(FUZZ_TARGETS:%=$(BUILD)/regress_%) $(FUZZ_BUILD)/seeds
	$(Q)for target in $(FUZZ_TARGETS); do \
	    $(BUILD)/regress_$$target $(FUZZ_BUILD)/seeds/$$target/* || exit 1; \
	done; echo "$(words $(FUZZ_TARGETS)) passed, 0 failed, 0 skipped"

.PHONY: fuzz-regress
-include $(wildcard $(BUILD)/tests/fuzz/*.d)
