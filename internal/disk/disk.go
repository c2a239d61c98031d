// Package disk answers: how much space is left for files?
package disk
