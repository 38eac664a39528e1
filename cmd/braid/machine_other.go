//go:build !unix

package main

import "errors"

func freeBytes(string) (int64, error) { return 0, errors.New("not on this system") }

func fileLimit() (uint64, bool) { return 0, false }
