// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// place is the known place of the value of an expression in an object. The zero value means that the place is not
// known.
type place struct {
	// of is the schema of the value; nil if it is not known.
	of *Schema
	// kind names the type of the object, and path is the field in it.
	kind, path string
	// fields are those of children, by their types; nil for any other value.
	fields map[string]place
	// each is the item or value of a list or map that an expression makes; nil for any other value.
	each *place
	// isList is true if each is the item of a list.
	isList bool
}

// item returns the place of any item of a list, or of any value of a map.
func (p place) item() place {
	if p.each != nil {
		return *p.each
	}
	if each := p.of.Each(); each != nil {
		return place{of: each, kind: p.kind, path: p.path + "[]"}
	}
	return place{}
}

// loop returns the place of the values that a loop over the value yields: items of a list, or keys of a map, which have
// no fields.
func (p place) loop() place {
	if p.isList || p.of.Items() != nil {
		return p.item()
	}
	return place{}
}

// scope has the places of the names that an expression knows.
type scope map[string]place

// request returns the place of parents, and the names that stand for fields of the request.
func (c *checker) request() (parent place, known scope) {
	if len(c.types.Parents) == 1 { // those of several types may have different fields
		kind := c.types.Parents[0]
		parent = place{of: c.types.Schemas[kind], kind: nameOf(kind)}
	}
	if c.form.Customizes {
		return parent, scope{"parent": parent}
	}
	children := place{fields: map[string]place{}}
	for _, kind := range c.types.Children {
		if kind.Empty() {
			children = place{} // the name of a type that is not served yet is not known
			break
		}
		of := place{of: c.types.Schemas[kind], kind: nameOf(kind)}
		children.fields[nameOf(kind)] = place{each: &of}
	}
	if c.form.Decorates {
		return parent, scope{"object": parent, "attachments": children}
	}
	return parent, scope{"parent": parent, "children": children}
}

// expressions compares the fields that expressions use with the schemas. Each name is defined before it is used.
func (c *checker) expressions(template *inline.Template, known scope) {
	variables, loops := map[string]string{}, map[string]string{}
	for i, one := range template.Hook.Variables {
		variables[template.Path.Child("variables").Index(i).Child("expression").String()] = one.Name
	}
	for _, one := range inline.ChildLists(template.Hook) {
		for i := range one.Children {
			for name := range one.Children[i].ForEach {
				loops[template.Path.Child(one.Name).Index(i).Child("forEach").Key(name).String()] = name
			}
		}
	}
	for _, one := range template.Expressions() {
		r := &reader{checker: c, path: one.Path, tree: one.AST, places: map[int64]place{}}
		found, at := r.read(one.AST.Expr(), known), one.Path.String()
		c.kinds[at] = cmp.Or(kindOfType(one.AST.GetType(one.AST.Expr().ID())), kindOfPlace(found))
		if name, ok := variables[at]; ok {
			known["variables."+name] = found
		} else if name, ok := loops[at]; ok {
			known[name] = found.loop()
		}
	}
}

// kindOfPlace returns the JSON kind of a value; empty if it is not known. A number may be an integer.
func kindOfPlace(of place) string {
	if kind := of.of.Kind(); kind != "number" {
		return kind
	}
	return ""
}

// reader reads one expression.
type reader struct {
	*checker
	path *field.Path
	tree *ast.AST
	// places are those of the parts of the expression, by their IDs.
	places map[int64]place
}

// read returns the place of an expression, and warns of unknown fields in it.
func (r *reader) read(e ast.Expr, known scope) (found place) {
	defer func() { r.places[e.ID()] = found }()
	switch e.Kind() {
	case ast.IdentKind:
		return known[e.AsIdent()]
	case ast.SelectKind:
		return r.step(e, r.read(e.AsSelect().Operand(), known), e.AsSelect().FieldName())
	case ast.CallKind:
		return r.call(e, known)
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			r.read(item, known)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.read(entry.AsMapEntry().Key(), known)
			r.read(entry.AsMapEntry().Value(), known)
		}
	case ast.ComprehensionKind:
		return r.fold(e.AsComprehension(), known)
	}
	return place{}
}

// step returns the place of a field, and warns if there is none.
func (r *reader) step(e ast.Expr, from place, name string) place {
	at := r.tree.SourceInfo().GetStartLocation(e.ID())
	position := fmt.Sprintf("(at %d:%d of the expression)", max(at.Line(), 1), at.Column()+1)
	switch {
	case from.fields != nil:
		if _, declared := from.fields[name]; !declared {
			meant := meant(nearest.To(name, namesOf(r.types.Children)))
			r.warn(r.path, "%s declares no %s%s %s", r.rules(), name, meant, position)
		}
		return from.fields[name]
	case from.each != nil:
		return from.item()
	case from.of.Lacks(name):
		path := strings.TrimPrefix(from.path+"."+name, ".")
		r.warn(r.path, "%s has no field %s%s %s", from.kind, path, meant(from.of.Nearest(name)), position)
		return place{}
	}
	return place{of: from.of.Field(name), kind: from.kind, path: strings.TrimPrefix(from.path+"."+name, ".")}
}

func (r *reader) call(e ast.Expr, known scope) place {
	call := e.AsCall()
	var target place
	if call.IsMemberFunction() {
		target = r.read(call.Target(), known)
	}
	var first place
	for i, arg := range call.Args() {
		if found := r.read(arg, known); i == 0 {
			first = found
		}
	}
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		key := call.Args()[1]
		if key.Kind() != ast.LiteralKind {
			return first.item()
		}
		if name, isText := key.AsLiteral().(types.String); isText {
			return r.step(e, first, string(name))
		}
		return first.item()
	case "dyn":
		return first
	case "value":
		return target
	case "orValue":
		if isEmpty(call.Args()[0]) {
			return target
		}
	}
	return place{}
}

// isEmpty reports whether an expression is a literal list or map without anything in it.
func isEmpty(e ast.Expr) bool {
	return e.Kind() == ast.ListKind && e.AsList().Size() == 0 || e.Kind() == ast.MapKind && e.AsMap().Size() == 0
}

// fold reads the expansion of a macro such as map or filter.
func (r *reader) fold(fold ast.ComprehensionExpr, known scope) place {
	over, initial := r.read(fold.IterRange(), known), r.read(fold.AccuInit(), known)
	inner := maps.Clone(known)
	if inner[fold.IterVar()] = over.loop(); fold.HasIterVar2() {
		inner[fold.IterVar()], inner[fold.IterVar2()] = place{}, over.item()
	}
	if inner[fold.AccuVar()] = (place{}); isEmpty(fold.IterRange()) { // optMap gives a value a name
		inner[fold.AccuVar()] = initial
	}
	r.read(fold.LoopCondition(), inner)
	r.read(fold.LoopStep(), inner)
	result := r.read(fold.Result(), inner)
	if item, ok := appended(fold.LoopStep()); ok && isEmpty(fold.AccuInit()) && fold.Result().Kind() == ast.IdentKind {
		each := r.places[item.ID()]
		return place{each: &each, isList: true}
	}
	return result
}

// appended returns the item that a step of a loop appends to a list.
func appended(step ast.Expr) (item ast.Expr, ok bool) {
	if step.Kind() == ast.CallKind && step.AsCall().FunctionName() == operators.Conditional {
		step = step.AsCall().Args()[1]
	}
	if step.Kind() != ast.CallKind || step.AsCall().FunctionName() != operators.Add {
		return nil, false
	}
	added := step.AsCall().Args()[1]
	if added.Kind() != ast.ListKind || added.AsList().Size() != 1 {
		return nil, false
	}
	return added.AsList().Elements()[0], true
}
