package table

import (
	"cmp"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
)

// follow takes over which columns mean what; what is given stays.
func (o *Options) follow(s *data.Schema) {
	r := &s.Columns
	o.Source, o.Target, o.Time = cmp.Or(o.Source, r.Source), cmp.Or(o.Target, r.Target), cmp.Or(o.Time, r.Time)
	o.Label, o.Kind, o.ID = cmp.Or(o.Label, r.Label), cmp.Or(o.Kind, r.Kind), cmp.Or(o.ID, r.ID)
	o.Value = r.Value
	o.TimeLayout, o.TimeUnit = cmp.Or(o.TimeLayout, r.Layout), cmp.Or(o.TimeUnit, s.TimeUnit)
	if o.NodeID = cmp.Or(o.NodeID, r.NodeID); s.Bipartite { // others have no column of sides
		o.NodeSide = cmp.Or(o.NodeSide, r.NodeSide)
	}
	o.NodeTime = cmp.Or(o.NodeTime, r.NodeTime)
	o.NoHeader, o.KindOfFile = o.NoHeader || r.NoHeader, r.KindOfFile
	o.Bipartite = o.Bipartite || s.Bipartite
	o.EdgeFeatures, o.Features = r.Edge.Plain, nil
}

// follow makes an importer encode columns as a schema says.
func (im *importer) follow(s *data.Schema) {
	im.recipe, im.report.TimeFormat, im.like = s.Columns, s.TimeFormat, "as the schema says"
	im.recipe.Label, im.recipe.Kind, im.recipe.ID, im.recipe.NoHeader = im.Label, im.Kind, im.ID, im.NoHeader
	if im.NodeFile == "" {
		im.recipe.Node, im.recipe.NodeID, im.recipe.NodeSide, im.recipe.NodeTime = data.Encoding{}, "", "", ""
	}
	if im.NodeLabels.Path == "" {
		im.recipe.NodeLabels = data.LabelColumns{}
	}
	e := &im.recipe.Edge
	im.width, im.features.width = e.PlainWidth, e.Width()
	im.encoders = encoders{fitted: true, columns: e.Columns, width: e.Width(), encoded: s.Encoded}
	im.kinds.add(s.Kinds...)
	im.labels.begin(s.Classes)
}
