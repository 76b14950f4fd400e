// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// node is a part of a template.
type node interface {
	// append appends the JSON of the node. It reports whether there is any.
	append(e *evaluation, w *writer) (present bool, err error)
}

// literal is JSON without expressions.
type literal string

func (l literal) append(_ *evaluation, w *writer) (bool, error) { return true, w.raw(string(l)) }

// append appends the value of the expression.
func (x *expression) append(e *evaluation, w *writer) (bool, error) {
	value, err := x.value(e)
	if err != nil {
		return false, err
	}
	present, err := w.value(value)
	switch {
	case errors.Is(err, errTooLarge):
		return false, err
	case err != nil:
		return false, x.invalid("the value %w", err)
	}
	return present, nil
}

// concatenation is a string with expressions in it. Each of its parts is a text or an *expression.
type concatenation []any

func (c concatenation) append(e *evaluation, w *writer) (bool, error) {
	var text strings.Builder
	for _, one := range c {
		part, err := textOfPart(e, one)
		if err != nil {
			return false, err
		}
		if int64(text.Len()+len(part)) > w.limit {
			return false, errTooLarge
		}
		text.WriteString(part)
	}
	return true, w.quoted(text.String())
}

func textOfPart(e *evaluation, part any) (string, error) {
	x, ok := part.(*expression)
	if !ok {
		return part.(string), nil
	}
	value, err := x.value(e)
	if err != nil {
		return "", err
	}
	if optional, ok := value.(*types.Optional); ok {
		if !optional.HasValue() {
			return "", x.invalid("the value of ${%s} is an absent optional, which is allowed only if the expression is the "+
				"whole string; add .orValue('')", x.source())
		}
		value = optional.GetValue()
	}
	written, err := textOf(value)
	if err != nil {
		return "", x.invalid("the value of ${%s} %w", x.source(), err)
	}
	return written, nil
}

// object is a JSON object.
type object []member

type member struct {
	name  string
	value node
}

func (o object) append(e *evaluation, w *writer) (bool, error) {
	if err := w.raw("{"); err != nil {
		return false, err
	}
	first := true
	for _, one := range o {
		err := w.member(&first, one.name, func() (bool, error) { return one.value.append(e, w) })
		if err != nil {
			return false, err
		}
	}
	return true, w.raw("}")
}

// list is a JSON list.
type list []node

func (l list) append(e *evaluation, w *writer) (bool, error) {
	if err := w.raw("["); err != nil {
		return false, err
	}
	first := true
	for _, one := range l {
		if err := w.item(&first, func() (bool, error) { return one.append(e, w) }); err != nil {
			return false, err
		}
	}
	return true, w.raw("]")
}

// child is an entry of children or attachments.
type child struct {
	loops []loop
	// when is nil if there is no condition.
	when   *expression
	object node
}

// loop is a name of forEach with the list or map of its values.
type loop struct {
	name string
	in   *expression
}

// children are the entries of children or attachments.
type children []child

// maxChildren limits how many objects the entries of a template make. It is the limit of an answer.
const maxChildren = 20_000

func (c children) append(e *evaluation, w *writer) (bool, error) {
	if err := w.raw("["); err != nil {
		return false, err
	}
	first, count := true, 0
	for _, one := range c {
		err := one.each(e, one.loops, func(e *evaluation) error {
			if count++; count > maxChildren {
				return fmt.Errorf("forEach creates more than the maximum of %d objects", maxChildren)
			}
			return w.item(&first, func() (bool, error) { return one.append(e, w) })
		})
		if err != nil {
			return false, err
		}
	}
	return true, w.raw("]")
}

// each calls a func for each combination of the values of loops.
func (c *child) each(e *evaluation, loops []loop, do func(*evaluation) error) error {
	if len(loops) == 0 {
		return do(e)
	}
	in, err := loops[0].in.value(e)
	if err != nil {
		return err
	}
	if optional, ok := in.(*types.Optional); ok {
		if !optional.HasValue() {
			return nil
		}
		in = optional.GetValue()
	}
	iterable, ok := in.(traits.Iterable)
	if !ok || in.Type() == types.StringType {
		return loops[0].in.invalid("the value must be a list or a map, not %s", typeName(in))
	}
	for i := iterable.Iterator(); i.HasNext() == types.True; {
		if err := c.each(e.with(loops[0].name, i.Next()), loops[1:], do); err != nil {
			return err
		}
	}
	return nil
}

// append appends one object, unless its condition is false.
func (c *child) append(e *evaluation, w *writer) (bool, error) {
	if c.when != nil {
		value, err := c.when.value(e)
		if err != nil {
			return false, err
		}
		exists, ok := value.(types.Bool)
		if !ok {
			return false, c.when.invalid("the value must be true or false, not %s", typeName(value))
		}
		if !exists {
			return false, nil
		}
	}
	return c.object.append(e, w)
}

// typeName returns the type of a value as authors know it.
func typeName(value ref.Val) string {
	if value == types.NullValue {
		return "null"
	}
	return value.Type().TypeName()
}
