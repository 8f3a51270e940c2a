# SPDX-License-Identifier: Apache-2.0
# Real PyTorch jobs on pretended GPUs; included by the top Makefile. See docs/testing-torch.md.
# Before it is included nothing need be set; BUILD is the build directory, PYTHON3 runs the harness.

BUILD ?= build
PYTHON3 ?= python3
TORCH_VERSION ?= 2.15.0
TORCH_JOBS_FLAGS ?=
TORCH_JOBS = $(PYTHON3) tests/jobs/run.py $(TORCH_JOBS_FLAGS)
TORCH_JOBS_SHARED = --library $(BUILD)/librankshare.so --tool $(BUILD)/rankshare

# Versions for test-matrix; none: all. MATRIX_KEEP=0 removes the environments that it made.
VERSIONS ?=
MATRIX_KEEP ?= 1

.PHONY: torch-env test-torch test-torch-all test-torch-quick test-torch-plain test-matrix

torch-env:
	ci/torch-env $(TORCH_VERSION)

test-torch: $(BUILD)/librankshare.so $(BUILD)/rankshare $(BUILD)/test/librankshare.so
	$(TORCH_JOBS) --set full $(TORCH_JOBS_SHARED)

# These, odd settings, Triton alone, and jobs with something wrong.
test-torch-all: $(BUILD)/librankshare.so $(BUILD)/rankshare $(BUILD)/test/librankshare.so
	$(TORCH_JOBS) --set all $(TORCH_JOBS_SHARED)

test-torch-quick: $(BUILD)/librankshare.so $(BUILD)/rankshare
	$(TORCH_JOBS) --set quick $(TORCH_JOBS_SHARED)

# Without the library: checks the harness, the pretended GPUs and the plain half of the table.
test-torch-plain:
	$(TORCH_JOBS) --set all

test-matrix: $(BUILD)/librankshare.so $(BUILD)/rankshare
	$(PYTHON3) tests/jobs/matrix.py $(if $(filter 0,$(MATRIX_KEEP)),--remove) $(VERSIONS) -- $(TORCH_JOBS_FLAGS) $(TORCH_JOBS_SHARED)
