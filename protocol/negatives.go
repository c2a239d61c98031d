package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Negatives is a kind of negatives: what an event that happened is told from.
type Negatives string

// The kinds of negatives.
const (
	// RandomNegatives keep the source and have another destination, drawn from all. The positive itself may be drawn.
	RandomNegatives Negatives = "random"
	// HistoricalNegatives are pairs that met before the batch began and do not meet while it lasts.
	HistoricalNegatives Negatives = "historical"
	// InductiveNegatives are historical ones of pairs that had not met up to the observed time.
	InductiveNegatives Negatives = "inductive"
	// TimeNegatives are the same pair at another time: evenly drawn between its previous meeting, or the start of the
	// part where that is later, and the event.
	TimeNegatives Negatives = "time"
	// KindNegatives are the same pair at the same time with another kind of event, each of them equally likely.
	KindNegatives Negatives = "kind"
)

// Kind is what there is to know about a kind of negatives. A new one is one more entry in the table of kinds, and what
// draws it in package sample.
type Kind struct {
	Name      Negatives
	Published bool    // results are published for it: it is part of "all"
	SameTime  bool    // it is asked about at the positive's time; otherwise at moments between events
	Share     string  // of training, what its setting negatives_<name> is; "": training draws none
	Selects   bool    // its name is a value of select_by: validation with random negatives and with these
	Plain     float64 // share in training where nothing is said, which is not written down
}

var kinds = []Kind{
	{Name: RandomNegatives, Published: true, SameTime: true, Selects: true, Plain: 1,
		Share: "share of negatives with another destination"},
	{Name: HistoricalNegatives, Published: true, SameTime: true, Share: "share of pairs that met before"},
	{Name: InductiveNegatives, Published: true, SameTime: true},
	{Name: TimeNegatives, Selects: true, Share: "share of the same pair at another time"},
	{Name: KindNegatives, SameTime: true, Selects: true, Share: "share of the same pair and time with another kind"},
}

// Kinds lists all kinds of negatives.
func Kinds() []Kind { return slices.Clone(kinds) }

// SameTime says whether the kind is asked about at the positive's time.
func (n Negatives) SameTime() bool {
	return slices.ContainsFunc(kinds, func(k Kind) bool { return k.Name == n && k.SameTime })
}

// Published are the kinds that results are published for, in the order of tables. Others have to be asked for by name.
func Published() []Negatives { return named(func(k Kind) bool { return k.Published }) }

// Trained are the kinds that training can draw shares of.
func Trained() []Negatives { return named(func(k Kind) bool { return k.Share != "" }) }

func named(which func(Kind) bool) []Negatives {
	var list []Negatives
	for _, k := range kinds {
		if which(k) {
			list = append(list, k.Name)
		}
	}
	return list
}

// All is the value that asks for all published kinds.
const All = "all"

// Selections are the values of select_by: which validation chooses the best epoch.
func Selections() []string {
	list := []string{string(RandomNegatives), All}
	for _, n := range named(func(k Kind) bool { return k.Selects && k.Name != RandomNegatives }) {
		list = append(list, string(n))
	}
	return list
}

// Selecting are the kinds of negatives whose validation a value of select_by takes the mean of; "" is random.
func Selecting(by string) []Negatives {
	switch by {
	case "", string(RandomNegatives):
		return []Negatives{RandomNegatives}
	case All:
		return Published()
	}
	return []Negatives{RandomNegatives, Negatives(by)}
}

// With is a copy of a map by kind with one value replaced. Such maps are not changed once they are made: configurations
// are copied and share them.
func With[M ~map[Negatives]T, T any](m M, kind Negatives, value T) M {
	other := maps.Clone(m)
	if other == nil {
		other = M{}
	}
	other[kind] = value
	return other
}

// MarshalMembers is the JSON object with the values of a map by kind, in the order of the table, each under the name of
// its kind behind a prefix.
func MarshalMembers[M ~map[Negatives]T, T any](m M, prefix string) ([]byte, error) {
	raw := []byte{'{'}
	for _, k := range kinds {
		value, there := m[k.Name]
		if !there {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = append(fmt.Appendf(raw, "%q:", prefix+string(k.Name)), text...)
	}
	return append(raw, '}'), nil
}

// MarshalInline marshals a struct of which one member, under the key prefix*, is a map by kind that marshals itself
// with MarshalMembers: its members stand in its place.
func MarshalInline(value, m any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // whoever encodes the whole decides that
	members, err := json.Marshal(m)
	if err := errors.Join(err, e.Encode(value)); err != nil {
		return nil, err
	}
	whole := fmt.Appendf(nil, `"%s*":%s`, prefix, members)
	return bytes.Replace(bytes.TrimSpace(b.Bytes()), whole, members[1:len(members)-1], 1), nil
}

// UnmarshalInline reads what MarshalInline wrote. What is missing in a map stays as it is.
func UnmarshalInline[M ~map[Negatives]T, T any](raw []byte, value any, m *M, prefix string) error {
	if err := json.Unmarshal(raw, value); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	for _, k := range kinds {
		text, there := all[prefix+string(k.Name)]
		if !there {
			continue
		}
		var value T
		if err := json.Unmarshal(text, &value); err != nil {
			return fmt.Errorf("%s%s: %w", prefix, k.Name, err)
		}
		*m = With(*m, k.Name, value)
	}
	return nil
}
