// Package dataset answers: where do events come from?
//
// Open finds a data set by name, directory or file. Import turns a user's own tables into one native file. Synth and
// Periodic make streams with a known pattern. Nothing here prints: what a user should know comes back as errors that
// say what was found, where, and what would have been right, as warnings in the Set, or through a progress callback.
//
// The work is done in the packages below, one for each kind of source; this one is the door to all of them.
package dataset

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/layout"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/dataset/internal/synth"
	"github.com/dygmamba/dygmamba/dataset/internal/table"
	"github.com/dygmamba/dygmamba/event"
)

// What a data set is.
type (
	// Set is one data set, ready to be split and replayed. Events are in time order, ties in the order of the source.
	Set = data.Set
	// Features is a row-major matrix. Data nil: all zero. Row 0 belongs to no node or event.
	Features = data.Features
	// Timeline is features of nodes that change over time.
	Timeline = data.Timeline
	// IDs are what events were called, by edge id.
	IDs = data.IDs
	// NodeLabels say which class nodes have at times of their own.
	NodeLabels = data.NodeLabels
	// Names is the dictionary of a data set: what its nodes were called where they came from. A nil *Names calls every
	// node by its id.
	Names = data.Names
	// Clock tells what the times of a data set mean.
	Clock = data.Clock
	// Info is the statistics of a data set.
	Info = data.Info
	// Recipe is how tables became a set: which columns meant what, and what the encodings of features were fitted to.
	Recipe = data.Recipe
	// Encoding is how the columns of a table become features.
	Encoding = data.Encoding
	// Schema is everything that an import learned about the columns of tables.
	Schema = data.Schema
	// Encoder turns raw columns of events, by name, into features.
	Encoder = data.Encoder
	// ColumnInfo is what a column of events holds.
	ColumnInfo = data.ColumnInfo
)

// What is said of someone's files.
type (
	// InputError is a complaint about someone's data: where it is, what was found, and what would have been right.
	InputError = input.Error
	// Problems is everything found wrong with some input. It is an error if Total > 0.
	Problems = input.Problems
	// Place is where a value stands in someone's file, for complaints about it.
	Place = input.Place
)

// How streams are made.
type (
	// SynthOptions choose among the readings of the paper's description of S1, S2 and S3. The zero value is the one its
	// tables imply.
	SynthOptions = synth.PaperOptions
	// HabitsOptions shape a stream of weekly habits. Zero values are replaced by defaults.
	HabitsOptions = synth.HabitsOptions
	// Routine is what a stream of habits was made from: how likely every visit was.
	Routine = synth.Routine
	// HawkesOptions shape a marked Hawkes process with daily habits. Zero values are replaced by defaults.
	HawkesOptions = synth.HawkesOptions
	// Truth is what a Hawkes process was made from: the rate and the probability of every event.
	Truth = synth.Truth
	// PeriodicOptions shape a Periodic stream. Zero values are replaced by those of DefaultPeriodic.
	PeriodicOptions = synth.PeriodicOptions
)

// How tables are read and written, and what came of it.
type (
	// ImportOptions say how to read someone's tables. The zero value guesses from the content and the column names.
	ImportOptions = table.Options
	// ImportProgress is how far an import has come.
	ImportProgress = table.Progress
	// ImportReport is what an import did.
	ImportReport = table.Report
	// LabelFile is a table of labels of nodes, for ImportOptions.
	LabelFile = table.LabelFile
	// AppendOptions say how to read tables of later events. What is not said is as in the first import.
	AppendOptions = table.AppendOptions
	// AppendReport is what was appended.
	AppendReport = table.AppendReport
	// Columns says which column of a table means what, by name; "" for none.
	Columns = table.Columns
	// Column is one of a table for WriteColumns, made by TextColumn, IntColumn, Float32Column or FloatColumn.
	Column = table.Column
	// Exported is a table that was written, and the options with which Import reads it again.
	Exported = table.Exported
	// Sheet is a table whose columns are all kept as text.
	Sheet = table.Sheet
	// SheetAsks is what the rows of a sheet ask.
	SheetAsks = table.Asks
	// JODIEOptions say how to read a raw JODIE file.
	JODIEOptions = layout.JODIEOptions
)

// Names of choices and formats.
const (
	// Sides of nodes, as Names.Side tells them: nodes of one side have different names.
	SideSource   = data.SideSource   // sources of a bipartite set, and all nodes of others
	SideTarget   = data.SideTarget   // destinations of a bipartite set
	SideNameless = data.SideNameless // nodes that are not in the dictionary

	// How times are written in a source.
	TimeNumber = input.TimeNumber // in whatever unit the data has
	TimeDate   = input.TimeDate   // as dates, kept as seconds since 1970-01-01T00:00:00Z

	// Values of SynthOptions.
	IDsShared   = synth.IDsShared   // 7 nodes that are both sources and destinations
	IDsSeparate = synth.IDsSeparate // 7 sources and 7 destinations
	GapCents    = synth.GapCents    // a pair's first gap has two decimals
	GapReal     = synth.GapReal     // it is any number; times are rounded to two decimals
	GapInteger  = synth.GapInteger  // it is a whole number

	// Formats of tables; the last is that of the JODIE project's files, for ReadJODIE.
	FormatCSV     = table.FormatCSV
	FormatJSONL   = table.FormatJSONL
	FormatParquet = table.FormatParquet
	FormatJODIE   = layout.FormatJODIE

	// Questions: do source and destination interact at a time, or whom does the source meet then? Or no question: a
	// list of destinations, one name a line or the column i of a table.
	AsksPairs    = table.Pairs
	AsksSources  = table.Sources
	ListsTargets = table.Targets

	// DateForms says which dates are read.
	DateForms = input.DateForms
	// AllColumns in ImportOptions.Features stands for every column that has no other meaning.
	AllColumns = table.AllColumns
	// DefaultCategories is how many values of a column have a feature each, unless ImportOptions says otherwise.
	DefaultCategories = table.DefaultCategories
	// DensityBins is the number of parts in Info.Density.
	DensityBins = data.DensityBins
)

var (
	// SynthNames are the data sets Synth makes.
	SynthNames = append(slices.Clone(synth.PaperNames), synth.HabitsName, synth.HawkesName)
	// DefaultPeriodic is small enough to learn in a minute.
	DefaultPeriodic = synth.DefaultPeriodic
	// JODIEBipartite are the public sets whose users and items are numbered apart.
	JODIEBipartite = layout.JODIEBipartite
)

// Classes says which class a label is: see Set.LabelClasses.
type Classes = data.Classes

// ErrManyClasses says that labels have more values than a classifier tells apart.
var ErrManyClasses = data.ErrManyClasses

// CheckClasses says what is wrong with a list of names of classes of labels.
func CheckClasses(names []string) error { return data.CheckClasses(names) }

// ListKinds lists names of kinds of events for people, the first of them where there are many.
func ListKinds(kinds []string) string { return data.ListKinds(kinds) }

// NewNames makes a dictionary of the names of nodes 1, 2, …. The first sources of them are sources and the others
// destinations; sources 0 means one id space. A name may not occur twice on one side.
func NewNames(names []string, sources int) (*Names, error) { return data.NewNames(names, sources) }

// Featureless is a set of events alone, without features or names.
func Featureless(name string, log *event.Log) *Set { return data.Featureless(name, log) }

// Stats measures a data set.
func Stats(s *Set) Info { return data.Stats(s) }

// ClockOf is the clock of times that were written in a format, as numbers of a unit where that is known.
func ClockOf(format, unit string) Clock { return data.ClockOf(format, unit) }

// TimeUnits are the units of Unix times.
var TimeUnits = data.Units

// ParseTime reads a time as Import does: a number, or a date in one of DateForms. format says which it was.
func ParseTime(s string) (at event.Time, format string, err error) { return input.ParseTime(s) }

// FormatTime writes a time as ParseTime reads it, so that nothing is lost.
func FormatTime(at event.Time, format string) string { return input.FormatTime(at, format) }

// Synth makes S1, S2 or S3 of the DyGMamba paper's appendix on synthetic data, a stream of weekly habits, or a Hawkes
// process with daily habits; of the last two only the seed can be chosen here.
func Synth(name string, o SynthOptions) (*Set, error) {
	if name == synth.HabitsName || name == synth.HawkesName {
		if o != (SynthOptions{Seed: o.Seed}) {
			return nil, fmt.Errorf("pairs, ids and first gaps are those of %s, %s has none to choose",
				strings.Join(synth.PaperNames, ", "), name)
		}
		if name == synth.HawkesName {
			set, _, err := synth.Hawkes(synth.HawkesOptions{Seed: o.Seed})
			return set, err
		}
		set, _, err := synth.Habits(synth.HabitsOptions{Seed: o.Seed})
		return set, err
	}
	return synth.Paper(name, o)
}

// Habits makes a stream in which people go to places on workdays, at weekends or on one day of the week, around hours
// that drift. Who goes where is soon known; what is left to predict is when.
func Habits(o HabitsOptions) (*Set, *Routine, error) { return synth.Habits(o) }

// Hawkes makes a stream in which sources act more often at their own time of the day and for a while after each of
// their events, with destinations that are repeated or drawn by fixed shares. Rates and probabilities are known.
func Hawkes(o HawkesOptions) (*Set, *Truth, error) { return synth.Hawkes(o) }

// Periodic makes a bipartite stream in which every source meets every target again and again, each pair in a rhythm of
// its own. Who has met whom, how often and how recently says next to nothing about who meets next. Comparing the time
// since a pair's last meeting with the gaps before it does.
func Periodic(o PeriodicOptions) (*Set, error) { return synth.Periodic(o) }

// OpenNative opens a file made by Import or Save. Where the system can, the file is mapped into memory rather than
// read, so Close the set when done. Events, names and histories are checked against their checksums when they are first
// read: Set.Log.Verify tells at once whether the events are as they were written. Whatever reads a damaged part without
// an error to return panics with an *event.DamageError.
func OpenNative(path string) (*Set, error) { return native.Open(path) }

// Save writes the set as one native file. The file appears whole or not at all.
func Save(path string, s *Set) error { return native.Save(path, s) }

// Import reads tables of events and writes them as one native file. Rows may be in any order; nodes are numbered in the
// order in which their names first appear, and events carry the number of their row as edge id. If anything is wrong
// with the input, the error is a *Problems and nothing is written. With out "" nothing is written in any case: the
// input is only checked.
func Import(ctx context.Context, files []string, out string, o ImportOptions) (*ImportReport, error) {
	return table.Import(ctx, files, out, o)
}

// ReadSheet reads a table in any form that Import takes, from in where path is "-". If anything is wrong with it, the
// error is a *Problems. The options' Source, Target and Time name columns; u, i and ts are looked for first, then what
// Import looks for.
func ReadSheet(ctx context.Context, path string, in io.Reader, asks SheetAsks, o ImportOptions) (*Sheet, error) {
	return table.ReadSheet(ctx, path, in, asks, o)
}

// Append reads tables of events and adds them to a native file, which is replaced as a whole when all is well. Ids,
// names and features of what is there stay; nodes that are new are numbered on, and features of new rows are encoded
// as those of the first import were. Rows may be in any order, and earlier than what is there. If anything is wrong
// with the input, the error is a *Problems and the file stays as it is.
func Append(ctx context.Context, path string, files []string, o AppendOptions) (*AppendReport, error) {
	return table.Append(ctx, path, files, o)
}

// ParseSchema reads a schema from JSON.
func ParseSchema(raw []byte) (*Schema, error) { return data.ParseSchema(raw) }

// ExportEncoded is ExportEvents with all columns of features as the numbers that they became.
func ExportEncoded(ctx context.Context, w io.Writer, s *Set, format string) (*Exported, error) {
	return table.ExportEncoded(ctx, w, s, format)
}

// ExportEvents writes the events of a set as FormatCSV or FormatParquet, in the order in which they came: columns of
// features with values as they were imported, as far as these can be told. Import with the options of the result, which
// have a schema, makes the same set of them: events, ids, names, labels, kinds and features.
func ExportEvents(ctx context.Context, w io.Writer, s *Set, format string) (*Exported, error) {
	return table.ExportEvents(ctx, w, s, format)
}

// Columns of different types; floats have digits enough to read the same numbers back.
var (
	TextColumn    = table.TextColumn
	IntColumn     = table.IntColumn
	Float32Column = table.Float32Column
	FloatColumn   = table.FloatColumn
)

// WriteColumns writes a table as FormatCSV or FormatParquet.
func WriteColumns(ctx context.Context, w io.Writer, format string, rows int, columns ...Column) error {
	return table.WriteColumns(ctx, w, format, rows, columns...)
}

// ExportNodes writes the nodes of a set with their features, for ImportOptions.NodeFile.
func ExportNodes(ctx context.Context, w io.Writer, s *Set, format string) (*Exported, error) {
	return table.ExportNodes(ctx, w, s, format)
}

// ExportNodeLabels are the columns of a table with the labels of a set's nodes, for WriteColumns, and how
// ImportOptions.NodeLabels name them.
func ExportNodeLabels(s *Set) (rows int, columns []Column, o LabelFile) {
	return table.ExportNodeLabels(s)
}

// Slice is the part of a set that happened from a time on and before another. Nodes keep their ids, names and features;
// events are numbered anew. The set must stay open while the part is used.
func Slice(s *Set, from, to event.Time) *Set { return data.Slice(s, from, to) }

// Without is a set that never had some events, given by their places in the log, nor some nodes and their events. Nodes
// that are left without events are left out too, where nodes have names; others are numbered anew. What was fitted to
// columns stays. The set must stay open while the part is used.
func Without(s *Set, drop func(i int) bool, erase map[event.Node]bool) *Set {
	return data.Without(s, drop, erase)
}

// SaveDyGLib writes the set as ml_NAME.csv, ml_NAME.npy and ml_NAME_node.npy in dir, which is made if need be. Names of
// nodes are not kept in this layout. Each file appears whole or not at all, the csv last.
func SaveDyGLib(dir string, s *Set) error { return layout.Save(dir, s) }

// ReadJODIE reads a raw file of the JODIE project: a header line, then user,item,timestamp,label,feature,feature,… in
// the order of time, ids from 0. Users become nodes 1 … U; items become U+1 … U+I in a bipartite set, in which both
// must be numbered without gaps, and share the numbers of users elsewhere. Problems of the data are an *InputError.
func ReadJODIE(ctx context.Context, path string, o JODIEOptions) (*Set, error) {
	return layout.ReadJODIE(ctx, path, o)
}
