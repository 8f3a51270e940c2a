# SPDX-License-Identifier: Apache-2.0
# A slow file system; needs libfuse 3.

$(BUILD)/test/slowfs: tests/slow/slowfs.c
	$(call SAY,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -std=gnu11 $(WARN) -D_GNU_SOURCE $(shell pkg-config --cflags fuse3) -o $@ $< \
	    $(LDFLAGS) $(shell pkg-config --libs fuse3)
