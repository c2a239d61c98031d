package main

import (
	"github.com/spf13/cobra"
)

func newServeVerify(a *app) *cobra.Command {
	return &cobra.Command{Use: "verify", Example: "x", RunE: func(*cobra.Command, []string) error { return nil }}
}
