package bench

import "github.com/dygmamba/dygmamba/internal/trace"

// StepReport is what was measured. Times are milliseconds unless the name says otherwise.
type StepReport struct {
	Model       string         `json:"model"`
	Preset      string         `json:"preset"`
	Data        string         `json:"data"`
	Device      string         `json:"device"`
	Threads     int            `json:"threads"`
	BatchSize   int            `json:"batch_size"`
	Batches     int            `json:"batches"`
	Params      int            `json:"parameters"`
	Gather      float64        `json:"gather_ms"`
	Forward     float64        `json:"forward_ms"`
	Backward    float64        `json:"backward_ms"`
	Optimizer   float64        `json:"optimizer_ms"`
	Step        float64        `json:"step_ms"`
	GFLOP       float64        `json:"matmul_gflop"`
	Floor       float64        `json:"matmul_floor_ms"`
	Transfer    float64        `json:"transfer_ms"`
	Compute     float64        `json:"compute_ms"`
	Epoch       float64        `json:"epoch_s"`
	Peak        int64          `json:"peak_bytes"`
	Allocations int64          `json:"heap_allocations"` // per step, on the Go heap
	Kernels     []trace.Kernel `json:"kernels"`          // of one step
}

// NeighborsReport is what was measured. Times are milliseconds.
type NeighborsReport struct {
	Model     string         `json:"model"`
	Preset    string         `json:"preset"`
	Settings  []string       `json:"settings,omitempty"`
	Data      string         `json:"data"`
	Device    string         `json:"device"`
	Threads   int            `json:"threads"`
	BatchSize int            `json:"batch_size"`
	Steps     int            `json:"steps"`
	Rows      []NeighborsRow `json:"rows"`
	Time      *Growth        `json:"step_growth,omitempty"`   // ms; of FitNeeds lengths or more
	Memory    *Growth        `json:"memory_growth,omitempty"` // bytes
}

// NeighborsRow is one length; where it could not be measured, Problem says why.
type NeighborsRow struct {
	Neighbors int     `json:"neighbors"`
	Positions int     `json:"positions,omitempty"` // of a row, padding included
	Step      float64 `json:"step_ms,omitempty"`
	Gather    float64 `json:"gather_ms,omitempty"`
	Memory    int64   `json:"memory_bytes,omitempty"`
	Planned   int64   `json:"planned_bytes,omitempty"`
	Problem   string  `json:"problem,omitempty"`
}

// Measured are the rows that were measured, as columns.
func (r *NeighborsReport) Measured() (neighbors, time, memory []float64) {
	for _, row := range r.Rows {
		if row.Problem == "" {
			neighbors = append(neighbors, float64(row.Neighbors))
			time, memory = append(time, row.Step), append(memory, float64(row.Memory))
		}
	}
	return neighbors, time, memory
}

// add adds a row and fits the growth anew.
func (r *NeighborsReport) add(row NeighborsRow) {
	r.Rows = append(r.Rows, row)
	x, time, memory := r.Measured()
	if r.Memory = fitGrowth(x, memory); row.Step > 0 {
		r.Time = fitGrowth(x, time)
	}
}
