package nn_test

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/nn"
)

// sizes are what the parameters of the models below depend on.
type sizes struct {
	node, edge, time     int
	neighbours, layers   int // TCL, GraphMixer; all but CAWN and CTAN
	position, walk       int // CAWN
	heads                int // CAWN's have to divide a width
	channel, patch       int // DyGFormer
	width, hidden, shift int // CTAN: of memory, of its predictor, of its time code
}

// orders declares the parameters of published models in the order in which their programs construct them, which is the
// order that a model has to follow to start from the same weights. In all of them it is the order of names too: a
// module gets its name when it is made. Draws and names part only inside of layers, and there the layers of this
// package know: NewTimeEncoder, NewMultiHead (and with it NewTransformer), NewAntiSymmetric and NewMamba.
//
// Not in the list of names but among the draws are GraphMixer's frozen time encoder and nothing else. A memory, and a
// time encoder that is named a second time (TGN's and DyRep's embedding_module.time_encoder), draw nothing. DyGLib's
// models are "0", their link predictor, made last, is "1"; CTAN names its parts itself.
var orders = map[string]func(p *nn.Params, c sizes){
	"jodie": func(p *nn.Params, c sizes) {
		s := p.In("0")
		nn.NewTimeEncoder(s.In("time_encoder"), c.time)
		nn.NewRNN(s.In("memory_updater.memory_updater"), 2*c.node+c.time+c.edge, c.node)
		nn.NewLinear(s.In("embedding_module.linear_layer"), 1, c.node)
		linkPredictor(p, c)
	},
	"dyrep": func(p *nn.Params, c sizes) {
		s := p.In("0")
		nn.NewTimeEncoder(s.In("time_encoder"), c.time)
		nn.NewRNN(s.In("memory_updater.memory_updater"), 2*c.node+c.time+c.edge, c.node)
		graphAttention(s.In("embedding_module"), c)
		linkPredictor(p, c)
	},
	"tgn": func(p *nn.Params, c sizes) {
		s := p.In("0")
		nn.NewTimeEncoder(s.In("time_encoder"), c.time)
		nn.NewGRU(s.In("memory_updater.memory_updater"), 2*c.node+c.time+c.edge, c.node)
		graphAttention(s.In("embedding_module"), c)
		linkPredictor(p, c)
	},
	"tgat": func(p *nn.Params, c sizes) {
		s := p.In("0")
		nn.NewTimeEncoder(s.In("time_encoder"), c.time)
		graphAttention(s, c)
		linkPredictor(p, c)
	},
	"cawn": func(p *nn.Params, c sizes) {
		s := p.In("0")
		nn.NewTimeEncoder(s.In("time_encoder"), c.time)
		nn.NewLinear(s.In("position_encoder.position_encode_layer.0"), c.walk+1, c.position)
		nn.NewLinear(s.In("position_encoder.position_encode_layer.2"), c.position, c.position)
		s = s.In("walk_encoder")
		step := c.node + c.edge + c.time + c.position
		width := (step/2 + c.heads - 1) / c.heads * c.heads
		nn.NewBiLSTM(s.In("feature_encoder.bilstm_encoder"), step, step/2)
		nn.NewBiLSTM(s.In("position_encoder.bilstm_encoder"), c.position, c.position/2)
		nn.NewTransformer(s.In("transformer_encoder"), width, c.heads, device.ReLU, 0)
		nn.NewLinear(s.In("projection_layers.0"), step/2*2+c.position/2*2, width)
		nn.NewLinear(s.In("projection_layers.1"), width, c.node)
		linkPredictor(p, c)
	},
	"tcl": func(p *nn.Params, c sizes) {
		s := p.In("0")
		nn.NewTimeEncoder(s.In("time_encoder"), c.time)
		nn.NewEmbedding(s.In("depth_embedding"), c.neighbours+1, c.node)
		nn.NewLinear(s.In("projection_layer.node"), c.node, c.node)
		nn.NewLinear(s.In("projection_layer.edge"), c.edge, c.node)
		nn.NewLinear(s.In("projection_layer.time"), c.time, c.node)
		for l := range c.layers {
			nn.NewTransformer(s.In("transformers").In(fmt.Sprint(l)), c.node, 2, device.ReLU, 0)
		}
		nn.NewLinear(s.In("output_layer"), c.node, c.node)
		linkPredictor(p, c)
	},
	"graphmixer": func(p *nn.Params, c sizes) {
		s := p.In("0")
		nn.NewTimeEncoder(s.In("time_encoder"), c.time) // frozen, but drawn
		nn.NewLinear(s.In("projection_layer"), c.edge+c.time, c.edge)
		for l := range c.layers {
			m := s.In("mlp_mixers").In(fmt.Sprint(l))
			nn.NewLayerNorm(m.In("token_norm"), c.neighbours)
			mix(m.In("token_feedforward"), c.neighbours, c.neighbours/2)
			nn.NewLayerNorm(m.In("channel_norm"), c.edge)
			mix(m.In("channel_feedforward"), c.edge, 4*c.edge)
		}
		nn.NewLinear(s.In("output_layer"), c.edge+c.node, c.node)
		linkPredictor(p, c)
	},
	"dygformer": func(p *nn.Params, c sizes) {
		s := p.In("0")
		nn.NewTimeEncoder(s.In("time_encoder"), c.time)
		counts := s.In("neighbor_co_occurrence_encoder.neighbor_co_occurrence_encode_layer")
		nn.NewLinear(counts.In("0"), 1, c.channel)
		nn.NewLinear(counts.In("2"), c.channel, c.channel)
		nn.NewLinear(s.In("projection_layer.node"), c.patch*c.node, c.channel)
		nn.NewLinear(s.In("projection_layer.edge"), c.patch*c.edge, c.channel)
		nn.NewLinear(s.In("projection_layer.time"), c.patch*c.time, c.channel)
		nn.NewLinear(s.In("projection_layer.neighbor_co_occurrence"), c.patch*c.channel, c.channel)
		for l := range c.layers {
			nn.NewTransformer(s.In("transformers").In(fmt.Sprint(l)), 4*c.channel, 2, device.GELU, 0)
		}
		nn.NewLinear(s.In("output_layer"), 4*c.channel, c.node)
		linkPredictor(p, c)
	},
	"ctan": func(p *nn.Params, c sizes) { // one number is a node's feature
		s := p.In("gnn")
		nn.NewLinear(s.In("enc_x"), c.width+1, c.width)
		nn.NewAntiSymmetric(s.In("aconv"), c.width, c.edge+c.shift)
		nn.NewLinear(s.In("time_enc.lin"), 1, c.shift) // an ordinary linear map, not a time encoder
		s = p.In("readout")
		nn.NewLinear(s.In("lin_src"), c.width, c.hidden)
		nn.NewLinear(s.In("lin_dst"), c.width, c.hidden)
		nn.NewLinear(s.In("lin_final"), c.hidden, 1)
	},
}

func linkPredictor(p *nn.Params, c sizes) { nn.NewMerge(p.In("1"), 2*c.node, c.node, 1) }

// graphAttention makes all attention layers before all merge layers.
func graphAttention(s nn.Scope, c sizes) {
	for l := range c.layers {
		attention := s.In("temporal_conv_layers").In(fmt.Sprint(l))
		nn.NewTemporalAttention(attention, c.node+c.time, c.node+c.edge+c.time, 2, 0)
	}
	for l := range c.layers {
		nn.NewMerge(s.In("merge_layers").In(fmt.Sprint(l)), c.node+c.time+c.node, c.node, c.node)
	}
}

func mix(s nn.Scope, width, hidden int) {
	nn.NewFeedForward(s, "ffn.0", "ffn.3", width, hidden, width, device.GELU, 0)
}
