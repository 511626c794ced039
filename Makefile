# `make` sets up what is missing, builds, and repeats a paper; `make test` checks everything; `make bench` measures speed.
# Each is quick the second time: the stamps in build/ say what is done.

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMPS  := build/stamps
# Where the Rust installer puts its programs, before the next login knows.
export PATH := $(PATH):$(HOME)/.cargo/bin

RUST    := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
C_FILES := $(shell find algorithms -name '*.[ch]')

.PHONY: demo test bench docs figures format build check-rust check-python check-c clean
.DELETE_ON_ERROR:

demo: build
	$(BIN)/unbloat reproduce cubic-plus

build: $(STAMPS)/package

test: check-rust check-python check-c

bench: build
	benches/run

# ---------------------------------------------------------------- Setting up

$(STAMPS)/debian: tools/setup-debian
	tools/setup-debian
	@mkdir -p $(@D) && touch $@

$(STAMPS)/venv: pyproject.toml | $(STAMPS)/debian
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check 'maturin>=1.7,<2'
	@mkdir -p $(@D) && touch $@

$(STAMPS)/package: $(STAMPS)/venv $(RUST)
	$(BIN)/maturin develop --release --quiet --extras test >/dev/null
	@mkdir -p $(@D) && touch $@

# ---------------------------------------------------------------- Checking

check-rust: $(STAMPS)/debian
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo test --workspace --quiet

check-python: build
	$(BIN)/ruff format --check --quiet python tests
	$(BIN)/ruff check --quiet python tests
	$(BIN)/mypy
	$(BIN)/pytest --quiet

check-c: build
	$(BIN)/clang-format --dry-run --Werror $(C_FILES)

# ---------------------------------------------------------------- Keeping in shape

# The tables in docs/ that the program knows best.
docs: build
	$(BIN)/python tools/scenario-keys > docs/scenario-keys.md

format: build
	cargo fmt --all
	$(BIN)/ruff format python tests
	$(BIN)/ruff check --fix python tests
	$(BIN)/clang-format -i $(C_FILES)

clean:
	rm -rf build target $(VENV)
