// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check compares inline hooks with the schemas of the cluster: the fields of parents and children that
// expressions use, and the fields of the objects that templates make. It is pure. Schemas change, so its findings are
// warnings.
package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
)

// Schema is the schema of a value.
type Schema = openapi.Type

// Types are the types of a controller.
type Types struct {
	// Parents and Children are the kinds of the parents and the children. One is empty if the cluster does not serve its
	// type yet.
	Parents, Children []schema.GroupVersionKind
	// Schemas are the schemas of the parents and the children. A kind without one is not compared.
	Schemas map[schema.GroupVersionKind]*Schema
}

// ByKind returns schemas by the kinds of their types.
func ByKind[T interface {
	comparable
	GroupVersionKind() schema.GroupVersionKind
}](of map[T]*Schema) map[schema.GroupVersionKind]*Schema {
	schemas := map[schema.GroupVersionKind]*Schema{}
	for one, known := range of {
		schemas[one.GroupVersionKind()] = known
	}
	return schemas
}

// Template returns the warnings about a hook.
func Template(template *inline.Template, types Types) []string {
	c := &checker{types: types, form: template.Form, kinds: map[string]string{}}
	parent, known := c.request()
	c.expressions(template, known)
	hook, path := template.Hook, template.Path
	if parent.of != nil && !parent.of.Lacks("status") && hook.Status != nil {
		c.value(decoded(hook.Status), path.Child("status"), parent.of.Field("status"), "the status of "+parent.kind)
	}
	for _, one := range inline.ChildLists(hook) {
		for i := range one.Children {
			c.child(decoded(&one.Children[i].Object), path.Child(one.Name).Index(i).Child("object"))
		}
	}
	return c.warnings
}

func decoded(value *v1alpha1.JSONValue) (content any) {
	_ = utiljson.Unmarshal(value.Raw, &content) // it compiles
	return content
}

type checker struct {
	types Types
	form  inline.Form
	// kinds are the JSON kinds of the values of expressions, by their paths; empty if there may be several.
	kinds    map[string]string
	warnings []string
}

func (c *checker) warn(path *field.Path, format string, args ...any) {
	text := path.String() + ": " + fmt.Sprintf(format, args...)
	if !slices.Contains(c.warnings, text) { // some macros repeat a part of an expression
		c.warnings = append(c.warnings, text)
	}
}

// rules returns the field of the spec that declares the types of children.
func (c *checker) rules() string {
	if c.form.Decorates {
		return "spec.attachments"
	}
	return "spec.childResources"
}

// child compares an object with the schema of its kind.
func (c *checker) child(content any, path *field.Path) {
	object, ok := content.(map[string]any)
	if !ok {
		return
	}
	for _, name := range []string{"apiVersion", "kind"} {
		if _, computed := c.kinds[path.Child(name).String()]; computed {
			return
		}
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	is := schema.FromAPIVersionAndKind(apiVersion, kind)
	declared := c.types.Children
	if slices.Contains(declared, is) {
		c.value(object, path, c.types.Schemas[is], nameOf(is))
	} else if !slices.ContainsFunc(declared, func(one schema.GroupVersionKind) bool {
		return one.Empty() || one.GroupKind() == is.GroupKind() // not served yet, or another version
	}) {
		c.warn(path.Child("kind"), "%s declares no kind %q in apiVersion %q, so the sync of a parent with this object "+
			"fails; the declared kinds are: %s", c.rules(), kind, apiVersion, strings.Join(namesOf(declared), ", "))
	}
}

// nameOf formats a kind as the keys of requests and other messages do.
func nameOf(kind schema.GroupVersionKind) string {
	return kind.Kind + "." + kind.GroupVersion().String()
}

func namesOf(kinds []schema.GroupVersionKind) (names []string) {
	for _, kind := range kinds {
		names = append(names, nameOf(kind))
	}
	return names
}

// value compares a part of an object with its schema. name is the type of the object.
func (c *checker) value(content any, path *field.Path, of *Schema, name string) {
	is, wants := c.kindOf(content, path), of.Kind()
	if is != "" && wants != "" && is != wants && (is != "integer" || wants != "number") {
		c.warn(path, "must be of type %s in %s, not %s", wants, name, is)
		return
	}
	switch content := content.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(content)) {
			at := inline.ChildPath(path, key)
			if of.Lacks(key) {
				c.warn(at, "there is no such field in %s%s", name, meant(of.Nearest(key)))
				continue
			}
			c.value(content[key], at, of.Field(key), name)
		}
	case []any:
		for i, item := range content {
			c.value(item, path.Index(i), of.Items(), name)
		}
	}
}

// meant returns the end of a warning about an unknown name.
func meant(nearest string) string {
	if nearest == "" {
		return ""
	}
	return "; did you mean " + nearest + "?"
}

// kindOf returns the JSON kind that a part of a template becomes; empty if it is not known.
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
		if content == math.Trunc(content) {
			return "integer"
		}
		return "number"
	case string:
		if inline.IsExpression(content) {
			return c.kinds[path.String()]
		}
		return "string"
	}
	return ""
}

// kindOfType returns the JSON kind of the values of an expression; empty if there may be several. A double may be an
// integer.
func kindOfType(of *types.Type) string {
	switch of.Kind() {
	case types.StringKind:
		return "string"
	case types.IntKind, types.UintKind:
		return "integer"
	case types.BoolKind:
		return "boolean"
	case types.ListKind:
		return "array"
	case types.MapKind:
		return "object"
	}
	return ""
}
