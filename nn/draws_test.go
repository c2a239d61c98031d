package nn_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// drawn is a line of testdata/draws.txt: a parameter as PyTorch fills it after manual_seed(3). testdata/draws.py says
// how it was made.
type drawn struct {
	name, shape, sum string
	first, last      []float64
}

func readDrawn(t *testing.T) map[string][]drawn {
	text, err := os.ReadFile("testdata/draws.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string][]drawn{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		d := drawn{name: f[1], shape: f[2], sum: f[3]}
		for i, text := range f[4:] {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			if i < (len(f)-4)/2 {
				d.first = append(d.first, v)
			} else {
				d.last = append(d.last, v)
			}
		}
		cases[f[0]] = append(cases[f[0]], d)
	}
	return cases
}

// layerOrders declares single layers; a linear map after each of them shows where the draws have arrived.
var layerOrders = map[string]func(p *nn.Params){
	"linear":       func(p *nn.Params) { nn.NewLinear(p.In("layer"), 7, 5) },
	"projection":   func(p *nn.Params) { nn.NewProjection(p.In("layer"), 7, 5) },
	"layer_norm":   func(p *nn.Params) { nn.NewLayerNorm(p.In("layer"), 5) },
	"embedding":    func(p *nn.Params) { nn.NewEmbedding(p.In("layer"), 21, 172) },
	"multi_head":   func(p *nn.Params) { nn.NewMultiHead(p.In("layer"), 12, 3, 0) },
	"transformer":  func(p *nn.Params) { nn.NewTransformer(p.In("layer"), 12, 3, device.ReLU, 0) },
	"merge":        func(p *nn.Params) { nn.NewMerge(p.In("layer"), 11, 8, 1) },
	"time_encoder": func(p *nn.Params) { nn.NewTimeEncoder(p.In("layer"), 10) },
	"rnn":          func(p *nn.Params) { nn.NewRNN(p.In("layer"), 9, 5) },
	"gru":          func(p *nn.Params) { nn.NewGRU(p.In("layer"), 9, 5) },
	"bilstm":       func(p *nn.Params) { nn.NewBiLSTM(p.In("layer"), 9, 5) },
	"feed_forward": func(p *nn.Params) { mix(p.In("layer"), 6, 24) },
	"small_embeddings": func(p *nn.Params) { // on both sides of 16 numbers, and what one leaves for the next
		for i, n := range []int{1, 3, 15, 16, 17, 2, 31, 7, 32, 5} {
			nn.NewEmbedding(p.In("layer").In(fmt.Sprint(i)), n, 1)
		}
	},
	"temporal_attention": func(p *nn.Params) { nn.NewTemporalAttention(p.In("layer"), 14, 22, 2, 0) },
	"antisymmetric":      func(p *nn.Params) { nn.NewAntiSymmetric(p.In("layer"), 8, 12) },
}

// published are the sizes of the papers.
var published = sizes{
	node: 172, edge: 172, time: 100, neighbours: 20, layers: 2, position: 172, walk: 1, heads: 8, channel: 50, patch: 2,
}

// build declares a case of testdata/draws.txt.
func build(p *nn.Params, name string) bool {
	if layer, ok := layerOrders[name]; ok {
		layer(p)
		nn.NewLinear(p.In("after"), 3, 2)
		return true
	}
	c := published
	switch name {
	case "dyrep", "tgn":
		c.layers = 1
	case "ctan":
		c = sizes{edge: 100, width: 128, hidden: 64, shift: 16}
	}
	model, ok := orders[name]
	if ok {
		model(p, c)
	}
	return ok
}

// TestDrawsLikePyTorch compares every initial value of layers and of whole models, bit by bit.
func TestDrawsLikePyTorch(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	cases := readDrawn(t)
	if want := len(layerOrders) + len(orders); len(cases) != want {
		t.Errorf("the file has %d cases, there are %d", len(cases), want)
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			compareDraws(t, dev, name, want)
		})
	}
}

func compareDraws(t *testing.T, dev device.Device, name string, want []drawn) {
	p, other := nn.NewParams(3), nn.NewParams(4)
	if !build(p, name) || !build(other, name) {
		t.Fatal("nothing is known about it")
	}
	p.Place(dev)
	defer p.Close()
	other.Place(dev)
	defer other.Close()
	if len(p.All()) != len(want) {
		t.Fatalf("there are %d parameters, want %d", len(p.All()), len(want))
	}
	random := 0
	for i, q := range p.All() {
		w, x := want[i], p.Read(q)
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(q.Shape()), "[]"), " ", "x")
		if q.Name != w.name || shape != w.shape {
			t.Fatalf("parameter %d is %s %s, want %s %s", i, q.Name, shape, w.name, w.shape)
		}
		if digest(x) != w.sum && !frequencies(q.Name) {
			t.Errorf("%s %s differs from PyTorch's", q.Name, shape)
		}
		ends := slices.Concat(x[:len(w.first)], x[len(x)-len(w.last):])
		for k, v := range slices.Concat(w.first, w.last) {
			if math.Abs(float64(ends[k])-v) > 2e-7*math.Abs(v) {
				t.Errorf("%s starts and ends with %v, in PyTorch with %v … %v", q.Name, ends, w.first, w.last)
				break
			}
		}
		if digest(other.Read(other.All()[i])) != w.sum {
			random++
		} else if slices.Min(x) != slices.Max(x) && !frequencies(q.Name) {
			t.Errorf("%s is the same with another seed", q.Name)
		}
	}
	if random < 2 { // at least the map after a layer
		t.Error("no value depends on the seed")
	}
}

// frequencies tells parameters that are not drawn but computed, by a power that libraries round differently.
func frequencies(name string) bool { return strings.HasSuffix(name, ".w.weight") }

func digest(x []float32) string {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, x)
	return fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))[:16]
}

// TestOrders compares names and shapes with those of the reference programs' own models.
func TestOrders(t *testing.T) {
	toy := sizes{
		node: 8, edge: 8, time: 6, neighbours: 4, layers: 2, position: 6, walk: 1, heads: 2, channel: 4, patch: 2,
	}
	_, models := golden.Models(t)
	for name, reference := range map[string]string{
		"jodie": "JODIE", "dyrep": "DyRep", "tgn": "TGN", "tgat": "TGAT", "cawn": "CAWN_recent_sampler", "tcl": "TCL",
		"graphmixer": "GraphMixer", "dygformer": "DyGFormer",
	} {
		c := toy
		if name == "dyrep" || name == "tgn" {
			c.layers = 1
		}
		want := models[reference].Params
		if name == "graphmixer" { // whose list has what is trained
			want = slices.Concat(models["TGAT"].Params[:2], want)
		}
		p := nn.NewParams(0)
		orders[name](p, c)
		const predictor = 4
		if len(want) == 0 || len(p.All()) != len(want)+predictor {
			t.Fatalf("%s has %d parameters, want %d and %d of its predictor", name, len(p.All()), len(want), predictor)
		}
		for i := range want {
			q := p.All()[i]
			if q.Name != "0."+want[i].Name || !slices.Equal(q.Shape(), want[i].Shape) {
				t.Errorf("%s: parameter %d is %s %v, want %v", name, i, q.Name, q.Shape(), want[i])
			}
		}
	}
}

// TestReleasedTGN compares with a TGN that the released program has trained from seed 0 for 120 steps of Adam with rate
// 1e-4: no number can have gone far. Numbers in another order would be as far as their bounds apart, five times that.
func TestReleasedTGN(t *testing.T) {
	const seed, far = 0, 120 * 1e-4
	file, err := checkpoint.Load(golden.Shared(t, "spec", "golden", "predict-tgn-enron", "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	c := published
	c.layers = 1
	p := nn.NewParams(seed)
	orders["tgn"](p, c)
	p.Place(dev)
	for _, q := range p.All() {
		trained, ok := file.Find(q.Name)
		if !ok || len(trained.Data) != q.Len() {
			t.Fatalf("the released program has no %s of %d numbers", q.Name, q.Len())
		}
		most := 0.0
		for i, x := range p.Read(q) {
			most = max(most, math.Abs(float64(x-trained.Data[i])))
		}
		if most > far {
			t.Errorf("%s has gone %v in 120 steps, further than %v", q.Name, most, far)
		}
	}
}

// TestDrawBefore changes the order of draws and nothing else.
func TestDrawBefore(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	type named = map[string]*tensor.Tensor
	values := func(names string, change func(*nn.Params, named)) (list string, drawn map[string]float32) {
		p := nn.NewParams(3)
		tensors := named{}
		for name := range strings.FieldsSeq(names) {
			tensors[name] = p.Add(name, nn.Uniform(1), 1)
		}
		change(p, tensors)
		p.Place(dev)
		defer p.Close()
		drawn = map[string]float32{}
		for _, q := range p.All() {
			list += q.Name + " "
			drawn[q.Name] = p.Read(q)[0]
		}
		return list, drawn
	}
	none := func(*nn.Params, named) {}
	_, want := values("a d e b c f", none)
	list, got := values("a b c d e f", func(p *nn.Params, t named) { p.DrawBefore(t["b"], t["d"], t["e"]) })
	if list != "a b c d e f " || !maps.Equal(got, want) {
		t.Errorf("d and e before b: %s%v, want %v", list, got, want)
	}
	_, want = values("b c a d", none)
	_, got = values("a b c d", func(p *nn.Params, t named) { p.DrawBefore(t["d"], t["a"]) })
	if !maps.Equal(got, want) {
		t.Errorf("a before d: %v, want %v", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a tensor that is no parameter was given a place")
		}
	}()
	values("a", func(p *nn.Params, t named) { p.DrawBefore(t["a"], new(tensor.Tensor)) })
}

// TestOrderOfCTAN compares names and shapes with those of its authors' program.
func TestOrderOfCTAN(t *testing.T) {
	text, err := os.ReadFile(golden.Shared(t, "spec", "golden", "ctan.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Params []golden.Param }
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	p := nn.NewParams(0)
	orders["ctan"](p, sizes{edge: 8, width: 8, hidden: 4, shift: 4})
	if len(p.All()) != len(want.Params) {
		t.Fatalf("there are %d parameters, want %d", len(p.All()), len(want.Params))
	}
	for i, q := range p.All() {
		if w := want.Params[i]; q.Name != w.Name || !slices.Equal(q.Shape(), w.Shape) {
			t.Errorf("parameter %d is %s %v, want %v", i, q.Name, q.Shape(), w)
		}
	}
}
