package shortlist

import (
	"cmp"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// facts are what is cheap to know of candidates.
type facts struct {
	ages  []float32 // [n, clocks]: how long ago the candidate's last event was, the second last, …: see logAge
	often []float32 // [n]: logarithm of its events
	held  []float32 // [n]: of the events that a model reads, how many it has, as a share
	other []float32 // [n]: and with how many nodes these were
	link  []int32   // [n]: 1 + where its links stand, 0 without any
	links []links
}

// clocks are the events of a candidate that are looked at, counted from the last: a popular one did the 64th lately.
// The one that is 0 here is the first that the model reads.
var clocks = [...]int{1, 2, 4, 8, 0, 64}

// knots are where the weight of an age may change: a logarithm of ages lies between 0 and 1.
var knots = [...]float64{0.2, 0.35, 0.5, 0.65, 0.8}

// links are what connects a candidate to the source. Walks count less the longer ago their events were.
type links struct {
	node     event.Node
	meetings float64
	last     float64 // how long ago they met last: logAge
	recent   float64 // meetings among the latest events of the source
	common   float64 // of the candidate's latest events, how many were with a recent partner of the source
	same     float64 // and how many with the source
	two      float64 // walks of two events: partners of the source's partners
	three    float64 // walks of three events
	follows  float64 // walks of which the last event came after the one before
}

// How many events of a node are looked at, the latest first.
const (
	mostRead   = 64  // of a candidate
	reach      = 16  // of the source, for walks of two events, and of a candidate
	mostMet    = 512 // of the source, for meetings
	wide       = 32  // of the source's partners
	reachThree = 8   // of the source, for walks of three events, and at their end
	wideThree  = 24  // of the source's partners
)

const (
	perClock  = 1 + len(knots)
	common    = 1 + len(clocks)*perClock + 5 // numbers that each candidate has
	linkWidth = 15
	ageRange  = 1e6 // the largest age in units in which ages are about 1
)

// gather looks at the past of all candidates.
func gather(q Question) *facts {
	n := len(q.Candidates)
	f := &facts{ages: make([]float32, n*len(clocks)), link: make([]int32, n)}
	f.often, f.held, f.other = make([]float32, n), make([]float32, n), make([]float32, n)
	read := max(1, min(q.Reads, mostRead))
	own := q.Past.Before(q.Src, q.At).Last(mostMet)
	recent := newPartners(own.Last(reach).Node)
	shared := make([]uint8, n)
	const part = 2048
	oldest := make([]float64, parallel.Chunks(n, part))
	raw := make([]float64, n*len(clocks))
	parallel.Ranges(n, part, func(part, lo, hi int) {
		for i := lo; i < hi; i++ {
			h := q.Past.Before(q.Candidates[i], q.At)
			f.often[i] = float32(logTwo(1+float64(h.Len())) * math.Ln2 / 5)
			latest := h.Last(read).Node
			f.held[i], f.other[i] = float32(len(latest))/float32(read), float32(distinct(latest))/float32(read)
			shared[i] = uint8(recent.count(latest))
			for k, back := range clocks {
				if back == 0 {
					back = read
				}
				age := math.Inf(1)
				if h.Len() >= back {
					age = q.At - h.Time[h.Len()-back]
					oldest[part] = max(oldest[part], age)
				}
				raw[i*len(clocks)+k] = age
			}
		}
	})
	unit := slices.Max(oldest) / ageRange
	if unit == 0 {
		unit = 1
	}
	parallel.Ranges(len(raw), part*len(clocks), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			f.ages[i] = float32(logAge(raw[i], unit))
		}
	})
	f.connect(q, unit, own, shared)
	return f
}

// partners are nodes that are looked for often and found seldom.
type partners struct {
	list []event.Node
	some uint64 // a bit for the remainder of each
}

func newPartners(list []event.Node) partners {
	p := partners{list: list}
	for _, n := range list {
		p.some |= 1 << (uint(n) % 64)
	}
	return p
}

// count is how many nodes of a list are among them.
func (p *partners) count(list []event.Node) (n int) {
	for _, x := range list {
		if p.some>>(uint(x)%64)&1 != 0 && slices.Contains(p.list, x) {
			n++
		}
	}
	return n
}

// logAge is an age between 0 and 1, 1 for one that is not known.
func logAge(age, unit float64) float64 {
	const most = 19.931570012018494 // binary logarithm of 1 + ageRange
	return min(1, logTwo(1+age/unit)/most)
}

// logTwo is about the binary logarithm of a number from 1 on, by at most 0.01 off: continuous, growing, and several
// times as fast as the exact one, of which a ranking would need six for each candidate.
func logTwo(x float64) float64 {
	bits := math.Float64bits(x)
	part := math.Float64frombits(bits&(1<<52-1)|1023<<52) - 1 // of the way to the next power of two
	return float64(int(bits>>52)-1023) + part + 0.3466*part*(1-part)
}

// distinct counts different nodes of a short list.
func distinct(list []event.Node) (n int) {
	for i, x := range list {
		if !slices.Contains(list[:i], x) {
			n++
		}
	}
	return n
}

// connect finds the candidates that are linked to the source. Own are the source's events; shared tells how many of a
// candidate's were with its recent partners.
func (f *facts) connect(q Question, unit float64, own index.History, shared []uint8) {
	place := places(q.Candidates)
	at := func(n event.Node) *links {
		i, there := place(n)
		if !there {
			return nil
		}
		if f.link[i] == 0 {
			f.links = append(f.links, links{node: n})
			f.link[i] = int32(len(f.links))
		}
		return &f.links[f.link[i]-1]
	}
	for i, n := range shared {
		if n > 0 {
			at(q.Candidates[i]).common = float64(n)
		}
	}
	for i, n := range own.Node {
		if l := at(n); l != nil {
			l.meetings++
			l.last = logAge(q.At-own.Time[i], unit)
		}
	}
	latest := own.Last(reach)
	for _, n := range latest.Node {
		if l := at(n); l != nil {
			l.recent++
		}
	}
	walk(latest, 1, func(n event.Node, _ event.Time, weight float64) {
		walk(q.Past.Before(n, q.At).Last(wide), weight, func(m event.Node, _ event.Time, weight float64) {
			if l := at(m); l != nil {
				l.two += weight
			}
		})
	})
	walk(own.Last(reachThree), 1, func(n event.Node, _ event.Time, one float64) {
		walk(q.Past.Before(n, q.At).Last(wideThree), one, func(m event.Node, met event.Time, two float64) {
			if m == q.Src {
				return
			}
			walk(q.Past.Before(m, q.At).Last(reachThree), two, func(c event.Node, t event.Time, three float64) {
				l := at(c)
				if l == nil {
					return
				}
				l.three += three
				if t > met {
					l.follows += one
				}
			})
		})
	})
	for i := range f.links {
		l := &f.links[i]
		for _, n := range q.Past.Before(l.node, q.At).Last(reach - 1).Node {
			if n == q.Src {
				l.same++
			}
		}
	}
}

// walk goes from a node to whom it met, the last first in weight.
func walk(h index.History, weight float64, visit func(n event.Node, t event.Time, weight float64)) {
	for i, n := range h.Node {
		visit(n, h.Time[i], weight/float64(h.Len()-i))
	}
}

// places tells where candidates stand.
func places(list []event.Node) func(n event.Node) (int, bool) {
	if slices.IsSorted(list) {
		return func(n event.Node) (int, bool) { return slices.BinarySearch(list, n) }
	}
	of := make(map[event.Node]int, len(list))
	for i, n := range list {
		of[n] = i
	}
	return func(n event.Node) (int, bool) {
		i, there := of[n]
		return i, there
	}
}

// atFirstSight orders places: those that met the source often, are close to it, and were active last come first.
func (f *facts) atFirstSight() []int {
	const steps = 1 << 12 // of ages, in which their order is kept
	var linked []int
	var start [steps + 2]int
	step := func(i int) int { return int(f.ages[i*len(clocks)] * steps) }
	for i := range f.link {
		if f.link[i] > 0 {
			linked = append(linked, i)
		} else {
			start[step(i)+1]++
		}
	}
	for k := 1; k < len(start); k++ {
		start[k] += start[k-1]
	}
	others := make([]int, len(f.link)-len(linked))
	for i := range f.link {
		if f.link[i] == 0 {
			others[start[step(i)]] = i
			start[step(i)]++
		}
	}
	slices.SortStableFunc(linked, func(i, j int) int { return cmp.Compare(f.sight(j), f.sight(i)) })
	order := make([]int, 0, len(f.link))
	for _, i := range others {
		for len(linked) > 0 && f.sight(linked[0]) >= f.sight(i) {
			order, linked = append(order, linked[0]), linked[1:]
		}
		order = append(order, i)
	}
	return append(order, linked...)
}

// sight is a guess at a candidate's score.
func (f *facts) sight(i int) float64 {
	guess := -float64(f.ages[i*len(clocks)])
	if f.link[i] > 0 {
		l := &f.links[f.link[i]-1]
		guess += 10*min(l.meetings, 1) + 3*math.Log(max(l.meetings, 1)) + 2*math.Log1p(10*l.two) + l.common
	}
	return guess
}

// group is 1 for candidates that are close to the source, otherwise 0.
func (f *facts) group(i int) int {
	if f.link[i] > 0 && f.links[f.link[i]-1].close() {
		return 1
	}
	return 0
}

// close says whether two events connect the candidate to the source.
func (l *links) close() bool { return l.meetings > 0 || l.common > 0 || l.two > 0 }

// width is the number of numbers that describe a candidate.
func (f *facts) width() int { return common + linkWidth }

// row writes what is known of a candidate as numbers.
func (f *facts) row(i int, row []float64) {
	clear(row)
	row[0] = 1
	at := 1
	for _, age := range f.ages[i*len(clocks):][:len(clocks)] {
		a := float64(age)
		row[at] = a
		for k, knot := range knots {
			row[at+1+k] = max(0, a-knot)
		}
		at += perClock
	}
	often := float64(f.often[i])
	held := float64(f.held[i])
	row[at], row[at+1], row[at+2], row[at+3], row[at+4] = often, often*often, held, held*held, float64(f.other[i])
	if f.link[i] == 0 {
		return
	}
	f.links[f.link[i]-1].row(row[common:])
}

func (l *links) row(row []float64) {
	if l.meetings > 0 {
		row[0], row[1], row[2], row[3] = 1, math.Log(l.meetings), l.last, l.last*l.last
	}
	row[4], row[5], row[6], row[7] = l.common, min(1, l.common), math.Log1p(l.same), l.recent
	row[8], row[9] = math.Log1p(10*l.two), indicator(l.two)
	row[10], row[11], row[12] = math.Log1p(10*l.three), math.Log1p(100*l.three), indicator(l.three)
	row[13], row[14] = math.Log1p(10*l.follows), indicator(l.follows)
}

func indicator(x float64) float64 {
	if x > 0 {
		return 1
	}
	return 0
}

// estimate is the sum of each candidate's numbers by weights.
func (f *facts) estimate(weights []float64) []float64 {
	lines := linesOf(weights)
	w := weights[1+len(clocks)*perClock : common]
	out := make([]float64, len(f.link))
	parallel.Ranges(len(out), 4096, func(_, lo, hi int) {
		var row [linkWidth]float64
		for i := lo; i < hi; i++ {
			sum := weights[0]
			for k, age := range f.ages[i*len(clocks):][:len(clocks)] {
				line := &lines[k][piece(age)]
				sum += line.at + line.slope*float64(age)
			}
			often, held := float64(f.often[i]), float64(f.held[i])
			sum += w[0]*often + w[1]*often*often + w[2]*held + w[3]*held*held + w[4]*float64(f.other[i])
			if link := f.link[i]; link > 0 {
				clear(row[:])
				f.links[link-1].row(row[:])
				for k, x := range row {
					sum += x * weights[common+k]
				}
			}
			out[i] = sum
		}
	})
	return out
}

// line is at + slope·x.
type line struct{ at, slope float64 }

// pieces are as many parts of the range of ages as have no knot inside.
const pieces = 20

func piece(age float32) int { return min(pieces-1, int(age*pieces)) }

// linesOf turns the weights of ages, which may change at knots, into a line for each piece.
func linesOf(weights []float64) (lines [len(clocks)][pieces]line) {
	for k := range clocks {
		w := weights[1+k*perClock:][:perClock]
		for i := range pieces {
			middle := (float64(i) + 0.5) / pieces
			l := line{slope: w[0]}
			for j, knot := range knots {
				if middle > knot {
					l.slope += w[1+j]
					l.at -= w[1+j] * knot
				}
			}
			lines[k][i] = l
		}
	}
	return lines
}
