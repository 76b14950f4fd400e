// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/cel/lazy"

	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// Error is the error of an expression that has no value.
type Error struct {
	// Path is the field of the expression, from the hook on, such as "children[0].object.metadata.name".
	Path string
	// At is the line and the column in the expression, such as "1:12"; empty if it is not known.
	At string
	// Err says what is wrong.
	Err error
}

func (e *Error) Error() string {
	if e.At == "" {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s: %v (at %s of the expression)", e.Path, e.Err, e.At)
}

func (e *Error) Unwrap() error { return e.Err }

// Evaluate appends the answer to a request, both as JSON. The answer has at most limit bytes. An error that is about an
// expression is an *Error. It is the cause of ctx if ctx ends first. A long evaluation calls pause, unless it is nil,
// every tenth of a second, and ends if pause returns an error.
func (t *Template) Evaluate(
	ctx context.Context, request, to []byte, limit int64, pause func() error,
) (answer []byte, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("the evaluation panicked: %v", failure)
		}
	}()
	e := &evaluation{
		template: t, meter: &meter{ctx: ctx, pause: pause, since: time.Now()},
		request: request, decoded: map[string]ref.Val{}, values: map[*expression]ref.Val{},
	}
	e.variables = t.lazyVariables(e)
	w := &writer{body: to, limit: limit}
	if _, err := t.answer.append(e, w); err != nil {
		return nil, err
	}
	return w.body, nil
}

// evaluation is one evaluation of a template. It is the activation of its expressions.
type evaluation struct {
	template *Template
	meter    *meter
	// request is the JSON of the request, and decoded has the fields of it that were used.
	request []byte
	decoded map[string]ref.Val
	// values are those of expressions that were evaluated within a forEach and do not depend on its names.
	values map[*expression]ref.Val
	// variables are those of the template.
	variables *lazy.MapValue
	// items are the values of the names of forEach.
	items map[string]ref.Val
}

var _ cel.Activation = &evaluation{}

// Parent implements cel.Activation.
func (e *evaluation) Parent() cel.Activation { return nil }

// ResolveName implements cel.Activation.
func (e *evaluation) ResolveName(name string) (any, bool) {
	switch name {
	case meterName:
		return e.meter, true
	case variablesName:
		return e.variables, true
	}
	if variable, ok := strings.CutPrefix(name, variablesName+"."); ok {
		return e.variables.Find(types.String(variable))
	}
	if item, ok := e.items[name]; ok {
		return item, true
	}
	return e.field(name)
}

// field returns the value of a field of the request.
func (e *evaluation) field(name string) (any, bool) {
	if value, ok := e.decoded[name]; ok {
		return value, true
	}
	raw, err := lookup(e.request, name)
	if err != nil {
		return types.NewErr("read the request: %v", err), true
	}
	if raw == nil {
		return nil, false
	}
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		return types.NewErr("read %s: %v", name, err), true
	}
	e.decoded[name] = e.template.adapter.NativeToValue(value)
	return e.decoded[name], true
}

// lookup returns the JSON of a field of an object; nil if it has none. It reads no further than the field.
func lookup(object []byte, name string) ([]byte, error) {
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(object), lenient...)
	if begin, err := decoder.ReadToken(); err != nil || begin.Kind() != '{' {
		return nil, cmp.Or(err, errors.New("it is not a JSON object"))
	}
	for decoder.PeekKind() != '}' {
		field, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		if field.String() == name {
			return decoder.ReadValue()
		}
		if err := decoder.SkipValue(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// with returns the evaluation with a value for a name of forEach.
func (e *evaluation) with(name string, value ref.Val) *evaluation {
	inner := *e
	inner.items = map[string]ref.Val{name: value}
	for other, item := range e.items {
		inner.items[other] = item
	}
	return &inner
}

// lazyVariables returns the variables of the template, each of which is evaluated when it is first used.
func (t *Template) lazyVariables(e *evaluation) *lazy.MapValue {
	all := lazy.NewMapValue(t.variablesType)
	for _, one := range t.variables {
		running := false
		all.Append(one.name, func(*lazy.MapValue) ref.Val {
			if running {
				return types.NewErr("the variable %s uses itself", one.name)
			}
			running = true
			value, err := one.expression.value(e)
			if err != nil {
				return types.WrapErr(err)
			}
			return value
		})
	}
	return all
}

// expression is a compiled expression.
type expression struct {
	path    string
	ast     *cel.Ast
	program cel.Program
	// isFixed is true if the expression is within a forEach and does not depend on its names.
	isFixed bool
}

// value evaluates the expression.
func (x *expression) value(e *evaluation) (ref.Val, error) {
	if value, ok := e.values[x]; ok {
		return value, nil
	}
	m := e.meter
	outer := m.expression
	defer func() { m.expression = outer }()
	if err := m.begin(); err != nil {
		return nil, x.failed(err)
	}
	value, details, err := x.program.ContextEval(m.ctx, e)
	if cost := details.ActualCost(); cost != nil {
		m.evaluation += *cost
	}
	if err == nil {
		err = m.spend(0)
	}
	if err != nil {
		return nil, x.failed(cmp.Or(m.ended, err))
	}
	if x.isFixed {
		e.values[x] = value
	}
	return value, nil
}

// failed returns the error of an evaluation of the expression.
func (x *expression) failed(err error) error {
	if within, ok := errors.AsType[*Error](err); ok {
		return within // it is about a variable that the expression uses
	}
	if cancelled, ok := errors.AsType[interpreter.EvalCancelledError](err); ok &&
		cancelled.Cause == interpreter.CostLimitExceeded {
		err = fmt.Errorf("%w: the cost limit of an expression is %d units", errCost, maxExpressionCost)
	}
	at := ""
	if positioned, ok := errors.AsType[*types.Err](err); ok {
		if place := x.ast.NativeRep().SourceInfo().GetStartLocation(positioned.NodeID()); place.Line() > 0 {
			at = fmt.Sprintf("%d:%d", place.Line(), place.Column()+1)
		}
	}
	return &Error{Path: x.path, At: at, Err: err}
}

// source returns the source of the expression, which identifies it among the expressions of a text.
func (x *expression) source() string { return text.Shorten(x.ast.Source().Content(), 100) }

// invalid returns the error of an expression whose value cannot be used.
func (x *expression) invalid(format string, args ...any) error {
	return &Error{Path: x.path, Err: fmt.Errorf(format, args...)}
}
