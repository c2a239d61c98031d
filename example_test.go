package dygmamba_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/open"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
)

// Train a narrow DyGMamba for two epochs on a small stream in which every pair meets in a rhythm of its own.
func ExampleTrain() {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 1000})
	if err != nil {
		log.Fatal(err)
	}
	dev, _, err := open.Device("cpu", open.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	dir, err := os.MkdirTemp("", "run-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	summary, err := dygmamba.Train(context.Background(), dygmamba.TrainOptions{
		Set:    set,
		Device: dev,
		Dir:    dir, // keeps checkpoint.safetensors, log.jsonl, result.json and what --resume needs
		Settings: []string{"num_epochs=2", "channel_embedding_dim=8", "time_feat_dim=16", "max_input_sequence_length=8",
			"node_feat_dim=8", "edge_feat_dim=8"},
	})
	if err != nil {
		log.Fatal(err)
	}
	run := summary.Runs[0]
	fmt.Printf("%s on %s: %d epochs, %d parameters\n", run.Model, run.Data, run.Epochs, run.Params)
	for _, m := range run.Results {
		fmt.Printf("%s, %s negatives: AP and AUC of %d events\n", m.Scenario, m.Strategy, m.Positives)
	}
	// Output:
	// dygmamba on periodic: 2 epochs, 7862 parameters
	// transductive, random negatives: AP and AUC of 151 events
	// inductive, random negatives: AP and AUC of 34 events
}

// Ask a trained model who will meet whom. Nodes are found by name where the data set has names.
func ExampleLoad() {
	dir, set := exampleRun() // a directory that Train filled, and the data set it was trained on
	p, err := predict.Load(dir, predict.Options{Set: set})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	u, _ := set.Names.Source("u1")
	v, _ := set.Names.Target("v2")
	end := set.Log.At(set.Log.Len() - 1).Time
	logits, err := p.Score(context.Background(), []predict.Query{
		{Src: u, Dst: v, Time: end / 2},  // from what was known then
		{Src: u, Dst: v, Time: end + 10}, // in the future
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range logits {
		probability := p.Probability(x)
		fmt.Println(p.Model(), "gives a probability:", probability > 0 && probability < 1)
	}
	// Output:
	// dygmamba gives a probability: true
	// dygmamba gives a probability: true
}

// A checkpoint of the released program, as safetensors or as PyTorch wrote it, says neither which model it is of nor
// how long its histories are.
func ExampleLoad_released() {
	weights, set := exampleWeights() // tensors named 0.… and 1.…, and nothing else
	p, err := predict.Load(weights, predict.Options{
		Set:      set,
		Model:    "dygmamba",
		Settings: []string{"max_input_sequence_length=12", "max_interaction_times=4"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	logits, err := p.Score(context.Background(), []predict.Query{{Src: 1, Dst: 12, Time: 500}})
	fmt.Println(len(logits), "answer,", err)
	// Output: 1 answer, <nil>
}

// Find out what an answer rests on.
func ExamplePredictor_Explain() {
	dir, set := exampleRun()
	p, err := predict.Load(dir, predict.Options{Set: set})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	end := set.Log.At(set.Log.Len() - 1).Time
	p.Top = 1 // withhold the most weighted patch of either side
	found, err := p.Explain(context.Background(), []predict.Query{{Src: 1, Dst: 12, Time: end + 1}})
	if err != nil {
		log.Fatal(err)
	}
	e := found[0]
	fmt.Printf("%s and %s, %d gaps between their meetings\n", e.Source.Name, e.Destination.Name, len(e.Gaps))
	fmt.Println("not knowing the gaps changes the answer:", e.WithoutGaps.Change != 0)
	for _, patch := range e.Source.Patches {
		if patch.Without != nil {
			fmt.Println("the most weighted patch has", len(patch.Events), "events with a weight above 0:",
				patch.Weight > 0)
		}
	}
	// Output:
	// u1 and v2, 4 gaps between their meetings
	// not knowing the gaps changes the answer: true
	// the most weighted patch has 2 events with a weight above 0: true
}

// Measure a trained model under the published protocol.
func ExampleEvaluate() {
	dir, set := exampleRun()
	results, err := dygmamba.Evaluate(context.Background(), dir, dygmamba.EvaluateOptions{
		LoadOptions: predict.Options{Set: set},
		Scenarios:   []protocol.Scenario{protocol.Transductive},
		Strategies:  []protocol.Negatives{protocol.RandomNegatives, protocol.HistoricalNegatives},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Printf("%s, %s negatives: %d positives in %d batches\n", r.Scenario, r.Strategy, r.Positives, r.Batches)
	}
	// Output:
	// transductive, random negatives: 151 positives in 2 batches
	// transductive, historical negatives: 151 positives in 2 batches
}
