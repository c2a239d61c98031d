//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a program in a group of its own, which a terminal does not interrupt.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
