# Everything starts here: `make run` and `make test` do all the set-up they need. See `make help`.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
# All peers of the benchmark; torch alone is a download of several GB.
PEERS ?= numpy torch mkl eigen onednn
export JOBS FULL

.DEFAULT_GOAL := help
.PHONY: help setup build run test bench bench-gpu bench-ladder bench-python bench-convert bench-in-place test-gpu profile-gpu bundle docs page format install release wheel packages fuzz clean

help:   ## shows this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

setup:
	@scripts/setup.sh build

build: setup  ## builds the library and the command line, in build/release
	@scripts/build.sh release cornerturn cornerturn_static cornerturn_tool cornerturn_pages

run:    ## does the main job on a photograph and on a 1 GiB matrix; the pictures are in out/
	@scripts/setup.sh run
	@scripts/run.sh

test:   ## runs the quick, complete check; FULL=1 adds the heavy parts
	@scripts/setup.sh $(if $(filter 1,$(FULL)),full,test)
	@scripts/test.sh

bench:  ## measures against memcpy and the PEERS (PEERS= for none), and makes the tables
	@scripts/setup.sh bench
	@$(if $(PEERS),bench/peers/setup.sh $(PEERS) || true)
	@bench/run.sh

bench-gpu: ## does the same on the GPU that is here, with the peers that Python has
	@scripts/setup.sh bench
	@bench/gpu/run.sh

test-gpu: ## tests engine, interface and ladder on the GPU that is here, also under compute-sanitizer (SKIP=1)
	@scripts/test_gpu.sh

bench-ladder: ## measures every rung of the ladder and every published claim on the GPU that is here, and fills in the pages
	@scripts/setup.sh build
	@scripts/measure_ladder.sh
	@scripts/build.sh release cornerturn_tool ledger_check
	@python3 scripts/kernel_pages.py
	@python3 scripts/guide.py

profile-gpu: ## compares predicted with profiled sectors and wavefronts of every rung (needs ncu)
	@scripts/profile_gpu.sh

bundle: setup ## makes a folder that tests, measures and profiles on a GPU elsewhere, build/bundle
	@scripts/bundle.sh

bench-python: ## measures the Python package on the CPU against NumPy, and PyTorch where .venv has it; PAGES=1 writes the tables
	@scripts/setup.sh test
	@scripts/python.sh > build/python.log
	@.venv/bin/python bench/python/small.py $(if $(PAGES),--page docs/python.md)
	@.venv/bin/python bench/python/recipes.py $(if $(PAGES),--page docs/python-cookbook.md)
	@.venv/bin/python bench/python/cpu.py $(if $(PAGES),--page docs/python.md) $(OPTIONS)

bench-convert: ## measures conversions of NumPy arrays against astype and a plain copy; OPTIONS="--json FILE"
	@scripts/setup.sh test
	@scripts/python.sh > build/python.log
	@.venv/bin/python bench/python/conversions.py $(OPTIONS)

bench-in-place: ## measures transpositions within the memory of the array beside MKL, FFTW, NumPy and a copy back; OPTIONS="--json FILE"
	@scripts/setup.sh test
	@scripts/python.sh > build/python.log
	@.venv/bin/python bench/python/in_place.py $(if $(PAGES),--page docs/results-cpu.md) $(OPTIONS)

docs:   ## builds the site of the documentation, with search, in build/docs/html/index.html
	@scripts/setup.sh docs
	@scripts/docs.sh

page:   ## builds the swizzle lab's page, build/release/page/lab.html, and the command line with the page inside
	@scripts/setup.sh page
	@scripts/build.sh release

format: ## formats the C++ and C sources in place
	@scripts/setup.sh format
	@git ls-files -z '*.cpp' '*.hpp' '*.c' '*.h' | xargs -0 clang-format -i

install: build  ## installs to PREFIX (default /usr/local); DESTDIR is respected
	@cmake --install build/release --prefix $(PREFIX)

release: ## makes source archive, Python package, wheel and checksums in dist/; PYTHON=..., CUDA=1
	@scripts/setup.sh release
	@scripts/release.sh

wheel:  ## makes a wheel that brings its libraries along, and the package as sources, in dist/; PYTHON=..., CUDA=1
	@scripts/setup.sh release
	@scripts/release.sh wheel

packages: ## makes the packages for Conan and Debian in build/packages/, and tests them
	@scripts/setup.sh packages
	@packaging/check.sh

fuzz:   ## runs each fuzz target for FUZZ_SECONDS (default 600)
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh $(FUZZ_SECONDS)

clean:  ## removes build/, dist/ and out/
	rm -rf build dist out
