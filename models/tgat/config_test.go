package tgat

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// TestSizes compares with the parameters of the released program.
func TestSizes(t *testing.T) { modeltest.Count(t, table(Default), 1052945, 993432) }

func TestPresets(t *testing.T) {
	for _, tt := range []struct {
		preset, data string
		dropout      float64
		strategy     string
		epochs       int
		order        string
	}{
		{"released", "reddit", 0.1, sample.Uniform, 100, ""},
		{"released", "enron", 0.2, sample.Recent, 100, ""},
		{"paper", "wikipedia", 0.1, sample.Recent, 200, ""},
		{"paper", "CanParl", 0.2, sample.Uniform, 200, ""},
		{"paper", "UNtrade", 0.1, sample.Uniform, 200, ""},
		{"paper", "UNvote", 0.2, sample.Recent, 200, ""},
		{"paper", "my own", 0.1, sample.Recent, 200, ""},
	} {
		s, err := Factory.Spec(tt.preset, model.Data{Name: tt.data})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Config.(*Config)
		want := []any{tt.dropout, tt.strategy, tt.epochs, tt.order}
		if diff := cmp.Diff(want, []any{c.Dropout, c.Strategy, s.Training.Epochs, s.Order}); diff != "" {
			t.Errorf("%s on %s: %s", tt.preset, tt.data, diff)
		}
	}
	for _, tt := range []struct {
		data   model.Data
		preset string
	}{
		{model.Data{Name: "enron"}, "paper"}, {model.Data{}, "paper"},
		{model.Data{Name: "mine", Imported: true}, "paper"},
	} {
		s, err := Factory.Spec("", tt.data)
		if err != nil || s.Preset != tt.preset || s.Config.(*Config).ExactTimes != tt.data.Imported {
			t.Errorf("%+v: preset %s, %+v, %v", tt.data, s.Preset, s.Config, err)
		}
	}
}

func TestBadConfigurations(t *testing.T) {
	modeltest.Refuses(t, Factory, map[string]string{
		"time_feat_dim=1":              "must be at least 2",
		"node_feat_dim=0":              "node_feat_dim is 0, must be at least 1",
		"edge_feat_dim=1000000":        "must be at least 1 and at most 65536",
		"dropout=1":                    "must be at least 0 and below 1",
		"dropout=NaN":                  "dropout is NaN",
		"num_heads=3":                  "must divide node_feat_dim + time_feat_dim = 272",
		"num_layers=9":                 "num_layers is 9, must be at least 1 and at most 8",
		"num_neighbors=-1":             "num_neighbors is -1",
		"sample_neighbor_strategy=old": `neighbour strategy "old"`,
		"last_message=time":            `no key "last_message"`,
	})
	modeltest.RefusesWide(t, Factory)
}

// TestConfigFromTensors recognises weights of the released program by their shapes.
func TestConfigFromTensors(t *testing.T) {
	c := Default
	c.NodeDim, c.EdgeDim, c.TimeDim = 24, 10, 8
	c.Layers, c.Heads, c.Neighbors = 3, 4, 7
	shapes := modeltest.Shapes(table(c))
	modeltest.Recognises(t, Factory, modeltest.Recognised{
		Config: &c, Shapes: shapes, Told: []string{"num_heads=4", "num_neighbors=7"},
		Contradict: "time_feat_dim=12", Without: "1.fc2.bias", Name: "TGAT",
	})
}
