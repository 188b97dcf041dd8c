# brim: short names for what Meson and Ninja do. `make help` lists them.
BUILD ?= build
PREFIX ?= /usr/local
# Debian's Meson, also where another python3 comes first in PATH.
MESON ?= $(or $(wildcard /usr/bin/meson),meson)

.PHONY: all quickstart test test-long test-data test-mpi test-wide test-cuda test-everything format test-python test-wheel wheel sanitize bench bench-plan install uninstall deps clean help

all: $(BUILD)/build.ninja ## build/brim, and nothing that it does not need
	@ninja -C $(BUILD) brim

$(BUILD)/build.ninja:
	@tools/deps --check
	$(MESON) setup $(BUILD) --buildtype=release --prefix=$(PREFIX)

quickstart: ## install what is missing, build, and fine-tune a model on real reviews
	@tools/deps --check --quiet || tools/deps
	@$(MAKE) --no-print-directory all
	@BRIM=$(BUILD)/brim ./quickstart.sh

test: all ## every test but the long ones, with the best instructions that this processor has
	$(MESON) test -C $(BUILD) --print-errorlogs --no-suite long --no-suite cuda
	@python3 tools/count_tests.py --slowest 8 $(BUILD)

test-long: all ## the tests that `make test` leaves out, because they take long
	$(MESON) test -C $(BUILD) --print-errorlogs --suite long --logbase long
	@python3 tools/count_tests.py $(BUILD)/meson-logs/long.json

test-everything: all ## all there is, for a night: all instructions and threads, sanitizers unthinned, MPI, torch, mutants, faults put in, fuzzing
	@BUILD=$(BUILD) MESON=$(MESON) tools/test_everything

test-data: all ## published figures, of data that may not be in the repository: make test-data DATA=DIR (docs/developers/tests.md)
	@BUILD=$(BUILD) tools/test_data "$(DATA)"

test-cuda: ## the kernels for GPUs, without a GPU: compiled, and run on the processor (docs/developers/cuda.md)
	@BUILD=$(BUILD) MESON=$(MESON) tools/test_cuda

WIDE := ops_attention ops_bf16 ops_bf16_layers ops_int8 ops_linear ops_loss ops_pooling ops_relative ops_rows ops_slices ops_split ops_stream \
  ops_update ops_window model_bf16 train_slices
test-wide: ## the kernels for AVX-512 and AMX on a processor that has AVX2 alone, in C (tools/deps --wide); ARGS="ops_slices" names some tests
	@[ -e build-wide/build.ninja ] || $(MESON) setup build-wide -Dwide_in_c=true >/dev/null
	BRIM_TEST_LEVELS=all $(MESON) test -C build-wide --print-errorlogs --timeout-multiplier 20 $(or $(ARGS),$(WIDE))
	@python3 tools/count_tests.py build-wide

test-mpi: all ## the tests of several processes with every MPI that is installed (tools/deps --mpi has two)
	@python3 tests/cli/ranks.py $(BUILD)/brim mpirun.openmpi mpirun.mpich $(ARGS)

sanitize: ## the tests under address, undefined-behaviour and thread sanitizers
	@MESON=$(MESON) tools/ci address threads

bench: bench-train bench-tokenizers bench-data bench-plan ## the benchmarks; each makes its own environment for the peers

bench-plan: all
	@ninja -C $(BUILD) benches
	$(BUILD)/bench/bench_plan $(addprefix --data ,$(DATA))

bench-%: all ## one of them: bench-train, bench-methods, bench-results, ...; runs bench/bench_NAME.py with ARGS="--rounds 3"; DATA=DIR
	@ninja -C $(BUILD) benches
	@BRIM=$(BUILD)/brim tools/bench bench/bench_$*.py $(if $(filter train train_embed few_samples results tokenizers data,$*),$(addprefix --data ,$(DATA))) $(ARGS)

test-python: all ## the Python package of the build folder, and its tests (ARGS=--torch, ARGS=--sanitize, ARGS=--installed: as pip builds it)
	@./quickstart.sh data >/dev/null || echo "no reviews: tests that need real text skip" >&2
	@BUILD=$(BUILD) MESON=$(MESON) tools/test_python $(ARGS)

wheel: ## the Python package as a wheel for any Linux of this kind, in dist/
	@tools/wheel

test-wheel: ## the wheel on every CPython from 3.11 on that this machine has
	@tools/test_wheel

format: ## format the C files as tests/check expects them
	@tools/format --install

install: all ## program, library, headers, manual pages
	@ninja -C $(BUILD)
	$(MESON) install -C $(BUILD)

uninstall: ## remove what `make install` installed
	ninja -C $(BUILD) uninstall
	@find $(PREFIX)/include/brim -type d -empty -delete 2>/dev/null || true

deps: ## install the packages that building and testing need
	@tools/deps

clean: ## remove what was built
	rm -rf $(BUILD) build-asan build-asan-all build-tsan build-wide build-fuzz build-faults build-nvrtc dist

help:
	@sed -n 's/^\([a-z%-]*\):.*## /\1: /p' Makefile | awk -F': ' '{ printf "  make %-12s %s\n", $$1, $$2 }'
