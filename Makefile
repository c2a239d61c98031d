# Few targets, each the command you would type yourself.
export CGO_ENABLED = 0

# What 'make bench' measures: reading histories, gathering batches, the layers and kernels of a step, answers.
BENCHMARKS = Before$$/generated/frozen/shuffled|Gather$$/generated/threads=1|Batches$$|Layer$$/dropout=0.1|Scan$$/threads=1
BENCHMARKS := $(BENCHMARKS)|MatMul$$/^y$$/M=25600/K=100$$/N=400/threads=1|Score$$

.PHONY: build static release bench test histories crash kills soak hammer hawkes gpu check demo clean

build: ## the program, as ./dygmamba
	go build -trimpath -o dygmamba ./cmd/dygmamba

static: ## the same without GPU support: one static file
	go build -trimpath -tags nogpu -o dygmamba ./cmd/dygmamba

release: ## archives for all platforms with checksums and SBOMs, in dist/; the same commit gives the same bytes
	go run ./internal/release

bench: ## a few benchmarks, each six times, in the format of benchstat: make bench >new.txt
	go test -run '^$$' -bench '$(BENCHMARKS)' -benchtime 200ms -count 6 ./index ./sample ./replay ./nn ./device/cpu ./serve

test: ## all tests
	go test ./...

histories: ## 10,000 random histories with retractions and erased nodes, against streams that never had these
	DYGMAMBA_HISTORIES=10000 go test -count=1 -timeout 4h -run 'TestRemovalsLeaveNothing$$' ./serve

crash: ## kill what appends to an event log, and whole servers, 200 times with each engine
	DYGMAMBA_CRASHES=200 go test -count=1 -v -timeout 1h -run Crash ./eventlog/... ./cmd/dygmamba

kills: ## kill ranks of a training, and workers and brokers of a study, 50 times each
	DYGMAMBA_KILLS=50 go test -count=1 -v -timeout 2h -run 'KilledRanks|Queue' ./cmd/dygmamba

soak: ## three servers on three brokers under load for an hour, with a kill every minute; figures in soak.json
	DYGMAMBA_SOAK=60m DYGMAMBA_SOAK_OUT=$(CURDIR)/soak.json go test -count=1 -v -timeout 2h -run 'TestSoak$$' ./cmd/dygmamba

hammer: ## send the server 24 million malformed requests and files
	DYGMAMBA_HAMMER=24000000 go test -count=1 -v -timeout 4h -run Hammer ./serve

hawkes: ## learn a process whose rates and probabilities are known, from many events
	DYGMAMBA_HAWKES=1 go test -count=1 -v -timeout 1h -run Hawkes .

gpu: ## the tests of devices, models and ranks on an NVIDIA GPU, by hand: CI has none
	DYGMAMBA_TEST_DEVICE=cuda go test -count=1 ./device/cuda ./models ./models/internal/dygmamba ./models/internal/walkmamba ./model/modeltest
	DYGMAMBA_TEST_DEVICE=cuda go test -count=1 -run 'NCCL$$|MPIRanks$$' ./internal/collective ./cmd/dygmamba

check: ## everything CI runs: format, vet, staticcheck, tests, race detector, cross-builds
	bash .ci/run

demo: ## the tour
	go run ./cmd/dygmamba demo

clean:
	rm -rf dygmamba dygmamba.exe coverage.out dist soak.json
