package report

import (
	"fmt"

	"github.com/dygmamba/dygmamba/internal/page"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/protocol"
)

// effort says what the training took.
func (r *Report) effort() []page.Part {
	train, other := page.Series{Name: "training", Tone: page.First}, page.Series{Name: "validation", Tone: page.Third}
	spent, rate := 0.0, 0.0
	for _, e := range r.Epochs {
		train.X, train.Y = append(train.X, float64(e.Epoch)), append(train.Y, e.Seconds.Train)
		other.X, other.Y = append(other.X, float64(e.Epoch)), append(other.Y, e.Seconds.Evaluate)
		spent += e.Seconds.Train
		rate += e.Events / float64(len(r.Epochs))
	}
	facts := page.Facts{{"parameters", term.Count(r.Parameters)}}
	if r.Device != "" {
		facts = append(facts, [2]string{"device", r.Device}, [2]string{"memory of a step", term.Bytes(r.Peak)})
	}
	if n := len(r.Epochs); n > 0 {
		facts = append(facts, [2]string{"training and validation", fmt.Sprintf("%s in %s", seconds(r.Trained),
			counted(n, "epoch"))},
			[2]string{"training of an epoch", fmt.Sprintf("%s, %s events a second", seconds(spent/float64(n)),
				term.Count(int(rate)))})
	}
	parts := []page.Part{page.Heading("Time and memory"), facts}
	if len(r.Epochs) < 2 {
		return parts
	}
	list := []page.Series{other, train}
	y := around(list, 0.001)
	y.Min = 0
	return append(parts, page.Figures{{Title: "Seconds of an epoch", Key: key(list), Chart: page.Lines{
		X: page.Axis{Name: "epoch", Min: 1, Max: float64(len(r.Epochs)), Ticks: wholeTicks(len(r.Epochs))}, Y: y,
		Series: list,
	}}})
}

// configuration lists every setting.
func (r *Report) configuration() []page.Part {
	t := page.Table{Head: []string{"setting", "value", "what it is"}, Words: 3}
	for _, s := range r.Settings {
		value := fmt.Sprint(s.Value)
		if value == "" {
			value = "–"
		}
		t.Rows = append(t.Rows, []string{s.Key, value, s.About})
	}
	return []page.Part{page.Heading("Configuration"), page.Text(fmt.Sprintf("%s with preset %s and these settings:",
		r.Model, r.Preset)), t}
}

// basis says what the numbers rest on, so that they can be compared and made again.
func (r *Report) basis() []page.Part {
	facts := page.Facts{
		{"data", fmt.Sprintf("%s, %s events, %s nodes", r.Data.Name, term.Count(r.Data.Events),
			term.Count(r.Data.Nodes))},
		{"sampling", string(r.Sampling)},
		{"training", fmt.Sprintf("%s events%s; %s nodes are not shown to it", term.Count(r.Split.Train), r.steps(),
			term.Count(r.Split.NewNodes))},
		{"validation", fmt.Sprintf("%s events, %s of them with a new node", term.Count(r.Split.Val),
			term.Count(r.Split.NewVal))},
		{"test", fmt.Sprintf("%s events, %s of them with a new node", term.Count(r.Split.Test),
			term.Count(r.Split.NewTest))},
	}
	if r.Labels() { // no node is hidden
		for i, n := range []int{r.Split.Train, r.Split.Val, r.Split.Test} {
			facts[2+i][1] = term.Count(n) + " events"
		}
		facts[2][1] += r.steps()
	}
	if r.Order != "" {
		about := "a question sees nothing of its own instant"
		if r.Order == protocol.Arrival {
			about = "what was asked about is remembered at once, as in the reference programs"
		}
		facts = append(facts, [2]string{"order", string(r.Order) + ": " + about})
	}
	if len(r.Conditions) == 0 {
		facts = append(facts, [2]string{"answers depend on", "what happened before their own time, and nothing else"})
	}
	for i, c := range r.Conditions {
		name := "answers also depend on"
		if i > 0 {
			name = ""
		}
		facts = append(facts, [2]string{name, c})
	}
	facts = append(facts, [2]string{"data, SHA-256", r.Hashes.Data}, [2]string{"split, SHA-256", r.Hashes.Split})
	if r.Hashes.Negatives != "" {
		facts = append(facts, [2]string{"negatives of validation, SHA-256", r.Hashes.Negatives})
	}
	if r.Measured.Negatives != "" {
		facts = append(facts, [2]string{"negatives of this test, SHA-256", r.Measured.Negatives})
	}
	return []page.Part{page.Heading("What the numbers rest on"), facts}
}

// steps says how many training events were seen, all epochs together, where that is known.
func (r *Report) steps() string {
	if r.TrainEvents == 0 {
		return ""
	}
	return fmt.Sprintf(", %s seen in all epochs together", term.Count(r.TrainEvents))
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return term.Count(n) + " " + thing + "s"
}
