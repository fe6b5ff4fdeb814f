package template

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
)

// functions are those of text/template, without call and js, and json, which returns a value as JSON.
var functions = map[string]func(args []any) (any, error){
	"eq":       equal,
	"ge":       ordered(func(c int) bool { return c >= 0 }),
	"gt":       ordered(func(c int) bool { return c > 0 }),
	"html":     func(args []any) (any, error) { return html.EscapeString(text(args)), nil },
	"index":    index,
	"json":     one(func(v any) (any, error) { b, err := json.Marshal(v); return string(b), err }),
	"le":       ordered(func(c int) bool { return c <= 0 }),
	"len":      one(length),
	"lt":       ordered(func(c int) bool { return c < 0 }),
	"ne":       notEqual,
	"not":      one(func(v any) (any, error) { return !truth(v), nil }),
	"print":    func(args []any) (any, error) { return fmt.Sprint(args...), nil },
	"printf":   printf,
	"println":  func(args []any) (any, error) { return fmt.Sprintln(args...), nil },
	"slice":    slice,
	"urlquery": func(args []any) (any, error) { return url.QueryEscape(text(args)), nil },
}

// text returns the text of the arguments of a function that escapes it.
func text(args []any) string {
	if len(args) == 1 {
		return fmt.Sprint(printable(args[0]))
	}
	return fmt.Sprint(args...)
}

// printable returns what is printed of a value.
func printable(v any) any {
	if v == nil {
		return "<no value>"
	}
	return v
}

// truth reports whether a value is neither empty nor zero.
func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case float64:
		return v != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// kind returns the name that JSON has for what a value is.
func kind(v any) string {
	switch v.(type) {
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case int64, float64:
		return "a number"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "null"
}

func one(f func(any) (any, error)) func([]any) (any, error) {
	return func(args []any) (any, error) {
		if len(args) != 1 {
			return nil, fmt.Errorf("want 1 argument, got %d", len(args))
		}
		return f(args[0])
	}
}

func length(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return int64(len(v)), nil
	case []any:
		return int64(len(v)), nil
	case map[string]any:
		return int64(len(v)), nil
	}
	return nil, fmt.Errorf("%s has no length", kind(v))
}

func printf(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("want a format")
	}
	format, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("the format is %s, not a string", kind(args[0]))
	}
	return fmt.Sprintf(format, args[1:]...), nil
}

// index returns the element of nested arrays and objects. That of a name that an object does
// not have is nil.
func index(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("want a value")
	}
	v := args[0]
	for _, key := range args[1:] {
		switch in := v.(type) {
		case []any:
			i, ok := key.(int64)
			if !ok {
				return nil, fmt.Errorf("the index of an array is %s, not a number", kind(key))
			}
			if i < 0 || i >= int64(len(in)) {
				return nil, fmt.Errorf("index out of range: %d", i)
			}
			v = in[i]
		case map[string]any:
			name, ok := key.(string)
			if !ok {
				return nil, fmt.Errorf("the key of an object is %s, not a string", kind(key))
			}
			v = in[name]
		default:
			return nil, fmt.Errorf("cannot index %s", kind(v))
		}
	}
	return v, nil
}

func slice(args []any) (any, error) {
	if len(args) == 0 || len(args) > 3 {
		return nil, errors.New("want a value, a start and an end")
	}
	n, err := length(args[0])
	if err != nil {
		return nil, err
	}
	bounds := [2]int64{0, n.(int64)}
	for i, arg := range args[1:] {
		b, ok := arg.(int64)
		if !ok {
			return nil, fmt.Errorf("a bound is %s, not a number", kind(arg))
		}
		bounds[i] = b
	}
	if bounds[0] < 0 || bounds[0] > bounds[1] || bounds[1] > n.(int64) {
		return nil, fmt.Errorf("bounds out of range: %d and %d of %d", bounds[0], bounds[1], n)
	}
	switch v := args[0].(type) {
	case string:
		return v[bounds[0]:bounds[1]], nil
	case []any:
		return v[bounds[0]:bounds[1]], nil
	}
	return nil, fmt.Errorf("cannot slice %s", kind(args[0]))
}

var errIncomparable = errors.New("incompatible types for comparison")

// compare compares strings with strings and numbers with numbers.
func compare(a, b any) (int, error) {
	if a, ok := a.(string); ok {
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b), nil
		}
		return 0, errIncomparable
	}
	i, oki := a.(int64)
	j, okj := b.(int64)
	if oki && okj {
		return cmp.Compare(i, j), nil
	}
	x, okx := number(a)
	y, oky := number(b)
	if !okx || !oky {
		return 0, errIncomparable
	}
	return cmp.Compare(x, y), nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func ordered(holds func(int) bool) func([]any) (any, error) {
	return func(args []any) (any, error) {
		if len(args) != 2 {
			return nil, fmt.Errorf("want 2 arguments, got %d", len(args))
		}
		c, err := compare(args[0], args[1])
		return err == nil && holds(c), err
	}
}

// same reports whether two values are equal. nil is equal to nil alone.
func same(a, b any) (bool, error) {
	if a == nil || b == nil {
		return a == nil && b == nil, nil
	}
	if a, ok := a.(bool); ok {
		if b, ok := b.(bool); ok {
			return a == b, nil
		}
		return false, errIncomparable
	}
	c, err := compare(a, b)
	return err == nil && c == 0, err
}

// equal reports whether the first argument is equal to any of the others.
func equal(args []any) (any, error) {
	if len(args) < 2 {
		return nil, fmt.Errorf("want 2 arguments or more, got %d", len(args))
	}
	for _, b := range args[1:] {
		if is, err := same(args[0], b); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

func notEqual(args []any) (any, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("want 2 arguments, got %d", len(args))
	}
	is, err := same(args[0], args[1])
	return !is, err
}
