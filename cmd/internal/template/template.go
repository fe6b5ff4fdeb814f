// Package template executes Go templates over decoded JSON.
//
// Package text/template calls methods by their names. A program with it keeps every exported
// method of every type that it links, a quarter of agentform's size. Decoded JSON has no
// methods, so this package has the language of text/template without them: the same parser,
// actions and functions, but for call and js.
package template

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/template/parse"
)

// Template is a parsed template.
type Template struct {
	main    *parse.Tree
	defined map[string]*parse.Tree
}

// Parse parses a template. The error has the line of what is wrong.
func Parse(name, text string) (*Template, error) {
	names := map[string]any{"and": true, "or": true}
	for name := range functions {
		names[name] = true
	}
	defined := map[string]*parse.Tree{}
	main, err := parse.New(name).Parse(text, "", "", defined, names)
	if err != nil {
		return nil, err
	}
	return &Template{main, defined}, nil
}

// Execute writes the template with data, which is made of map[string]any, []any, string,
// int64, float64, bool and nil. A field that an object does not have is an error. What was
// written before an error stays written.
func (t *Template) Execute(w io.Writer, data any) error {
	r := &run{Template: t, tree: t.main, w: w, vars: []variable{{"$", data}}}
	return r.list(t.main.Root, data)
}

// deepest bounds templates that execute themselves.
const deepest = 1000

var errBreak, errContinue = errors.New("break"), errors.New("continue")

type variable struct {
	name  string
	value any
}

// run is an execution of one tree.
type run struct {
	*Template
	tree  *parse.Tree
	w     io.Writer
	vars  []variable // the innermost last
	depth int
}

// fail adds to an error where it happened.
func (r *run) fail(at parse.Node, err error) error {
	location, context := r.tree.ErrorContext(at)
	return fmt.Errorf("template: %s: executing %q at <%s>: %w", location, r.tree.Name, context, err)
}

func (r *run) failf(at parse.Node, format string, args ...any) error {
	return r.fail(at, fmt.Errorf(format, args...))
}

func (r *run) list(l *parse.ListNode, dot any) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := r.node(n, dot); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) node(n parse.Node, dot any) error {
	switch n := n.(type) {
	case *parse.TextNode:
		_, err := r.w.Write(n.Text)
		return err
	case *parse.ActionNode:
		v, err := r.pipe(n.Pipe, dot)
		if err == nil && len(n.Pipe.Decl) == 0 {
			_, err = fmt.Fprint(r.w, printable(v))
		}
		return err
	case *parse.IfNode:
		return r.branch(&n.BranchNode, dot, false)
	case *parse.WithNode:
		return r.branch(&n.BranchNode, dot, true)
	case *parse.RangeNode:
		return r.loop(n, dot)
	case *parse.TemplateNode:
		return r.template(n, dot)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	}
	return nil // a comment
}

// branch executes an if or a with.
func (r *run) branch(n *parse.BranchNode, dot any, with bool) error {
	defer r.scope(len(r.vars))
	v, err := r.pipe(n.Pipe, dot)
	switch {
	case err != nil:
		return err
	case !truth(v):
		return r.list(n.ElseList, dot)
	case with:
		dot = v
	}
	return r.list(n.List, dot)
}

func (r *run) scope(vars int) { r.vars = r.vars[:vars] }

func (r *run) loop(n *parse.RangeNode, dot any) error {
	defer r.scope(len(r.vars))
	v, err := r.pipe(n.Pipe, dot)
	if err != nil {
		return err
	}
	outer := len(r.vars)
	turns := 0
	turn := func(key, value any) error {
		turns++
		defer r.scope(outer)
		switch decl := n.Pipe.Decl; {
		case len(decl) > 1:
			if err := errors.Join(r.set(decl[0], n.Pipe.IsAssign, key), r.set(decl[1], n.Pipe.IsAssign, value)); err != nil {
				return err
			}
		case len(decl) > 0:
			if err := r.set(decl[0], n.Pipe.IsAssign, value); err != nil {
				return err
			}
		}
		if err := r.list(n.List, value); !errors.Is(err, errContinue) {
			return err
		}
		return nil
	}
	switch v := v.(type) {
	case nil:
	case []any:
		for i := 0; i < len(v) && err == nil; i++ {
			err = turn(int64(i), v[i])
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if err = turn(k, v[k]); err != nil {
				break
			}
		}
	case int64:
		for i := int64(0); i < v && err == nil; i++ {
			err = turn(i, i)
		}
	default:
		return r.failf(n.Pipe, "range cannot iterate over %v", v)
	}
	switch {
	case errors.Is(err, errBreak):
		return nil
	case err == nil && turns == 0:
		return r.list(n.ElseList, dot)
	}
	return err
}

func (r *run) template(n *parse.TemplateNode, dot any) error {
	tree := r.defined[n.Name]
	if tree == nil {
		return r.failf(n, "template %q is not defined", n.Name)
	}
	if r.depth == deepest {
		return r.failf(n, "more than %d templates inside each other", deepest)
	}
	v, err := r.pipe(n.Pipe, dot)
	if err != nil {
		return err
	}
	inner := &run{Template: r.Template, tree: tree, w: r.w, vars: []variable{{"$", v}}, depth: r.depth + 1}
	return inner.list(tree.Root, v)
}

// pipe evaluates a pipeline, and sets the variables that it declares. That of a range is set
// at each turn.
func (r *run) pipe(p *parse.PipeNode, dot any) (any, error) {
	if p == nil {
		return nil, nil
	}
	var value any
	for i, c := range p.Cmds {
		var final []any
		if i > 0 {
			final = []any{value}
		}
		var err error
		if value, err = r.command(c, dot, final); err != nil {
			return nil, err
		}
	}
	if len(p.Decl) == 1 {
		return value, r.set(p.Decl[0], p.IsAssign, value)
	}
	return value, nil
}

func (r *run) set(n *parse.VariableNode, assign bool, value any) error {
	name := n.Ident[0]
	if !assign {
		r.vars = append(r.vars, variable{name, value})
		return nil
	}
	for i := len(r.vars) - 1; i >= 0; i-- {
		if r.vars[i].name == name {
			r.vars[i].value = value
			return nil
		}
	}
	return r.failf(n, "undefined variable %s", name)
}

// command evaluates a command. final is the value of the command before it, if there is one.
func (r *run) command(c *parse.CommandNode, dot any, final []any) (any, error) {
	if f, ok := c.Args[0].(*parse.IdentifierNode); ok {
		return r.call(f, c.Args[1:], dot, final)
	}
	if len(c.Args) > 1 || final != nil {
		return nil, r.failf(c.Args[0], "%s is not a function and takes no argument", c.Args[0])
	}
	if _, ok := c.Args[0].(*parse.NilNode); ok {
		return nil, r.failf(c, "nil is not a command")
	}
	return r.value(c.Args[0], dot)
}

// value evaluates an operand.
func (r *run) value(n parse.Node, dot any) (any, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil
	case *parse.BoolNode:
		return n.True, nil
	case *parse.StringNode:
		return n.Text, nil
	case *parse.NumberNode:
		switch {
		case n.IsInt:
			return n.Int64, nil
		case n.IsFloat:
			return n.Float64, nil
		}
		return nil, r.failf(n, "%s is not a number that JSON has", n.Text)
	case *parse.FieldNode:
		return r.fields(n, dot, n.Ident)
	case *parse.ChainNode:
		v, err := r.value(n.Node, dot)
		if err != nil {
			return nil, err
		}
		return r.fields(n, v, n.Field)
	case *parse.VariableNode:
		for i := len(r.vars) - 1; i >= 0; i-- {
			if r.vars[i].name == n.Ident[0] {
				return r.fields(n, r.vars[i].value, n.Ident[1:])
			}
		}
		return nil, r.failf(n, "undefined variable %s", n.Ident[0])
	case *parse.PipeNode:
		return r.pipe(n, dot)
	case *parse.IdentifierNode:
		return r.call(n, nil, dot, nil)
	}
	return nil, r.failf(n, "%s is not a value", n)
}

// fields returns what is in an object under a path of names.
func (r *run) fields(at parse.Node, v any, names []string) (any, error) {
	for _, name := range names {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, r.failf(at, "%s is not an object and has no field %s", kind(v), name)
		}
		if v, ok = object[name]; !ok {
			return nil, r.failf(at, "map has no entry for key %q", name)
		}
	}
	return v, nil
}

func (r *run) call(f *parse.IdentifierNode, args []parse.Node, dot any, final []any) (any, error) {
	if f.Ident == "and" || f.Ident == "or" {
		return r.logic(f, args, dot, final)
	}
	values := make([]any, 0, len(args)+1)
	for _, n := range args {
		v, err := r.value(n, dot)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	v, err := functions[f.Ident](append(values, final...))
	if err != nil {
		return nil, r.failf(f, "error calling %s: %w", f.Ident, err)
	}
	return v, nil
}

// logic evaluates and, or: only as many arguments as decide it.
func (r *run) logic(f *parse.IdentifierNode, args []parse.Node, dot any, final []any) (v any, err error) {
	if len(args)+len(final) == 0 {
		return nil, r.failf(f, "%s needs an argument", f.Ident)
	}
	for _, n := range args {
		if v, err = r.value(n, dot); err != nil || truth(v) == (f.Ident == "or") {
			return v, err
		}
	}
	if final != nil {
		v = final[0]
	}
	return v, nil
}
