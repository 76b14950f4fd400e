// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/openapi"
)

const referenceHead = `# API reference

All fields of ` + "`metacontroller.k8s.io/v1alpha1`" + `, made from the types by ` + "`make docs-reference`" + `. ` + "`kubectl explain`" + ` prints the same.

`

// worthALink is the number of words from which a text is on the page only once.
const worthALink = 10

// plain keeps Markdown from taking a placeholder such as <name> for HTML.
var plain = strings.NewReplacer("<", "&lt;", ">", "&gt;")

// reference writes the page of the types. Types come in the order in which they are named first.
type reference struct {
	text        strings.Builder
	definitions map[string]common.OpenAPIDefinition
	waiting     []reflect.Type
	known       map[reflect.Type]bool
	// described maps the text of a field to the type that has it on the page.
	described map[string]string
}

// apiReference returns the page with all fields of the API.
func apiReference() string {
	r := &reference{
		definitions: openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef(path) }),
		known:       map[reflect.Type]bool{},
		described:   map[string]string{},
	}
	r.text.WriteString(referenceHead)
	for _, kind := range []reflect.Type{
		reflect.TypeFor[v1alpha1.CompositeController](), reflect.TypeFor[v1alpha1.DecoratorController](), reflect.TypeFor[v1alpha1.ControllerRevision](),
		reflect.TypeFor[v1alpha1.SyncReview](), reflect.TypeFor[v1alpha1.ResyncRequest](),
		reflect.TypeFor[v1alpha1.Sync](), reflect.TypeFor[v1alpha1.HookCall](),
	} {
		r.add(kind)
	}
	for len(r.waiting) > 0 {
		next := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.describe(next)
	}
	return r.text.String()
}

func (r *reference) add(of reflect.Type) {
	if !r.known[of] {
		r.known[of] = true
		r.waiting = append(r.waiting, of)
	}
}

// describe writes a type with its fields.
func (r *reference) describe(of reflect.Type) {
	schema := r.definitions[reflect.Zero(of).Interface().(interface{ OpenAPIModelName() string }).OpenAPIModelName()].Schema
	fmt.Fprintf(&r.text, "## %s\n\n%s\n\n", of.Name(), plain.Replace(schema.Description))
	required := map[string]bool{}
	for _, name := range schema.Required {
		required[name] = true
	}
	r.fields(of, of, schema, required)
}

// fields writes the fields of a type, and those of the types that are inline in it, as fields of an owner.
func (r *reference) fields(owner, of reflect.Type, schema spec.Schema, required map[string]bool) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if strings.Contains(options, "inline") {
			if field.Type.PkgPath() == of.PkgPath() {
				r.fields(owner, field.Type, schema, required)
			}
			continue
		}
		if name == "-" {
			continue
		}
		about := r.typeName(field.Type)
		if required[name] {
			about += ", required"
		}
		fmt.Fprintf(&r.text, "**`%s`** %s\n\n%s\n\n", name, about, r.once(owner, name, schema.Properties[name].Description))
	}
}

// once returns the description of a field, or a link to the type that has the same text for a field of that name. The
// same holds for the list of the values.
func (r *reference) once(owner reflect.Type, name, description string) string {
	text, values, hasValues := strings.Cut(description, "\n\nPossible enum values:")
	if len(strings.Fields(text)) >= worthALink {
		text = r.linked(owner, name+text, text, "See [%s](#%s).")
	} else {
		text = plain.Replace(text)
	}
	if hasValues {
		text += "\n\n" + r.linked(owner, values, "Possible enum values:"+values, "For the possible values, see [%s](#%s).")
	}
	return text
}

// linked returns the text, or a link to the type that has the text with the same key.
func (r *reference) linked(owner reflect.Type, key, text, link string) string {
	first, found := r.described[key]
	if !found {
		r.described[key] = owner.Name()
		return plain.Replace(text)
	}
	return fmt.Sprintf(link, first, strings.ToLower(first))
}

// typeName returns how a type is called, with a link if it is on the page. It has the page describe it.
func (r *reference) typeName(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Pointer:
		return r.typeName(of.Elem())
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return "bytes in base64"
		}
		return "list of " + r.typeName(of.Elem())
	case reflect.Map:
		return "map of " + r.typeName(of.Elem())
	case reflect.Struct:
		if of.PkgPath() != reflect.TypeFor[v1alpha1.CompositeController]().PkgPath() {
			return of.Name()
		}
		r.add(of)
		return fmt.Sprintf("[%s](#%s)", of.Name(), strings.ToLower(of.Name()))
	case reflect.Bool:
		return "boolean"
	case reflect.Int32, reflect.Int64:
		return "integer"
	default:
		return of.Kind().String()
	}
}
