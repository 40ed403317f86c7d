# Targets for people. What CI runs is .ci/run, which calls some of these.

FUZZTIME ?= 20s
BENCHSIZE ?= 20M
MUTANTTIME ?= 8m
DAMAGE ?= 60

.PHONY: build image test e2e bench profile fuzz mutants damage

build: ## static binary bin/isodetect
	CGO_ENABLED=0 go build -trimpath -o bin/isodetect ./cmd/isodetect

image: build ## the container image of the Dockerfile as an OCI layout, without a daemon
	go run ./build/image -bin bin/isodetect -out bin/isodetect.oci.tar

test: ## unit tests, scenarios and recorded cases
	go test ./...

e2e: build ## the built binary from outside, with real servers and proxies; installs what it may
	e2e/run bin/isodetect

bench: build ## speed and memory, beside jq and tshark, and of a following isodetect; writes docs/measured.md
	go run -pgo=cmd/isodetect/default.pgo ./bench run --bin bin/isodetect --size $(BENCHSIZE) --out docs/measured.md

profile: ## where the time goes, for the compiler: cmd/isodetect/default.pgo, which every build reads
	go run ./bench profile

fuzz: ## every fuzz target for FUZZTIME
	@go list ./... | while read -r pkg; do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

mutants: ## conditions of the rules that no test would miss, a sample of MUTANTTIME
	go run ./rules/mutants -time $(MUTANTTIME)

damage: ## recorded captures with losses, cuts and disorder, DAMAGE times each by other chances: no false alarm, nothing lost without cause
	go test ./scan -run 'Damaged|HowACapture|SurviveLoss' -timeout 60m -damage $(DAMAGE)
