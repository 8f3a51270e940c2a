# SPDX-License-Identifier: Apache-2.0
#
# make            build/librankshare.so and build/rankshare
# make demo       one producer, many loaders, on recorded artifacts (no GPU needed)
# make test       the tests that need no GPU (make test-long: all of them)
# make help       the other targets
#
# CC, CFLAGS, CPPFLAGS, LDFLAGS, PREFIX, LIBDIR, BINDIR, MANDIR and DESTDIR are honoured. V=1 shows commands.

CC      ?= cc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
BINDIR  ?= $(PREFIX)/bin
MANDIR  ?= $(PREFIX)/share/man
BUILD   ?= build
CLANG   ?= clang
OBJCOPY ?= objcopy
V       ?= 0
Q       := $(if $(filter 0,$(V)),@)
SAY      = $(if $(filter 0,$(V)),@printf '  %-7s %s\n' $(1) $(2),@true)

VERSION := $(shell sed -n 's/.*define RANKSHARE_VERSION "\(.*\)".*/\1/p' include/rankshare/version.h)

WARN    := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
# SAN and EXTRA are set by the sanitizer targets. _FORTIFY_SOURCE would turn a hook's call of open()
# into __open_2(), another of our hooks.
BASE    := -std=gnu11 $(WARN) -Iinclude -Ishim -MMD -MP -D_GNU_SOURCE -fno-strict-aliasing $(SAN) $(EXTRA)
SHIM    := $(BASE) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-semantic-interposition \
           -U_FORTIFY_SOURCE
TOOL    := $(BASE) -DRS_LIBDIR='"$(LIBDIR)"'
# That place is built into the program, so `make install` with another LIBDIR makes the object anew.
$(shell mkdir -p $(BUILD); echo '$(LIBDIR)' | cmp -s - $(BUILD)/libdir || echo '$(LIBDIR)' >$(BUILD)/libdir)

# Static archives that end up hidden inside the library.
STATIC  = $(shell $(CC) -print-file-name=$(1))
SHIM_LIBS := $(call STATIC,libnettle.a) $(call STATIC,libzstd.a)

CORE_SRC := $(filter-out shim/hook/%,$(wildcard shim/*/*.c))
HOOK_SRC := $(wildcard shim/hook/*.c) $(wildcard shim/hook/*.S)
TOOL_SRC := $(wildcard tools/*.c)
UNIT_SRC := $(wildcard tests/unit/*.c)
CORE_OBJ := $(CORE_SRC:%.c=$(BUILD)/%.o)
HOOK_OBJ := $(patsubst %,$(BUILD)/%.o,$(basename $(HOOK_SRC)))
TOOL_OBJ := $(TOOL_SRC:%.c=$(BUILD)/%.o)
UNIT_OBJ := $(UNIT_SRC:%.c=$(BUILD)/%.o)

LIBRARY := $(BUILD)/librankshare.so
PROGRAM := $(BUILD)/rankshare
CORE    := $(BUILD)/libcore.a
UNIT    := $(BUILD)/unit

all: $(LIBRARY) $(PROGRAM)

$(BUILD)/shim/%.o: shim/%.c
	$(call SAY,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SHIM) -c -o $@ $<

$(BUILD)/shim/%.o: shim/%.S
	$(call SAY,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SHIM) -c -o $@ $<

$(BUILD)/tools/%.o: tools/%.c
	$(call SAY,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(TOOL) -c -o $@ $<

$(BUILD)/tests/%.o: tests/%.c
	$(call SAY,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(BASE) -Itests -c -o $@ $<

# Called only where the processor has it.
ifeq ($(shell $(CC) -dumpmachine | cut -d- -f1),x86_64)
$(BUILD)/shim/base/hash128_wide.o: SHIM += -mavx2
endif

# What we use of libelf. Its calls of libc's memory and file functions become calls of ours: libelf_calls.def is the list.
# The object that defines its error number comes first, so that libelf's own is not drawn in.
ELF_USED := elf_version elf_memory elf_getscn elf_nextscn elf_ndxscn elf_rawdata elf_getshdrnum elf_getshdrstrndx \
            elf_getphdrnum elf64_getehdr elf64_getshdr elf64_getphdr
$(BUILD)/libelf.o: $(BUILD)/shim/image/libelf_calls.o shim/image/libelf_calls.def
	$(call SAY,LINK,$@)
	$(Q)sed -n 's/^RS_LIBELF_[A-Z]*(\(.*\))$$/\1 rs_libelf_\1/p' shim/image/libelf_calls.def >$@.names
	$(Q)$(LD) -r $(ELF_USED:%=-u %) -o $@.tmp $< $(call STATIC,libelf.a)
	$(Q)$(OBJCOPY) --redefine-syms=$@.names $@.tmp $@ && rm -f $@.tmp $@.names

$(CORE): $(filter-out %/libelf_calls.o,$(CORE_OBJ)) $(BUILD)/libelf.o
	$(call SAY,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# The exported names are exactly the hooks: the two lists are all, the map comes from them. The version
# node is anonymous, so that our names serve callers that ask for any glibc version of them.
$(BUILD)/rankshare.map: shim/hook/hooks.def shim/hook/cuda_api.def
	$(call SAY,MAP,$@)
	@mkdir -p $(@D)
	$(Q){ echo '{ global:'; sed -n 's/^RS_\(HOOK\|CUDA\)(\([a-z0-9_A-Z]*\).*/  \2;/p' $^; echo '  local: *; };'; } > $@.tmp && mv $@.tmp $@

SHIM_LINK := -shared -Wl,-soname,librankshare.so -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,-z,initfirst \
             -Wl,-z,nodelete -Wl,-Bsymbolic-functions -Wl,--exclude-libs,ALL -Wl,--as-needed \
             -Wl,--wrap=getenv -Wl,--wrap=secure_getenv -Wl,--wrap=__fprintf_chk

$(LIBRARY): $(HOOK_OBJ) $(CORE) $(BUILD)/rankshare.map
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(SHIM_LINK) -Wl,--version-script=$(BUILD)/rankshare.map $(LDFLAGS) \
	    -o $@ $(HOOK_OBJ) $(CORE) $(SHIM_LIBS)

$(BUILD)/tools/library.o: $(BUILD)/libdir

$(PROGRAM): $(TOOL_OBJ) $(CORE)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) -o $@ $(TOOL_OBJ) $(CORE) $(SHIM_LIBS) \
	    $(call STATIC,libjansson.a) $(call STATIC,liblz4.a)

$(UNIT): $(UNIT_OBJ) $(CORE)
	$(call SAY,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) -o $@ $(UNIT_OBJ) $(CORE) $(SHIM_LIBS) -lcriterion -lpthread

-include $(wildcard tests/*/*.mk)

# ---- tests -------------------------------------------------------------------------------------

test: all
	$(Q)BUILD=$(BUILD) CC="$(CC)" ci/test quick
test-long: all
	$(Q)BUILD=$(BUILD) CC="$(CC)" ci/test long
unit: $(UNIT)
	$(Q)$(UNIT)

# The core under sanitizers: unit and replay tests, each in a build directory of its own.
asan:
	$(Q)$(MAKE) BUILD=build-asan SAN=-fsanitize=address CFLAGS="-O1 -g -fno-omit-frame-pointer" sanitized
ubsan:
	$(Q)$(MAKE) BUILD=build-ubsan SAN="-fsanitize=undefined -fno-sanitize-recover=all" CFLAGS="-O1 -g" sanitized
# Criterion does not start under ThreadSanitizer: a program of many threads instead.
tsan:
	$(Q)BUILD=build-tsan CC="$(CC)" tests/threads/run long
sanitized-unit: $(UNIT)
	$(Q)$(UNIT) --jobs 1
sanitized: sanitized-unit

# ---- installing ----------------------------------------------------------------------------------

install: all
	install -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1
	install -m 755 $(LIBRARY) $(DESTDIR)$(LIBDIR)/librankshare.so
	install -m 755 $(PROGRAM) $(DESTDIR)$(BINDIR)/rankshare
	install -m 644 docs/rankshare.1 $(DESTDIR)$(MANDIR)/man1/rankshare.1
uninstall:
	rm -f $(DESTDIR)$(LIBDIR)/librankshare.so $(DESTDIR)$(BINDIR)/rankshare $(DESTDIR)$(MANDIR)/man1/rankshare.1

# ---- style ---------------------------------------------------------------------------------------

C_FILES := $(shell git ls-files '*.[ch]' 2>/dev/null)
lint:
	$(Q)clang-format --dry-run --Werror $(C_FILES)
	$(Q)ci/lint
	$(Q)$(MAKE) BUILD=build-clang CC=$(CLANG) all
format:
	$(Q)clang-format -i $(C_FILES)

clean:
	rm -rf build build-asan build-ubsan build-tsan build-clang build-fuzz

help:
	@sed -n 's/^# make/make/p' Makefile
	@echo 'targets: all demo test test-long test-torch test-torch-all test-torch-quick test-matrix torch-env test-gpu test-gpu-loads test-gpu-apps test-gpu-ptx unit'
	@echo '         asan ubsan tsan fuzz bench bench-job lint format install uninstall clean'

.PHONY: all test test-long unit asan ubsan tsan sanitized sanitized-unit install uninstall lint format clean help \
        demo fuzz bench test-torch test-torch-all test-torch-quick torch-env test-gpu
-include $(CORE_OBJ:.o=.d) $(HOOK_OBJ:.o=.d) $(TOOL_OBJ:.o=.d) $(UNIT_OBJ:.o=.d)
