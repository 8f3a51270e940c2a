# SPDX-License-Identifier: Apache-2.0
# Real GPUs: any PyTorch of the python3 in PATH (PYTHON3 names another), one GPU or more. docs/testing-gpu.md.
.PHONY: test-gpu test-gpu-loads test-gpu-apps test-gpu-ptx check-gpu

test-gpu: $(LIBRARY) $(PROGRAM)
	$(Q)$(PYTHON3) tests/gpu/run.py --library $(LIBRARY) --tool $(PROGRAM) $(GPU_FLAGS)

# The driver hooks alone: needs no PyTorch, and takes seconds.
test-gpu-loads: $(LIBRARY) $(PROGRAM)
	$(Q)tests/gpu/loads.py --library $(LIBRARY) --tool $(PROGRAM)

# What other programs load: CuPy, JAX, Triton, PyTorch and its profiler, debuggers; code for every class; what a load costs.
test-gpu-apps: $(LIBRARY) $(PROGRAM)
	$(Q)$(PYTHON3) tests/gpu/apps.py --library $(LIBRARY) --tool $(PROGRAM)

# RANKSHARE_PTX=1: answers and results, and what it gains against the driver's own cache. Minutes.
test-gpu-ptx: $(LIBRARY) $(PROGRAM)
	$(Q)$(PYTHON3) tests/gpu/ptx.py --library $(LIBRARY) --tool $(PROGRAM)

# The harness of these jobs, which needs none.
check-gpu:
	$(Q)$(PYTHON3) tests/gpu/check.py
