# Everything starts here: `make run` and `make test` do all the set-up they need. See `make help`.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
export JOBS FULL

.DEFAULT_GOAL := help
.PHONY: help setup build run test bench docs format install fuzz clean

help:   ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

setup:
	@scripts/setup.sh build

build: setup  ## the library and the command line, in build/release
	@scripts/build.sh release

run:    ## the main job on a photograph and on a 1 GiB matrix; pictures in out/
	@scripts/setup.sh run
	@scripts/run.sh

test:   ## the quick, complete check; FULL=1 adds the heavy parts
	@scripts/setup.sh $(if $(filter 1,$(FULL)),full,test)
	@scripts/test.sh

bench:  ## measures the suites against memcpy and the peers; makes the README's table and plot
	@scripts/setup.sh bench
	@scripts/bench.sh

docs:   ## the reference of the C++ and C interfaces, in build/docs/html
	@scripts/setup.sh docs
	@scripts/docs.sh

format: ## formats the C++ and C sources in place
	@scripts/setup.sh format
	@git ls-files -z '*.cpp' '*.hpp' '*.c' '*.h' | xargs -0 clang-format -i

install: build  ## installs to PREFIX (default /usr/local); DESTDIR is respected
	@cmake --install build/release --prefix $(PREFIX)

fuzz:   ## each fuzz target for FUZZ_SECONDS (default 600)
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh $(FUZZ_SECONDS)

clean:  ## removes build/ and out/
	rm -rf build out
