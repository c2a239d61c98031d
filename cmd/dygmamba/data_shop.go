package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/dygmamba/dygmamba/dataset"
)

// Flags that shape only a shop, or everything but a shop.
var (
	shopFlags  = []string{"events", "users", "items"}
	paperFlags = []string{"pairs", "ids", "first-gap"}
)

// synthShop writes a shop of any size.
func (a *app) synthShop(ctx context.Context, out string, o dataset.ShopOptions) error {
	if filepath.Ext(out) != ".dgm" {
		return usagef("--out %s: the shop is written as a .dgm file", out)
	}
	if o.Events < 1 || o.Users < 0 || o.Items < 0 {
		return usagef("--events %d, --users %d, --items %d: must be at least 1", o.Events, o.Users, o.Items)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return err
	}
	progress := a.console.Progress("write", "events")
	err := dataset.SaveShop(ctx, out, o, func(events int) {
		note := ""
		if events == o.Events {
			note = "sorting them by node"
		}
		progress.Set(int64(events), int64(o.Events), note)
	})
	progress.Done()
	if err != nil {
		return err
	}
	set, err := dataset.OpenNative(out)
	if err != nil {
		return err
	}
	defer set.Close()
	return a.written(set, out)
}
