# The only commands a person needs; `make` lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# What is built and may be thrown away is kept outside the checkout.
export BALLAST_CACHE ?= $(HOME)/.cache/ballast
export CARGO_TARGET_DIR ?= $(BALLAST_CACHE)/target
# Only a cluster that is named here is ever used, never the one that a shell happens to point to.
unexport KUBECONFIG
# A kubeconfig: demo and e2e then use that cluster instead of the local one.
CLUSTER ?=
# Which operator the demonstration shows, and chaos meets.
OPERATOR ?= etcd
# For how long chaos breaks things, and the schedule to repeat.
MINUTES ?= 10
SEED ?=
# Further arguments of up, test, e2e and bench.
ARGS ?=

LAB := $(CARGO_TARGET_DIR)/debug/lab
E2E := cargo run --locked --package ballast-e2e --
CLUSTER_ARGUMENT = $(if $(CLUSTER),--cluster $(abspath $(CLUSTER)))

.PHONY: help prerequisites java lab testbed kafka demo up down check test test-full e2e chaos bench ci images sbom generate

help: ## This list
	@printf 'make TARGET [CLUSTER=<kubeconfig>] [ARGS=…]\n\n'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

prerequisites:
	@scripts/prerequisites.sh

# Only what has to do with Kafka needs it.
java:
	@scripts/prerequisites.sh java

lab: prerequisites
	@cargo build --locked --package ballast-lab --bin lab

demo: lab $(if $(filter kafka,$(OPERATOR)),java) ## From nothing to a cluster of three that holds something; OPERATOR=etcd or kafka
	@$(E2E) demo --operator $(OPERATOR) $(CLUSTER_ARGUMENT) $(ARGS)

up: lab ## The local three-zone Kubernetes; ARGS="--zones a,b"
	@$(LAB) up $(ARGS)

down: lab ## Takes it away, without a trace
	@$(LAB) down

check: prerequisites ## Format, lints, generated files, charts, dependencies, licences, sizes, links; ARGS="links sizes"
	@scripts/check.sh $(ARGS)

# What the testbed's control plane is made of.
testbed: lab
	@$(LAB) tools etcd-3.6 >/dev/null
	@$(LAB) tools kubernetes >/dev/null

# The real servers that the Kafka client is tested with: the oldest and the newest.
kafka: java
	@scripts/kafka.sh 4.1.2 4.4.0

test: testbed kafka ## Everything that needs no nodes
	@cargo test --locked --workspace $(ARGS)

test-full: testbed kafka ## The same with many more random cases and every crash; takes long
	@BALLAST_CRASH_EVERY=1 PROPTEST_CASES=$${PROPTEST_CASES:-5000} cargo test --locked --workspace $(ARGS) -- --include-ignored

e2e: lab java ## The scenarios on the local cluster or on CLUSTER; ARGS="--gate" or names
	@$(E2E) run $(CLUSTER_ARGUMENT) $(ARGS)

chaos: lab $(if $(filter kafka,$(OPERATOR)),java) ## Everything broken at random: MINUTES=60 SEED=n OPERATOR=kafka
	@$(E2E) chaos --operator $(OPERATOR) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(ARGS)

bench: testbed ## Figures at scale: memory, latency, requests; ARGS="--clusters 200 --secrets 0 --report FILE"
	@cargo build --locked --release --package etcd-operator --bin etcd-operator
	@cargo run --locked --release --package ballast-bench -- $(ARGS)

ci: prerequisites ## What a change must pass: check, test, and the scenarios of the gate
	@scripts/ci.sh

images: lab ## The operators' images, as archives for `docker load` or `ctr images import`, without Docker
	@scripts/images.sh

sbom: prerequisites ## A list of everything that the operator is built of, as CycloneDX; ARGS=FOLDER
	@scripts/sbom.sh $(ARGS)

generate: prerequisites ## Writes the generated files: resource types, manifests
	@scripts/generate.sh
