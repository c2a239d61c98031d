//go:build !linux || nogpu

package collective

import (
	"context"
	"fmt"
)

// OpenMPI says that this build cannot open libraries.
func OpenMPI(string) (Engine, error) {
	return nil, fmt.Errorf("%w: this build of the program opens no libraries; use the usual one for Linux", ErrNoMPI)
}

// OpenNCCL says that this build cannot open libraries.
func OpenNCCL(context.Context, *Launch) (Engine, error) {
	return nil, fmt.Errorf("no NCCL: this build of the program opens no libraries; use the usual one for Linux")
}
