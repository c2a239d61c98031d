package next

import (
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
)

// Calibration corrects a net that is too sure of itself, or that has seen other times than those it is asked about. It
// is fitted to validation events.
type Calibration struct {
	Scale  float32         // of the groups' logits
	Bias   [Groups]float32 // added to them; that of Returning is 0
	Within [2]float32      // scales of candidates' logits, within Returning and within First
	Pair   [2]float32      // weights of the logits of a model of pairs, there too; see PairNet
}

// Plain changes nothing that counts say. A model of pairs has no weight before validation gave it one.
var Plain = Calibration{Scale: 1, Within: [2]float32{1, 1}}

// Apply corrects the logits of groups.
func (c *Calibration) Apply(x [Groups]float32) [Groups]float32 {
	for g := range x {
		x[g] = x[g]*c.Scale + c.Bias[g]
	}
	return x
}

// Scales of candidates' logits that are tried.
const (
	scaleFrom, scaleStep = 0.5, 0.05
	scaleCount           = 21 // up to 1.5
)

func scaleAt(k int) float64 { return scaleFrom + scaleStep*float64(k) }

// Fit collects what a net that is not calibrated says of validation events.
type Fit struct {
	events []fitted
	within [2][scaleCount]float64 // nats within Returning and First, by scale
	pairs  []fittedPair           // of events whose destination a model of pairs was asked about
}

// fitted is one event.
type fitted struct {
	logits   [Groups]float32
	possible [Groups]bool
	group    Group
	met      bool
	nats     [scaleCount]float32 // within the group, by scale; 0 for a new destination
}

// Add asks about an event. The asker's net must be plain.
func (f *Fit) Add(a *Asker, w *View, dst event.Node) (err error) {
	e := fitted{possible: w.Possible(), group: w.GroupOf(dst), met: w.Met(dst)}
	a.x = w.Source(a.x[:0])
	if e.logits, err = a.net.Groups(a.x); err != nil {
		return err
	}
	if e.group != New {
		if _, err := a.score(w, e.group); err != nil {
			return err
		}
		at := float64(a.logits[slices.Index(a.members, dst)])
		for k := range e.nats {
			s := scaleAt(k)
			e.nats[k] = float32(logSumExp(a.logits, s) - s*at)
			f.within[e.group][k] += float64(e.nats[k])
		}
		if err := f.addPair(a, w, e.group, dst); err != nil {
			return err
		}
	}
	f.events = append(f.events, e)
	return nil
}

// Calibration is the one that makes the events most likely. Few events move it little from Plain.
func (f *Fit) Calibration() Calibration {
	c := Plain
	for g := range f.within {
		best := math.Inf(1)
		for k, nats := range f.within[g] {
			s := scaleAt(k)
			if nats += prior * (s - 1) * (s - 1) / 2; nats < best {
				best, c.Within[g] = nats, float32(s)
			}
		}
	}
	f.fitPairs(&c)
	x := f.groups()
	c.Scale, c.Bias[First], c.Bias[New] = float32(1+x[0]), float32(x[1]), float32(x[2])
	return c
}

// prior is how strongly a calibration is drawn to Plain: as by this many events.
const prior = 10

// groups finds how far the scale of the groups' logits is from 1, and the biases of First and New, by Newton's method:
// the nats are a convex function of all three.
func (f *Fit) groups() (x [3]float64) {
	for range 30 {
		var slope [3]float64
		var curve [3][3]float64
		for i := range x {
			slope[i], curve[i][i] = prior*x[i], prior
		}
		for i := range f.events {
			f.events[i].curve(&x, &slope, &curve)
		}
		step, size := solve(curve, slope), 0.0
		for i := range x {
			x[i] -= step[i]
			size = max(size, math.Abs(step[i]))
		}
		x[0] = max(x[0], -0.95)
		if size < 1e-9 {
			break
		}
	}
	return x
}

// curve adds the first and second derivatives of an event's nats.
func (e *fitted) curve(x, slope *[3]float64, curve *[3][3]float64) {
	p := Softmax(e.calibrated(x), e.possible)
	// derivatives of a group's logit by the three numbers
	of := func(g Group) [3]float64 {
		return [3]float64{float64(e.logits[g]), indicator(g == First), indicator(g == New)}
	}
	var mean [3]float64
	for g := range Group(Groups) {
		for i, d := range of(g) {
			mean[i] += p[g] * d
		}
	}
	own := of(e.group)
	for i := range mean {
		slope[i] += mean[i] - own[i]
	}
	for g := range Group(Groups) {
		d := of(g)
		for i := range d {
			for j := range d {
				curve[i][j] += p[g] * (d[i] - mean[i]) * (d[j] - mean[j])
			}
		}
	}
}

func indicator(x bool) float64 { return float64(flag(x)) }

func (e *fitted) calibrated(x *[3]float64) [Groups]float32 {
	c := Calibration{Scale: float32(1 + x[0]), Bias: [Groups]float32{0, float32(x[1]), float32(x[2])}}
	return c.Apply(e.logits)
}

// Each tells the nats of every event under a calibration that Fit made, and whether its pair had met.
func (f *Fit) Each(c Calibration, tell func(met bool, nats float64)) {
	gains := f.gains(c)
	for i := range f.events {
		e := &f.events[i]
		nats := -math.Log(Softmax(c.Apply(e.logits), e.possible)[e.group])
		if e.group != New {
			nats += float64(e.nats[int(math.Round((float64(c.Within[e.group])-scaleFrom)/scaleStep))])
		}
		tell(e.met, nats-gains[i])
	}
}

// logSumExp is ln Σ e^(s·x).
func logSumExp(x []float32, s float64) float64 {
	most, sum := math.Inf(-1), 0.0
	for _, v := range x {
		most = max(most, s*float64(v))
	}
	for _, v := range x {
		sum += math.Exp(s*float64(v) - most)
	}
	return most + math.Log(sum)
}

// solve finds x with a·x = b, for a symmetric a that is positive definite.
func solve(a [3][3]float64, b [3]float64) (x [3]float64) {
	for i := range a {
		for j := i + 1; j < len(a); j++ {
			by := a[j][i] / a[i][i]
			for k := range a {
				a[j][k] -= by * a[i][k]
			}
			b[j] -= by * b[i]
		}
	}
	for i := len(a) - 1; i >= 0; i-- {
		x[i] = b[i]
		for k := i + 1; k < len(a); k++ {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x
}
