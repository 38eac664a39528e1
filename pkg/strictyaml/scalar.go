package strictyaml

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Chooser is a text type with a closed set of values.
type Chooser interface {
	Choices() []string
}

func (n Node) decodeScalar(v reflect.Value) {
	if !n.expect(Scalar) {
		return
	}
	text := n.yaml.Value
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := ParseDuration(text)
		if err != nil {
			n.Fail("%s", err)
		}
		v.SetInt(int64(d))
		return
	}
	switch v.Kind() {
	case reflect.String:
		n.decodeString(v, text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			n.Fail("%.40q is neither true nor false", text)
		}
		v.SetBool(text == "true")
	case reflect.Int, reflect.Int32, reflect.Int64:
		i, err := parseInt(text, v.Type().Bits())
		if err != nil {
			n.Fail("%s", err)
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			n.Fail("%.40q is not a number", text)
		}
		v.SetFloat(f)
	default:
		n.Fail("cannot be read into %s", v.Type())
	}
}

func (n Node) decodeString(v reflect.Value, text string) {
	if chooser, ok := reflect.TypeAssert[Chooser](v); ok {
		if choices := chooser.Choices(); !slices.Contains(choices, text) {
			n.Fail("unknown value %.60q; allowed are %s", text, strings.Join(choices, ", "))
		}
	}
	v.SetString(text)
}

func parseInt(text string, bits int) (int64, error) {
	i, err := strconv.ParseInt(text, 10, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%.40q is out of range", text)
	case err != nil:
		return 0, fmt.Errorf("%.40q is not a whole number", text)
	case strconv.FormatInt(i, 10) != text:
		return 0, fmt.Errorf("%.40q is ambiguous; write %d", text, i)
	}
	return i, nil
}

// ParseDuration reads "90s", "1h30m" or whole days such as "2d" (24 hours each). A number needs its unit, and no
// duration is negative.
func ParseDuration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%.40q is not a duration; write a number with its unit, such as 60s, 5m, 2h or 1d", text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, bad
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || text == "0" {
		return 0, bad
	}
	return d, nil
}
