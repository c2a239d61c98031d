package run_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// Files keep the bytes that they had when each kind of negatives was a field: values by kind stand where these stood.
func TestKindsKeepTheirBytes(t *testing.T) {
	mixed := model.Standard
	mixed.Negatives = protocol.Shares{protocol.TimeNegatives: 0.5, protocol.HistoricalNegatives: 0.25}
	mixed.SelectBy, mixed.Calibrate, mixed.WeightDecay = "time", true, 0.001
	m := &run.Metric{Loss: 0.5, Score: run.Score{AP: 0.25, AUC: 0.75}}
	const written = `{"loss":0.5,"ap":0.25,"auc":0.75}`
	all := run.Validations{protocol.TimeNegatives: m, protocol.HistoricalNegatives: m, protocol.InductiveNegatives: m}
	const standard = `{"batch_size":200,"learning_rate":0.0001,"num_epochs":100,"patience":20,"optimizer":"Adam"`
	for want, value := range map[string]any{
		standard + `}`: &model.Standard,
		standard + `,"weight_decay":0.001,"negatives_random":0,"negatives_historical":0.25,"negatives_time":0.5,` +
			`"select_by":"time","calibrate":true}`: &mixed,
		`{"epoch":2,"train_loss":0.5,"train_ap":0.25,"train_auc":0.125,"val":` + written + `,"new_node_val":` +
			written + `,"val_historical":` + written + `,"val_inductive":` + written + `,"val_time":` + written +
			`,"test":` + written + `,"improved":true,"events_per_second":3,` +
			`"seconds":{"train":0,"waiting":0,"evaluate":0}}`: &run.Epoch{Epoch: 2, Loss: 0.5, AP: 0.25, AUC: 0.125,
			Val: m, NewVal: m, Others: all, Test: m, Improved: true, Events: 3},
		`{"epoch":1,"train_loss":0,"train_ap":0,"train_auc":0,"improved":false,"events_per_second":0,` +
			`"seconds":{"train":0,"waiting":0,"evaluate":0}}`: &run.Epoch{Epoch: 1},
		`{"model":"m","data":"","seed":0,"preset":"","parameters":0,"epochs":0,"best_epoch":0,"seconds":0,` +
			`"epoch_seconds":0,"peak_bytes":0,"device":"","val":` + written + `,"val_historical":` + written +
			`,"val_time":` + written + `,"results":null,"split_hash":"","order":"strict"}`: &run.Result{Model: "m",
			Val: m, Others: run.Validations{"historical": m, "time": m}, Order: protocol.Strict},
	} {
		raw, err := json.Marshal(value)
		if err != nil || string(raw) != want {
			t.Errorf("written is\n%s, %v, want\n%s", raw, err, want)
		}
		again := reflect.New(reflect.TypeOf(value).Elem()).Interface()
		if training, ok := again.(*model.Training); ok {
			*training = model.Standard
		}
		if err := json.Unmarshal([]byte(want), again); err != nil {
			t.Error(err)
		}
		if raw, _ := json.Marshal(again); string(raw) != want {
			t.Errorf("read again it is\n%s, want\n%s", raw, want)
		}
	}
	if !model.Standard.Negatives.IsZero() {
		t.Errorf("reading has changed the standard to %v", model.Standard.Negatives)
	}
}
