package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
)

// errBody is a request body that is no CQL2-JSON document; it is answered 400.
var errBody = errors.New("the body is not a CQL2-JSON document")

// parseCQLJSON reads a CQL2-JSON document. An operand that is no text is errFilter, all else errBody.
func parseCQLJSON(body []byte) (expression, error) {
	return readNode(body, 0)
}

func readNode(text []byte, depth int) (expression, error) {
	if depth > maxFilterDepth {
		return expression{}, fmt.Errorf("%w: nested too deep", errBody)
	}
	var node struct {
		Op   string            `json:"op"`
		Args []json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(text, &node); err != nil {
		return expression{}, fmt.Errorf("%w: %w", errBody, err)
	}
	switch node.Op {
	case "and", "or", "not":
		e := expression{op: operator(node.Op)}
		for _, arg := range node.Args {
			part, err := readNode(arg, depth+1)
			if err != nil {
				return expression{}, err
			}
			e.args = append(e.args, part)
		}
		if len(e.args) == 0 || node.Op == "not" && len(e.args) != 1 {
			return expression{}, fmt.Errorf("%w: %q has %d args", errBody, node.Op, len(e.args))
		}
		return e, nil
	}
	return readPredicate(node.Op, node.Args)
}

func readPredicate(op string, args []json.RawMessage) (expression, error) {
	var subject struct {
		Property string `json:"property"`
	}
	if len(args) == 0 || json.Unmarshal(args[0], &subject) != nil || subject.Property == "" {
		return expression{}, fmt.Errorf("%w: the first arg of %q is not a property", errBody, clip(op))
	}
	var values []string
	operands := args[1:]
	if op == "in" {
		if len(operands) != 1 || json.Unmarshal(operands[0], &operands) != nil || len(operands) > maxListValues {
			return expression{}, fmt.Errorf("%w: the second arg of \"in\" is not a list of at most %d", errBody, maxListValues)
		}
	}
	for _, operand := range operands {
		var value string
		if err := json.Unmarshal(operand, &value); err != nil {
			return expression{}, fmt.Errorf("%w: %s is compared with %s, which is no text", errFilter, clip(subject.Property), clip(string(operand)))
		}
		values = append(values, value)
	}
	return predicateOf(op, subject.Property, values)
}

func predicateOf(op, property string, values []string) (expression, error) {
	e := expression{property: property, values: values}
	switch {
	case op == "isNull" && len(values) == 0:
		e.op = opIsNull
	case op == "in" && len(values) > 0:
		e.op = opIn
	case op == "between" && len(values) == 2:
		return and(
			expression{op: opAtLeast, property: property, values: values[:1]},
			expression{op: opAtMost, property: property, values: values[1:]},
		), nil
	case len(values) != 1:
		return expression{}, fmt.Errorf("%w: %q has %d values", errBody, clip(op), len(values))
	case op == "=":
		e.op = opIn
	case op == "<>":
		e.op = opIn
		return expression{op: opNot, args: []expression{e}}, nil
	case op == "<", op == "<=", op == ">", op == ">=", op == "like":
		e.op = operator(op)
	default:
		return expression{}, fmt.Errorf("%w: %q is not an operator", errBody, clip(op))
	}
	return e, nil
}
