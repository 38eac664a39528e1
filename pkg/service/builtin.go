package service

import (
	"embed"
	"strings"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtin gives the text of a definition that is shipped with Braid.
func Builtin(name string) (data []byte, ok bool) {
	if strings.ContainsAny(name, `/\`) {
		return nil, false
	}
	data, err := builtin.ReadFile("builtin/" + name + ".yaml")
	return data, err == nil
}

// BuiltinNames lists the definitions that are shipped with Braid, sorted.
func BuiltinNames() []string {
	entries, err := builtin.ReadDir("builtin")
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	return names
}
