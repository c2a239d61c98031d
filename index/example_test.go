package index_test

import (
	"fmt"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// A query at 20 sees what happened before 20, not what happened at 20.
func ExampleFreeze() {
	var l event.Log
	for _, e := range []event.Event{
		{Src: 1, Dst: 7, Time: 10},
		{Src: 1, Dst: 8, Time: 20},
		{Src: 7, Dst: 1, Time: 15}, // late
	} {
		if _, err := l.Append(e); err != nil {
			fmt.Println(err)
		}
	}
	past := index.Freeze(&l)
	fmt.Println(past.Before(1, 20))
	fmt.Println(past.Before(1, 21))
	// Output:
	// {[7 7] [1 3] [10 15]}
	// {[7 7 8] [1 3 2] [10 15 20]}
}
