package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"sync"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
)

// decode decodes the attributes of a block, and of the blocks in it, over the values of a spec.
// It leaves out those that are decoded apart.
func decode(d reader, b *expr.Block, of *language.Block, s *session.Spec) {
	if b == nil {
		return
	}
	if of.Present != nil {
		of.Present(s, defaults())
	}
	for i := range of.Attributes {
		if a := &of.Attributes[i]; a.Field != nil && !a.Apart && b.Attrs[a.Name] != nil {
			decodeAttribute(d, b, a, a.Field(s))
		}
	}
	for i := range of.Blocks {
		decode(d, b.Block(of.Blocks[i].Type), &of.Blocks[i], s)
	}
}

func decodeAttribute(d reader, b *expr.Block, a *language.Attribute, field any) {
	switch into := field.(type) {
	case *bool:
		d.Flag(b, a.Name, into)
	case *int:
		d.Whole(b, a.Name, int(a.Least), into)
	case *int64:
		if a.Kind == language.Size {
			d.Size(b, a.Name, int64(a.Least), into)
			return
		}
		n := int(*into)
		d.Whole(b, a.Name, int(a.Least), &n)
		*into = int64(n)
	case *float64:
		d.Decimal(b, a.Name, a.Least, cmp.Or(a.Most, math.Inf(1)), into)
	case *session.Duration:
		readDuration(d, b, a.Name, session.Duration(a.Least), into)
	case *session.PromptChange:
		if d.OneOf(b, a.Name, (*string)(into)); *into == "restart" { // what records without the field mean
			*into = session.PromptRestarts
		}
	case *session.Finish:
		if d.OneOf(b, a.Name, (*string)(into)); *into == "never" { // what records without the field mean
			*into = session.FinishNever
		}
	case *string:
		decodeText(d, b, a, into)
	case *[]string:
		decodeTexts(d, b, a, into)
	case *map[string]string:
		if a.Name != "env" {
			d.Table(b, a.Name, into)
			return
		}
		var env map[string]string
		if readEnvironment(d, b, a.Name, &env) && *into != nil {
			maps.Copy(*into, env) // over those of the agent's base
		} else if *into == nil {
			*into = env
		}
	default:
		panic(fmt.Sprintf("no decoder for %s, a %T", a.Name, field))
	}
}

func decodeText(d reader, b *expr.Block, a *language.Attribute, into *string) {
	switch {
	case len(a.Values) > 0:
		d.OneOf(b, a.Name, into)
	case a.Kind == language.Regex:
		d.Regex(b, a.Name, into)
	case a.Empty:
		d.Text(b, a.Name, into)
	default:
		d.Word(b, a.Name, into)
	}
}

func decodeTexts(d reader, b *expr.Block, a *language.Attribute, into *[]string) {
	switch {
	case len(a.Values) > 0:
		readChoices(d, b, a.Name, into)
	case a.Kind == language.Command:
		d.Command(b, a.Name, into)
	case a.Kind == language.Regexes:
		d.Regexes(b, a.Name, into)
	default:
		d.Words(b, a.Name, into)
	}
}

// defaults returns a spec with the defaults of all attributes that have one.
var defaults = sync.OnceValue(func() *session.Spec {
	s := &session.Spec{Runtime: session.RuntimeSpec{Docker: &session.DockerConfig{}, Kubernetes: &session.KubernetesConfig{}}}
	for _, b := range []*language.Block{language.SessionBlock(), language.AgentBlock(), language.RuntimeBlock()} {
		setDefaults(b, s)
	}
	return s
})

// setDefaults reads defaults as JSON, which their literals are.
func setDefaults(of *language.Block, s *session.Spec) {
	for _, a := range of.Attributes {
		if a.Default == "" || a.Field == nil {
			continue
		}
		var err error
		switch into := a.Field(s).(type) {
		case *session.PromptChange, *session.Finish: // their defaults are stored as nothing
		case *int64:
			*into, err = expr.ParseSize(a.Default[1 : len(a.Default)-1])
		default:
			err = json.Unmarshal([]byte(a.Default), into)
		}
		if err != nil {
			panic(fmt.Sprintf("the default of %s: %v", a.Name, err)) // a test loads all of them
		}
	}
	for i := range of.Blocks {
		setDefaults(&of.Blocks[i], s)
	}
	for i := range of.Kinds {
		setDefaults(&of.Kinds[i], s)
	}
}
