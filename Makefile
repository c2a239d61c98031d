# Few targets, each the command you would type yourself.
export CGO_ENABLED = 0

.PHONY: build test check demo clean

build: ## the program, as ./dygmamba
	go build -trimpath -o dygmamba ./cmd/dygmamba

test: ## all tests
	go test ./...

check: ## everything CI runs: format, vet, staticcheck, tests, race detector, cross-builds
	bash .ci/run

demo: ## the tour
	go run ./cmd/dygmamba demo

clean:
	rm -f dygmamba dygmamba.exe coverage.out
