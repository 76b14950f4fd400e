// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check compares inline hooks with the schemas of the cluster: the fields of the parent that expressions use,
// and the fields of the objects that templates make. It is pure. Schemas change, so what it finds are warnings.
package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
)

// Schemas are the schemas that a hook is compared with. What is nil is not known, and not compared.
type Schemas struct {
	// Parent is the schema of the parents, and ParentType names their type.
	Parent     *spec.Schema
	ParentType string
	// Child returns the schema of a kind of children, and how a warning names it. problem says why no child can be of that
	// kind.
	Child func(apiVersion, kind string) (of *spec.Schema, name, problem string)
}

// Hook returns the warnings about a hook, which must compile.
func Hook(hook *v1alpha1.InlineHook, form inline.Form, path *field.Path, schemas Schemas) []string {
	template, errs := inline.Compile(hook, form, path)
	if len(errs) > 0 {
		return nil
	}
	c := &checker{types: map[string]*types.Type{}}
	parent := "parent"
	if form.Decorates && !form.Customizes {
		parent = "object"
	}
	for _, one := range template.Expressions() {
		c.types[one.Path.String()] = one.AST.GetType(one.AST.Expr().ID())
		c.parentFields(one, parent, schemas)
	}
	if status, known := property(schemas.Parent, "status"); known && hook.Status != nil {
		c.value(decoded(hook.Status), path.Child("status"), status, "the status of "+schemas.ParentType)
	}
	for _, one := range inline.ChildLists(hook) {
		for i := range one.Children {
			c.child(decoded(&one.Children[i].Object), path.Child(one.Name).Index(i).Child("object"), schemas)
		}
	}
	return c.warnings
}

func decoded(value *v1alpha1.JSONValue) (content any) {
	_ = utiljson.Unmarshal(value.Raw, &content) // it compiles
	return content
}

type checker struct {
	// types are the types of the expressions, by their paths.
	types    map[string]*types.Type
	warnings []string
}

func (c *checker) warn(path *field.Path, format string, args ...any) {
	c.warnings = append(c.warnings, path.String()+": "+fmt.Sprintf(format, args...))
}

// child compares an object with the schema of its kind.
func (c *checker) child(content any, path *field.Path, schemas Schemas) {
	object, ok := content.(map[string]any)
	if !ok || schemas.Child == nil {
		return
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if c.types[path.Child("apiVersion").String()] != nil || c.types[path.Child("kind").String()] != nil {
		return // they are expressions
	}
	of, name, problem := schemas.Child(apiVersion, kind)
	if problem != "" {
		c.warn(path.Child("kind"), "%s", problem)
		return
	}
	c.value(object, path, of, name)
}

// value compares a part of an object with its schema. name is the type of the object.
func (c *checker) value(content any, path *field.Path, of *spec.Schema, name string) {
	if of = whole(of); of == nil {
		return
	}
	is := c.kindOf(content, path)
	if wants := kindsOf(of); is != "" && len(wants) > 0 && !slices.Contains(wants, is) {
		c.warn(path, "must be of type %s in %s, not %s", wants[0], name, is)
		return
	}
	switch content := content.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(content)) {
			at := inline.ChildPath(path, key)
			next, known := property(of, key)
			if !known {
				c.warn(at, "there is no such field in %s%s", name, meant(key, of))
				continue
			}
			c.value(content[key], at, next, name)
		}
	case []any:
		for i, item := range content {
			c.value(item, path.Index(i), itemsOf(of), name)
		}
	}
}

// kindOf returns the type of JSON that a part of a template becomes; empty if it is not known.
func (c *checker) kindOf(content any, path *field.Path) string {
	switch content := content.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		return "number"
	case string:
		if inline.IsExpression(content) {
			return kindOfType(c.types[path.String()])
		}
		return "string"
	}
	return ""
}

func kindOfType(of *types.Type) string {
	if of == nil {
		return ""
	}
	switch of.Kind() {
	case types.StringKind:
		return "string"
	case types.IntKind, types.UintKind:
		return "integer"
	case types.DoubleKind:
		return "number"
	case types.BoolKind:
		return "boolean"
	case types.ListKind:
		return "array"
	case types.MapKind:
		return "object"
	}
	return ""
}

// kindsOf returns the types of JSON that a schema allows; none if any may be allowed.
func kindsOf(of *spec.Schema) []string {
	intOrString, _ := of.Extensions["x-kubernetes-int-or-string"].(bool)
	if len(of.Type) == 0 || len(of.OneOf) > 0 || len(of.AnyOf) > 0 || of.Format == "int-or-string" || intOrString {
		return nil
	}
	if of.Type.Contains("number") {
		return append(slices.Clone(of.Type), "integer")
	}
	return of.Type
}

// parentFields compares the fields of the parent that an expression uses with the schema.
func (c *checker) parentFields(one inline.Expression, parent string, schemas Schemas) {
	if schemas.Parent == nil || shadows(one.AST, parent) {
		return
	}
	ast.PostOrderVisit(one.AST.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		steps, ok := stepsFrom(e, parent)
		if !ok || len(steps) == 0 {
			return
		}
		of := schemas.Parent
		for _, step := range steps[:len(steps)-1] {
			if of, _ = follow(of, step); of == nil {
				return
			}
		}
		last := steps[len(steps)-1]
		if _, known := follow(of, last); known {
			return
		}
		at := one.AST.SourceInfo().GetStartLocation(e.ID())
		c.warn(one.Path, "%s has no field %s%s (at %d:%d of the expression)", schemas.ParentType, pathOf(steps),
			meant(last, of), max(at.Line(), 1), at.Column()+1)
	}))
}

// shadows reports whether a macro of an expression has a variable of that name.
func shadows(tree *ast.AST, name string) (found bool) {
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			fold := e.AsComprehension()
			found = found || fold.IterVar() == name || fold.IterVar2() == name
		}
	}))
	return found
}

// anyItem is the step from a list to an item.
const anyItem = "[]"

// stepsFrom returns the fields and items that an expression selects, beginning at a variable. It returns false if the
// expression does anything else.
func stepsFrom(e ast.Expr, variable string) ([]string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, e.AsIdent() == variable
	case ast.SelectKind:
		steps, ok := stepsFrom(e.AsSelect().Operand(), variable)
		return append(steps, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
		default:
			return nil, false
		}
		steps, ok := stepsFrom(call.Args()[0], variable)
		if key := call.Args()[1]; key.Kind() == ast.LiteralKind {
			if name, isText := key.AsLiteral().(types.String); isText {
				return append(steps, string(name)), ok
			}
			return append(steps, anyItem), ok
		}
	}
	return nil, false
}
