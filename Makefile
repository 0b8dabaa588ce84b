# The only commands anyone has to know. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup run test verify verify-arm64 fmt lint build deploy destroy smoke redrive watch invoke seed receipt clean redis chromium rust running watched check-template check-api check-page bench simulate cost

VENV := .venv
TOOLS := $(VENV)/.tools
# Tools from PyPI, in versions that are known to work together. cargo-lambda links with ziglang, whichever version it finds.
PYTHON_TOOLS := cargo-lambda==1.9.2 ziglang==0.17.0 aws-sam-cli==1.170.0 cfn-lint==1.58.0
# A cloud to deploy into, for `make verify`. Apart from the others, because it wants another boto than sam does.
MINISTACK := $(VENV)/ministack/.tools
MINISTACK_TOOLS := ministack==1.5.33 aws-sam-translator==1.115.0 cryptography==50.0.2
# What turns docs/openapi.yaml on a running system, and makes a client of it, for `make check-api`.
API_CHECK := $(VENV)/schemathesis/.tools
API_CHECK_TOOLS := schemathesis==4.32.5 openapi-python-client==0.29.1
# What a user would take instead of Roost, for `make bench`: redis-py with its fast parser.
INSTEAD := $(VENV)/instead/.tools
INSTEAD_TOOLS := redis==8.1.0 hiredis==3.5.0
# What drives a browser and looks for barriers in the page, for `make check-page`. Its package.json has the versions.
PAGE_CHECK := tests/verify/page/node_modules/.package-lock.json
NO_VENV := echo "the tools need Python 3 with venv and pip: please install them (Debian: apt install python3-venv)" >&2; exit 1;
# What you answer when you first deploy, kept for the next time.
export DEPLOYMENT ?= samconfig.deploy.toml
# The functions, one binary each.
BINARIES := $(patsubst functions/%/Cargo.toml,%,$(wildcard functions/*/Cargo.toml))
# cargo-lambda's own emulator must not sit on the port of our HTTP API.
WATCH_PORT ?= 9010
# Where a running local cloud writes its endpoints.
export ROOST_STATE_DIR ?= .roost
export SAM_CLI_TELEMETRY := 0
export AWS_REGION ?= us-east-1

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: rust redis $(TOOLS) ## Install what the other commands need (they do it by themselves, too)

# What a command cannot do without, and where it comes from.
rust:
	@command -v cargo >/dev/null || { echo "cargo is missing: please install Rust with rustup, https://rustup.rs" >&2; exit 1; }

running:
	@python3 -c 'import json, socket, urllib.parse as url; \
	  http = url.urlsplit(json.load(open("$(ROOST_STATE_DIR)/endpoints.json"))["http"]); \
	  socket.create_connection((http.hostname, http.port), timeout=2)' 2>/dev/null || { \
	  echo "no local cloud: start one with 'make run' in another terminal, and wait until it says that it is ready" >&2; exit 1; }

redis:
	@command -v redis-server >/dev/null || command -v valkey-server >/dev/null || { \
	  echo "installing redis-server"; \
	  if command -v apt-get >/dev/null; then \
	    if [ "$$(id -u)" = 0 ]; then as_root=; else as_root="sudo -n"; fi; \
	    $$as_root apt-get update -q >/dev/null && \
	    DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -y -q --no-install-recommends redis-server >/dev/null; \
	  elif command -v brew >/dev/null; then brew install --quiet redis; \
	  else false; fi; \
	} || { echo "redis-server is missing and could not be installed: please install Redis 7 or Valkey" >&2; exit 1; }

chromium:
	@test -n "$${CHROMIUM:-}" || command -v chromium >/dev/null || command -v google-chrome >/dev/null || command -v google-chrome-stable >/dev/null || { \
	  echo "installing chromium"; \
	  if command -v apt-get >/dev/null; then \
	    if [ "$$(id -u)" = 0 ]; then as_root=; else as_root="sudo -n"; fi; \
	    $$as_root apt-get update -q >/dev/null && \
	    DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -y -q --no-install-recommends chromium >/dev/null; \
	  else false; fi; \
	} || { echo "chromium is missing and could not be installed: please install Chromium or Chrome, or name one with CHROMIUM=<its path>" >&2; exit 1; }

$(TOOLS): Makefile
	@echo "installing $(PYTHON_TOOLS)"
	@python3 -m venv $(VENV) || { $(NO_VENV) }
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check $(PYTHON_TOOLS)
	@touch $@

$(MINISTACK): $(TOOLS)
	@echo "installing $(MINISTACK_TOOLS)"
	@python3 -m venv $(VENV)/ministack || { $(NO_VENV) }
	@$(VENV)/ministack/bin/pip install --quiet --disable-pip-version-check $(MINISTACK_TOOLS)
	@touch $@

$(INSTEAD): Makefile
	@echo "installing $(INSTEAD_TOOLS)"
	@python3 -m venv $(VENV)/instead || { $(NO_VENV) }
	@$(VENV)/instead/bin/pip install --quiet --disable-pip-version-check $(INSTEAD_TOOLS)
	@touch $@

$(API_CHECK): Makefile
	@echo "installing $(API_CHECK_TOOLS)"
	@python3 -m venv $(VENV)/schemathesis || { $(NO_VENV) }
	@$(VENV)/schemathesis/bin/pip install --quiet --disable-pip-version-check $(API_CHECK_TOOLS)
	@touch $@

$(PAGE_CHECK): tests/verify/page/package.json tests/verify/page/package-lock.json
	@command -v npm >/dev/null || { echo "the test of the page needs Node.js with npm: please install version 20 or newer" >&2; exit 1; }
	@echo "installing $$(node -p 'Object.entries(require("./$<").dependencies).map((one) => one.join(" ")).join(", ")')"
	@npm ci --prefix $(<D) --silent --no-audit --no-fund
	@touch $@

# Few people are enough for a celebrity here, so that `make seed` makes some, pages of a fan-out are small, so that it can be seen
# how they hand over, and few are delivered without one. The seed is built along: it is wanted next.
run: export CELEBRITY_THRESHOLD ?= 50
run: export FAN_OUT_PAGE_SIZE ?= 10
run: export SYNC_FAN_OUT_FOLLOWERS ?= 5
run: rust redis ## Run the whole system on this machine
	@cargo build --workspace --bins
	@exec target/debug/roost-local

# Built with the tests, so that `cargo test` finds every dependency made with the same features.
test: redis lint ## Check format, lints, template and API document, and run all tests
	cargo build --workspace --all-targets
	cargo test --workspace
	@$(MAKE) --no-print-directory check-api

check-api: redis $(API_CHECK) ## Check that a running system answers as docs/openapi.yaml says, and that a generated client, the client guide and the seed work
	cargo build --workspace --all-targets
	@$(VENV)/schemathesis/bin/python tests/verify/check_api.py

check-page: redis chromium $(PAGE_CHECK) ## Check in a browser that the page does what it should (TESTS="home network" for some of the tests)
	cargo build --workspace --all-targets
	@python3 tests/verify/check_page.py $(TESTS)

verify: redis chromium check-template $(MINISTACK) $(PAGE_CHECK) ## Deploy the template with SAM into a cloud on this machine, and run the end-to-end suite on it; includes check-page
	@$(VENV)/bin/python tests/verify

# Debian's compiler, cross compiler and emulator: what rustup installs is not touched.
ARM64_TOOLS := rustc-web cargo-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
verify-arm64: redis ## Build the functions for arm64, the default processor, and let them answer under an emulator (Debian only)
	@dpkg-query --show $(ARM64_TOOLS) >/dev/null 2>&1 || { \
	  command -v apt-get >/dev/null || { echo "verify-arm64 needs Debian's packages: $(ARM64_TOOLS)" >&2; exit 1; }; \
	  echo "installing $(ARM64_TOOLS)"; \
	  if [ "$$(id -u)" = 0 ]; then as_root=; else as_root="sudo -n"; fi; \
	  $$as_root dpkg --add-architecture arm64 && $$as_root apt-get update -q >/dev/null && \
	  DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -y -q --no-install-recommends $(ARM64_TOOLS) >/dev/null; \
	}
	@python3 tests/verify/arm64.py

fmt: ## Format the code
	cargo fmt --all

lint: check-template ## Check format, lints and template
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- --deny warnings

check-template: $(TOOLS)
	$(VENV)/bin/cfn-lint template.yaml
	$(VENV)/bin/sam validate --lint
	@$(VENV)/bin/python tests/verify/translated.py
	@$(VENV)/bin/python tests/verify/guided.py

build: $(TOOLS) ## Build every function for AWS (ARCH=x86_64 or arm64; LTO=off for larger ones, built sooner)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo lambda build --release --workspace --exclude roost-local --exclude roost-tests \
	  --output-format zip $(if $(filter arm64,$(ARCH)),--arm64,$(if $(filter x86_64,$(ARCH)),--x86-64))
	@cd target/lambda && for zip in */bootstrap.zip; do echo "$$(du -k "$$zip" | cut -f1) KiB  $${zip%/*}"; done

# Link-time optimisation makes zips a fifth smaller (home-timeline: 3.8 instead of 4.8 MB). It takes half a minute to a minute of
# a core for each function that is built, which is each of them after a change of what all share.
LTO ?= thin
ifneq ($(LTO),off)
build deploy: export CARGO_PROFILE_RELEASE_LTO := $(LTO)
build deploy: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS := 1
endif

# The processor to build for is the one that was answered at the first deployment. All functions are built at once, with the
# options that SAM gives to cargo; SAM by itself would build one after the other, and now finds each of them made.
deploy: $(TOOLS) ## Build and deploy to AWS; asks for everything the first time (ARCH=x86_64 or arm64; LTO=off to build sooner)
	@export PATH="$(CURDIR)/$(VENV)/bin:$$PATH"; \
	  answer() { python docs/operations/deployment.py "$$1"; }; \
	  arch=$$(answer Architecture); arch=$${arch:-$(or $(ARCH),arm64)}; rollout=$$(answer Rollout); \
	  if [ "$$arch" = arm64 ]; then target=--arm64; else target=; fi; \
	  cargo lambda build --release $$target $(addprefix --bin ,$(BINARIES)); \
	  sam build --parameter-overrides Architecture=$$arch; \
	  if [ "$${rollout:-AllAtOnce}" != AllAtOnce ]; then \
	    python docs/operations/gradual.py .aws-sam/build/template.yaml .aws-sam/build/template.yaml; fi; \
	  if [ -n "$$(answer Architecture)" ]; then sam deploy --config-file "$(abspath $(DEPLOYMENT))"; else \
	    cp samconfig.toml "$(DEPLOYMENT)"; \
	    echo "The functions were built for $$arch: answer Architecture with it."; \
	    sam deploy --guided --config-file "$(abspath $(DEPLOYMENT))" || { \
	      if [ -n "$$(answer Architecture)" ]; then \
	        echo "Your answers are in $(DEPLOYMENT). 'make deploy' uses them the next time; correct them there." >&2; \
	      else rm -f "$(DEPLOYMENT)"; fi; exit 1; }; fi

destroy: $(TOOLS) ## Delete the deployment from AWS; tables, user pool, key and failed batches are kept
	@test -f "$(DEPLOYMENT)" || { echo "nothing was deployed from here: there is no $(DEPLOYMENT). 'make deploy' makes one, DEPLOYMENT=<file> names another" >&2; exit 1; }
	$(VENV)/bin/sam delete --config-file "$(abspath $(DEPLOYMENT))"

smoke: $(TOOLS) ## Run the end-to-end suite against the deployment (URL=… TOKEN_URL=… for another one)
	@URL="$(URL)" TOKEN_URL="$(TOKEN_URL)" PATIENCE="$(PATIENCE)" STACK="$(STACK)" $(VENV)/bin/python docs/operations/smoke.py

redrive: $(TOOLS) ## Process batches again that a consumer gave up on (KEY=… for one only, BUCKET=… for another deployment)
	@BUCKET="$(BUCKET)" KEY="$(KEY)" STACK="$(STACK)" $(VENV)/bin/python docs/operations/redrive.py

watch: running $(TOOLS) ## Serve the functions with cargo lambda, rebuilt on change, on the data of a running `make run`
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo lambda watch --invoke-port $(WATCH_PORT) --env-file $(ROOST_STATE_DIR)/env

invoke: watched $(TOOLS) ## Send a function its event through `make watch` (FUNCTION=home-timeline)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo lambda invoke $(FUNCTION) --invoke-port $(WATCH_PORT) --data-file events/$(FUNCTION).json

watched:
	@test -n "$(FUNCTION)" || { echo "which one? make invoke FUNCTION=home-timeline" >&2; exit 1; }
	@test -f events/$(FUNCTION).json || { \
	  echo "there is no function $(FUNCTION), but these: $(basename $(notdir $(wildcard events/*.json)))" >&2; exit 1; }
	@(exec 3<>/dev/tcp/127.0.0.1/$(WATCH_PORT)) 2>/dev/null || { \
	  echo "nobody listens on port $(WATCH_PORT): start 'make watch' in another terminal" >&2; exit 1; }

seed: running ## Fill a running local cloud with people, follows, tweets and reactions, and say what to look at
	@cargo build --quiet --workspace --bin seed
	@target/debug/seed

receipt: running ## Show what became of a tweet's delivery on a running local cloud (TWEET=<id>)
	@test -n "$(TWEET)" || { echo "which one? make receipt TWEET=<id>" >&2; exit 1; }
	@url=$$(python3 -c 'import json; print(json.load(open("$(ROOST_STATE_DIR)/endpoints.json"))["redis"])'); \
	  cli=$$(command -v redis-cli || command -v valkey-cli) || { echo "redis-cli is missing: please install Redis' or Valkey's tools" >&2; exit 1; }; \
	  receipt=$$($$cli -u "$$url" HGETALL 'receipt:{$(TWEET)}' | paste - - | grep '[^[:space:]]' || true); \
	  test -n "$$receipt" && echo "$$receipt" || { echo "there is no receipt for tweet $(TWEET): it is not known, older than a week, or not delivered yet" >&2; exit 1; }

bench: rust redis $(INSTEAD) ## Measure what Roost takes beside what the machine allows, in one run (ONLY=push,fanout for some parts)
	cargo build --release --workspace --bins
	$(if $(or $(if $(ONLY),,all),$(findstring start,$(ONLY))),CARGO_PROFILE_RELEASE_LTO=thin CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 \
	  cargo build --release --target-dir target/deployed --package home-timeline --package post-tweet)
	@ONLY="$(ONLY)" GRAPH="$(GRAPH)" target/release/bench

simulate: rust ## Predict how long one tweet takes to all followers on AWS (SHARDS=4 FOLLOWERS=1000000, …)
	@cargo build --quiet --release --workspace --bin simulate
	@target/release/simulate

cost: rust redis ## Count what each action uses, and say what that costs on AWS (COST_OUT=docs writes docs/COST.md)
	cargo build --release --workspace --bins
	@target/release/cost

clean: ## Remove everything that was built or installed here
	cargo clean
	rm -rf $(VENV) .aws-sam .verify $(ROOST_STATE_DIR) tests/verify/page/node_modules
