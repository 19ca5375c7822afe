# Sarvex: every command says what it does, and fails with one clear line.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help
.PHONY: help run test check lint bench lock
MAKEFLAGS += --no-print-directory

help: ## Show these lines
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

run: ## Start everything on this machine, show fifty requests and one charge, and serve (PORT, SARVEX_HOME, DEMO=0)
	@sh sarvex/dev/venv.sh "$(PYTHON)" run
	@DEMO=$(DEMO) $(BIN)/python -m sarvex.dev.run

test: ## Run the whole test suite against real PostgreSQL and Redis (ARGS="-k name" for a part)
	@sh sarvex/dev/venv.sh "$(PYTHON)" test
	@$(BIN)/python -m pytest -n 2 $(ARGS)

check: lint test ## Everything that CI runs: lint, types, layers, migrations, deploy check, tests

lint: ## The static part of check
	@sh sarvex/dev/venv.sh "$(PYTHON)" test
	@$(BIN)/python -m sarvex.dev.lint

bench: ## Measure requests per second and latencies, beside a view without protection
	@sh sarvex/dev/venv.sh "$(PYTHON)" test
	@$(BIN)/python -m sarvex.dev.bench

lock: ## Write requirements/*.txt anew from requirements/*.in (needs uv)
	@sh requirements/lock.sh
