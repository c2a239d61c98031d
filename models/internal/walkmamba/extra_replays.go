package walkmamba

import "github.com/dygmamba/dygmamba/sample"

var _ sample.Replayer = (*extra)(nil)

// Replays marks it: walk vectors, roles and next items change with every event.
func (*extra) Replays() {}
