package devicetest

import "fmt"

func testTables(g *rig) {
	// Rows of y, columns, rows of the table, table rows in each row of y.
	g.sizes("y=%dx%d table=%d per=%d", [][]int{
		{0, 7, 3, 1}, {7, 0, 3, 1}, {7, 7, 1, 1}, {1, 1, 1, 1}, {33, 33, 7, 2}, {33, 50, 20, 16}, {7, 8, 3, 1},
		{400, 100, 5, 1}, {9, 172, 50, 3}, {1500, 9, 30, 2}, {2000, 50, 2500, 4}, {9000, 172, 3000, 1}, {5, 3, 4, 0},
	}, tablesCase)
}

func tablesCase(g *rig, size []int, gap int) {
	rows, cols, entries, per := size[0], size[1], size[2], size[3]
	table, y := g.in("table", entries, cols, gap), g.out("y", rows, cols, gap)
	at := make([]int32, rows*per)
	for i := range at {
		at[i] = int32(g.rng.IntN(entries+1)) - 1 // −1: no row
	}
	ids := g.indices(at)
	g.do(func() { g.dev.Gather(y.mat(), table.mat(), ids, per) })
	y.want(g, 1e-6, func(r, c int) (s float64) {
		for _, k := range at[r*per : (r+1)*per] {
			if k >= 0 {
				s += table.at(int(k), c)
			}
		}
		return s
	})

	y.role = input
	dy, dtable := g.in("dy", rows, cols, gap), g.matrix("dtable", sum, entries, cols, 0)
	g.do(func() { g.dev.ScatterAdd(dtable.mat(), dy.mat(), ids, per) })
	if g.plain() {
		want := make([]float64, entries*cols)
		for i, k := range at {
			for c := range cols {
				if k >= 0 {
					want[int(k)*cols+c] += dy.at(i/per, c)
				}
			}
		}
		dtable.wantAdded(g, 1e-5, func(r, c int) float64 { return want[r*cols+c] })
	}
}

func testAssign(g *rig) {
	// Rows of y, columns, rows of the table.
	for i, size := range [][3]int{
		{0, 7, 3}, {7, 0, 3}, {1, 1, 1}, {7, 7, 1}, {33, 33, 50}, {5, 8, 3}, {300, 172, 40}, {3, 616, 700},
		{600, 3, 100},
	} {
		for _, many := range []bool{false, true} { // of equal row numbers
			g.scope(fmt.Sprintf("y=%dx%d table=%d equal=%v", size[0], size[1], size[2], many), func(g *rig) {
				assignCase(g, size[0], size[1], size[2], gaps[i%len(gaps)], many)
			})
		}
	}
}

func assignCase(g *rig, rows, cols, entries, gap int, many bool) {
	table, y := g.matrix("table", sum, entries, cols, gap), g.in("y", rows, cols, 17-gap)
	at := make([]int32, rows)
	for i := range at {
		at[i] = int32(g.rng.IntN(entries+2)) - 2 // −2 and −1: no row
		if many {
			at[i] %= 3
		}
	}
	ids := g.indices(at)
	g.do(func() { g.dev.Assign(table.mat(), y.mat(), ids) })
	if g.plain() {
		last := map[int]int{}
		for r, k := range at {
			last[int(k)] = r
		}
		table.want(g, 0, func(k, c int) float64 {
			if r, ok := last[k]; ok {
				return y.at(r, c)
			}
			return table.at(k, c)
		})
	}
}
