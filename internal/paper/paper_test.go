package paper

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/protocol"
)

func TestLookup(t *testing.T) {
	for _, c := range []struct {
		scenario       protocol.Scenario
		negatives      protocol.Negatives
		dataset, model string
		want           Result
	}{
		{"transductive", "random", "uci", "edgebank", Result{AP: Value{76.20, 0}, AUC: Value{77.30, 0}}},
		{"transductive", "random", "LastFM", "DyGMamba", Result{AP: Value{93.35, 0.20}, AUC: Value{93.31, 0.18}}},
		{"transductive", "historical", "USLegis", "edgebank", Result{AP: Value{63.31, 0}, AUC: Value{67.50, 0}}},
		{"inductive", "inductive", "SocialEvo", "ctan", Result{Timeout: true}},
		{"transductive", "random", "s2", "dygmamba-a", Result{AP: Value{60.16, 2.20}, AUC: Value{62.50, 2.28}}},
	} {
		got, ok := Lookup(c.scenario, c.negatives, c.dataset, c.model)
		if !ok || got != c.want {
			t.Errorf("%+v: %+v, %v", c, got, ok)
		}
	}
	for _, name := range [][4]string{
		{"inductive", "random", "uci", "edgebank"},
		{"inductive", "historical", "uci", "dygmamba"},
		{"transductive", "random", "nowhere", "dygmamba"},
	} {
		if r, ok := Lookup(protocol.Scenario(name[0]), protocol.Negatives(name[1]), name[2], name[3]); ok {
			t.Errorf("%v: %+v, want nothing", name, r)
		}
	}
}

func TestTablesAreWhole(t *testing.T) {
	first, _ := Find("transductive-ap")
	second, _ := Find("dtdg-transductive-ap")
	sets, models := slices.Concat(first[0].Datasets, second[0].Datasets), first[0].Models
	if len(sets) != 13 || len(models) != 11 || len(results()) != 13*(3*11+2*10)+3*6 {
		t.Errorf("%d results of %d data sets and %d models: %v, %v", len(results()), len(sets), len(models), sets,
			models)
	}
	for _, d := range sets {
		for _, m := range models {
			for _, c := range [][2]string{{"transductive", "random"}, {"transductive", "historical"},
				{"transductive", "inductive"}, {"inductive", "random"}, {"inductive", "inductive"}} {
				r, ok := Lookup(protocol.Scenario(c[0]), protocol.Negatives(c[1]), d, m)
				if want := c[0] == "transductive" || m != "edgebank"; ok != want {
					t.Errorf("%v %s %s: there is %v, want %v", c, d, m, ok, want)
				}
				if ok && !r.Timeout && !(20 < r.AP.Mean && r.AP.Mean < 100 && 20 < r.AUC.Mean && r.AUC.Mean < 100 &&
					r.AP.Std < 20) {
					t.Errorf("%v %s %s: %+v", c, d, m, r)
				}
			}
		}
	}
}
