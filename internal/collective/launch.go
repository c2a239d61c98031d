package collective

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// Launch is what the environment says about the ranks of a program.
type Launch struct {
	By         string // who started them
	Rank, Size int    // Size is 0 where only the library knows
	Local      int    // rank on this host, −1 where the environment does not tell
	Master     string // address of rank 0, for NCCL
}

// Launchers.
const (
	Torchrun = "torchrun"
	Slurm    = "srun"
)

// MPIPathVariable names directories that are searched for an MPI library first.
const MPIPathVariable = "DYGMAMBA_MPI_PATH"

// ErrNoMPI says that no MPI library could be opened.
var ErrNoMPI = errors.New("no MPI library")

// Names of the libraries.
const (
	openMPIName = "Open MPI"
	mpichName   = "MPICH"
	NCCLName    = "NCCL"
)

// Discover reads how this process was started from the variables of torchrun, Slurm, Open MPI and PMI, in this order;
// nil: alone.
func Discover(getenv func(string) string) (*Launch, error) {
	for _, v := range []struct {
		by, rank, size, local string
		needs                 []string
	}{
		{Torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", []string{"WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}},
		// within a step that srun started; in a batch script that runs alone there is no number of tasks of a step
		{Slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", []string{"SLURM_STEP_NUM_TASKS"}},
		{openMPIName, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", nil},
		{mpichName, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", nil},
		{openMPIName, "PMIX_RANK", "", "", nil},
	} {
		if !allSet(getenv, append(v.needs, v.rank)) {
			continue
		}
		l := &Launch{By: v.by, Local: -1}
		var err error
		if l.Rank, err = number(getenv, v.rank); err != nil {
			return nil, err
		}
		if v.size != "" && getenv(v.size) != "" {
			if l.Size, err = number(getenv, v.size); err != nil {
				return nil, err
			}
			if l.Size < 1 || l.Rank >= l.Size {
				return nil, fmt.Errorf("%s is %d and %s is %d: a rank must be less than the number of ranks", v.rank,
					l.Rank, v.size, l.Size)
			}
		}
		if v.local != "" && getenv(v.local) != "" {
			if l.Local, err = number(getenv, v.local); err != nil {
				return nil, err
			}
		}
		if v.by == Torchrun {
			l.Master = net.JoinHostPort(getenv("MASTER_ADDR"), getenv("MASTER_PORT"))
		}
		return l, nil
	}
	return nil, nil
}

func allSet(getenv func(string) string, names []string) bool {
	for _, n := range names {
		if getenv(n) == "" {
			return false
		}
	}
	return true
}

func number(getenv func(string) string, name string) (int, error) {
	n, err := strconv.Atoi(getenv(name))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is %q, must be a number that is not negative", name, getenv(name))
	}
	return n, nil
}

// family is the MPI library that fits the launcher.
func family(getenv func(string) string) string {
	if getenv("OMPI_COMM_WORLD_SIZE") == "" && getenv("PMIX_RANK") == "" &&
		(getenv("PMI_RANK") != "" || getenv("PMI_FD") != "" || getenv("PMI_JOBID") != "") {
		return mpichName
	}
	return openMPIName
}

// Join opens the group that a launcher started: over NCCL with torchrun's variables, where every rank has a GPU, and
// over MPI otherwise.
func (l *Launch) Join(ctx context.Context, getenv func(string) string) (*Group, error) {
	if l.By == Torchrun {
		n, err := OpenNCCL(ctx, l)
		if err != nil {
			return nil, fmt.Errorf("torchrun starts ranks with a GPU each, which talk through NCCL; on CPUs, and "+
				"where ranks share a GPU, use mpirun -n N dygmamba train …: %w", err)
		}
		return New(ctx, n)
	}
	m, err := OpenMPI(family(getenv))
	if err != nil {
		return nil, fmt.Errorf("rank %d was started by %s: %w", l.Rank, l.By, err)
	}
	if m.Size() == 1 && l.Size > 1 {
		return nil, fmt.Errorf("%s started %d ranks, but %s knows of one: the launcher must be that of the library "+
			"(Open MPI: mpirun, or srun --mpi=pmix; MPICH: mpirun.mpich, or srun --mpi=pmi2)", l.By, l.Size, m.Name())
	}
	return New(ctx, m)
}
