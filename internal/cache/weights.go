package cache

// weights of the parts of a mixture; they sum to 1.
type weights [components]float64

// byActivity are the weights for sources of every bucket.
type byActivity [buckets]weights

func (w *byActivity) of(bucket int8) *weights { return &w[bucket] }

// fit finds the weights that make the validation most likely: of the cache by bucket, and of popularity.
func (h *history) fit() (*byActivity, weights) {
	var every, popular weights
	for k := range every {
		every[k] = 1.0 / components
	}
	parts := []int{popFast, popMiddle, popSlow, pop, uniform}
	for _, k := range parts {
		popular[k] = 1 / float64(len(parts))
	}
	start := every
	every.maximize(h.val, 200)
	popular.maximize(h.val, 200)
	byBucket := make([][]asked, buckets)
	for _, e := range h.val {
		byBucket[e.bucket] = append(byBucket[e.bucket], e)
	}
	fitted := new(byActivity)
	for b, events := range byBucket {
		fitted[b] = every
		if len(events) > few {
			fitted[b] = start
			fitted[b].maximize(events, 100)
		}
	}
	return fitted, popular
}

// few events tell nothing of their own about weights.
const few = 50

// maximize takes steps of expectation and maximization. A weight that is 0 stays 0.
func (w *weights) maximize(events []asked, steps int) {
	if len(events) == 0 {
		return
	}
	for range steps {
		var owed weights
		for i := range events {
			var of weights
			total := 0.0
			for k, weight := range w {
				of[k] = weight * (events[i].part[k] + tiny)
				total += of[k]
			}
			for k := range of {
				owed[k] += of[k] / total
			}
		}
		for k := range w {
			w[k] = owed[k] / float64(len(events))
		}
	}
}

// tiny keeps an event that no part explains from having the probability 0.
const tiny = 1e-12

// mix is the probability of an event.
func mix(part *[components]float64, w *weights) float64 {
	p := 0.0
	for k, weight := range w {
		p += weight * part[k]
	}
	return p
}
