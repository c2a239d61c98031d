package walkmamba

import (
	"fmt"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

var _ model.Explainer = (*Model)(nil)

// nextFact is what usually came after what the source of a query did last, whoever did it.
type nextFact struct {
	After     []string `json:"after"`      // the source's latest two partners, the last first
	AfterLast share    `json:"after_last"` // how often the destination came after the last of them
	AfterBoth share    `json:"after_both"` // and after both
}

// share is how often something happened, and how often it might have.
type share struct {
	Times int `json:"times"`
	Of    int `json:"of"`
}

// Facts are, with next_item, what came after what the source of query i did last.
func (m *Model) Facts(b *sample.Batch, i int, name func(event.Node) string) []model.Fact {
	if !m.cfg.NextItem {
		return nil
	}
	told := foundIn(b).Next[i]
	n := &nextFact{After: []string{}, AfterLast: share{told.Last[0], told.Last[1]},
		AfterBoth: share{told.Both[0], told.Both[1]}}
	for _, other := range told.After {
		if other >= 0 {
			n.After = append(n.After, name(other))
		}
	}
	return []model.Fact{n}
}

// Key is its name in JSON.
func (n *nextFact) Key() string { return "next" }

// Title is its name in a table.
func (n *nextFact) Title() string { return "what comes next" }

// Brief is what usually comes next in a few words.
func (n *nextFact) Brief(dst string) string {
	return fmt.Sprintf("what usually comes next (%s, %d of %d times)", dst, n.AfterLast.Times, n.AfterLast.Of)
}

// Text is how often the destination came after the source's latest partners.
func (n *nextFact) Text(dst string) string {
	switch {
	case n.AfterLast.Of == 0 && len(n.After) == 0:
		return "nobody had done anything yet"
	case n.AfterLast.Of == 0:
		return fmt.Sprintf("nothing had come after %s yet", n.After[0])
	case len(n.After) == 0:
		return fmt.Sprintf("%s was the first of %s of %s sources", dst, term.Count(n.AfterLast.Times),
			term.Count(n.AfterLast.Of))
	}
	text := fmt.Sprintf("after %s came %s %s of %s times", n.After[0], dst, term.Count(n.AfterLast.Times),
		term.Count(n.AfterLast.Of))
	if len(n.After) > 1 {
		text += fmt.Sprintf(", after %s and %s %s of %s", n.After[1], n.After[0], term.Count(n.AfterBoth.Times),
			term.Count(n.AfterBoth.Of))
	}
	return text
}

// Withhold makes a batch one in which nothing had ever come after them.
func (n *nextFact) Withhold(b *sample.Batch) { clear(foundIn(b).NextItems) }
