package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Size is a flag of bytes, such as 20GB or 512MiB. It is a pflag.Value.
type Size int64

// Set reads a size. A number without a unit is bytes.
func (s *Size) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range sizeUnits() {
		if rest, found := strings.CutSuffix(text, u.name); found {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(n) || n < 0 || strings.ContainsAny(number, "xXeEpPnN_+-") {
		return fmt.Errorf("%.40q is no size; write it as 20GB or 512MiB", text)
	}
	if n*float64(unit) >= 1<<62 {
		return fmt.Errorf("%.40q is more than any disk has", text)
	}
	*s = Size(n * float64(unit))
	return nil
}

type sizeUnit struct {
	name  string
	bytes int64
}

// sizeUnits has the longer names first: each ends with B.
func sizeUnits() []sizeUnit {
	return []sizeUnit{
		{"KiB", 1 << 10},
		{"MiB", 1 << 20},
		{"GiB", 1 << 30},
		{"TiB", 1 << 40},
		{"kB", 1e3},
		{"KB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"TB", 1e12},
		{"B", 1},
	}
}

// String writes it in bytes; nothing for none.
func (s *Size) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*s), 10) + "B"
}

// Type names it in the help.
func (s *Size) Type() string { return "size" }

// Age is a flag of a time span that may be given in days, such as 30d or 12h. It is a pflag.Value.
type Age time.Duration

// Set reads an age, which is more than nothing.
func (a *Age) Set(text string) error {
	d, err := strictyaml.ParseDuration(text)
	if err != nil {
		return err
	}
	if d <= 0 {
		return fmt.Errorf("%.40q is not more than nothing; write it as 30d or 12h", text)
	}
	*a = Age(d)
	return nil
}

// String writes it as it is read; nothing for none.
func (a *Age) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

// Type names it in the help.
func (a *Age) Type() string { return "age" }
