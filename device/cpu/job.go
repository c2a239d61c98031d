package cpu

import "github.com/dygmamba/dygmamba/device"

// job is a kernel at work: its arguments, which the device keeps so that a call allocates nothing, and how it is cut
// into chunks.
type job[A any] struct {
	args    A
	n, each int                            // rows, sequences or numbers: in all, and in a chunk
	step    func(a *A, lo, hi, worker int) // computes [lo, hi), or
	item    func(a *A, i int, worker int)  // one of them
}

func (j *job[A]) run(chunk, worker int) {
	lo, hi := chunk*j.each, min(j.n, (chunk+1)*j.each)
	if j.item == nil {
		j.step(&j.args, lo, hi, worker)
		return
	}
	for i := lo; i < hi; i++ {
		j.item(&j.args, i, worker)
	}
}

// start runs step, or item, on n rows in chunks of each. The arguments are in place.
func (j *job[A]) start(d *Device, n, each int, step func(a *A, lo, hi, worker int), item func(a *A, i, worker int)) {
	j.n, j.each, j.step, j.item = n, each, step, item
	d.parallel(pieces(n, each), j)
}

// launch puts the arguments in place and starts.
func launch[A any](d *Device, j *job[A], args A, n, each int, step func(a *A, lo, hi, worker int)) {
	j.args = args
	j.start(d, n, each, step, nil)
}

// launchEach is launch for a step that computes one row.
func launchEach[A any](d *Device, j *job[A], args A, n, each int, item func(a *A, i, worker int)) {
	j.args = args
	j.start(d, n, each, nil, item)
}

// sums are the partial sums that a kernel keeps for every chunk.
type sums struct {
	each, size int       // rows or sequences, and sums, of a chunk
	parts      []float32 // [chunks, size]
}

// maxShares bounds the number of chunks of a kernel that keeps partial sums for each.
const maxShares = 64

// share is the size of chunks that cut n into at most maxShares.
func share(n int) int { return max(1, pieces(n, maxShares)) }

// shares cuts n into chunks with this many sums each, and has a table before the sums.
func (d *Device) shares(n, size, table int) ([]float32, sums) {
	s := sums{each: share(n), size: size}
	all := d.scratch(table + pieces(n, s.each)*size)
	s.parts = all[table:]
	return all[:table], s
}

// of are the sums of the chunk that starts at lo, cleared.
func (s *sums) of(lo int) []float32 {
	at := lo / s.each * s.size
	part := s.parts[at : at+s.size]
	clear(part)
	return part
}

// total adds up the sums in the order of the chunks.
func (s *sums) total(d *Device) []float32 {
	sum := s.parts[:s.size]
	for at := s.size; at < len(s.parts); at += s.size {
		d.loops.zips[device.Add](sum, sum, s.parts[at:at+s.size])
	}
	return sum
}
