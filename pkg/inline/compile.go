// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

const (
	// maxTemplateBytes limits the JSON of a template.
	maxTemplateBytes = 256 << 10
	// maxExpressions limits how many expressions a template has.
	maxExpressions = 200
	// maxErrors limits how many errors of a template are found.
	maxErrors = 50
	// maxLoops limits how many names a forEach has.
	maxLoops = 8
)

// Template is a compiled hook. It is safe for concurrent use.
type Template struct {
	// Hook is what the template was compiled from, and Path its field in the spec.
	Hook *v1alpha1.InlineHook
	Form Form
	Path *field.Path

	variables     []variable
	variablesType ref.Type
	adapter       types.Adapter
	answer        object
	expressions   []Expression
}

// Expression is an expression of a template, with its field in the spec.
type Expression struct {
	Path *field.Path
	AST  *ast.AST
}

// Expressions returns the expressions of the template.
func (t *Template) Expressions() []Expression { return t.expressions }

type variable struct {
	name       string
	expression *expression
}

// Compile compiles a hook. path is its field in the spec. The errors are all that can be known about the template by
// itself.
func Compile(hook *v1alpha1.InlineHook, form Form, path *field.Path) (*Template, field.ErrorList) {
	raw, err := json.Marshal(hook)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	if len(raw) > maxTemplateBytes {
		return nil, field.ErrorList{{Type: field.ErrorTypeTooLong, Field: path.String(), Detail: fmt.Sprintf(
			"the template has %d bytes of JSON, but the maximum is %d; use a webhook", len(raw), maxTemplateBytes)}}
	}
	known, err := newLanguage(form.names())
	if err != nil {
		return nil, field.ErrorList{field.InternalError(path, err)}
	}
	c := &compiler{root: path}
	t := &Template{Hook: hook, Form: form, Path: path,
		variablesType: known.variables, adapter: known.env.CELTypeAdapter()}
	t.variables = c.variables(hook.Variables, path.Child("variables"), known)
	t.answer = c.answer(hook, form, known)
	if c.count > maxExpressions {
		c.errs = append(c.errs, field.TooMany(path, c.count, maxExpressions))
	}
	t.expressions = c.compiled
	return t, c.errs[:min(len(c.errs), maxErrors)]
}

// compiler compiles the parts of one template.
type compiler struct {
	root *field.Path
	// count counts the expressions, and compiled has those that compile.
	count    int
	compiled []Expression
	errs     field.ErrorList
}

// isFull reports whether the compiler has found enough, and compiles no more expressions.
func (c *compiler) isFull() bool { return c.count > maxExpressions || len(c.errs) >= maxErrors }

func (c *compiler) invalid(path *field.Path, value any, detail string) {
	if long, ok := value.(string); ok {
		value = text.Shorten(long, 200)
	}
	c.errs = append(c.errs, field.Invalid(path, value, detail))
}

func (c *compiler) variables(written []v1alpha1.InlineVariable, path *field.Path, known *language) []variable {
	var compiled []variable
	for i, one := range written {
		at := path.Index(i)
		if err := identifier(one.Name); err != nil {
			c.invalid(at.Child("name"), one.Name, err.Error())
			continue
		}
		if known.variables.Fields[one.Name] != nil {
			c.errs = append(c.errs, field.Duplicate(at.Child("name"), one.Name))
			continue
		}
		x := c.expression(bare(one.Expression), at.Child("expression"), known)
		if err := known.declare(one.Name); err != nil {
			c.errs = append(c.errs, field.InternalError(at, err))
			return compiled
		}
		compiled = append(compiled, variable{one.Name, x})
	}
	return compiled
}

// answerField is a field of the answer that is JSON of a kind, or a string that is one expression with such a value.
type answerField struct {
	name   string
	value  *v1alpha1.JSONValue
	kind   string
	values []cel.Kind
}

// answer compiles the fields of the answer.
func (c *compiler) answer(hook *v1alpha1.InlineHook, form Form, known *language) (answer object) {
	maps, lists := []cel.Kind{cel.MapKind}, []cel.Kind{cel.ListKind}
	for _, one := range []answerField{
		{"status", hook.Status, "object", maps},
		{"labels", hook.Labels, "object", maps},
		{"annotations", hook.Annotations, "object", maps},
		{"resyncAfterSeconds", hook.ResyncAfterSeconds, "number", []cel.Kind{cel.IntKind, cel.UintKind, cel.DoubleKind}},
		{"events", hook.Events, "list", lists},
		{"finalized", hook.Finalized, "boolean", []cel.Kind{cel.BoolKind}},
		{"relatedResources", hook.RelatedResources, "list", lists},
	} {
		if one.value == nil || !c.allows(form, one.name) {
			continue
		}
		path := c.root.Child(one.name)
		content, ok := c.decode(one.value, path)
		if !ok {
			continue
		}
		if kindOf(content) != one.kind && !IsExpression(content) {
			c.invalid(path, kindOf(content), fmt.Sprintf("must be a JSON %s, or one expression", one.kind))
			continue
		}
		made := c.node(content, path, known)
		if x, ok := made.(*expression); ok {
			c.checkKind(x, path, append(one.values, cel.OpaqueKind, cel.NullTypeKind))
		}
		answer = append(answer, member{one.name, made})
	}
	for _, one := range ChildLists(hook) {
		if one.Children == nil || !c.allows(form, one.Name) {
			continue
		}
		var all children
		for i := range one.Children {
			all = append(all, c.child(&one.Children[i], c.root.Child(one.Name).Index(i), known))
		}
		answer = append(answer, member{one.Name, all})
	}
	return answer
}

// ChildList is a field of a hook that describes objects.
type ChildList struct {
	Name     string
	Children []v1alpha1.InlineChild
}

// ChildLists returns the fields of a hook that describe objects.
func ChildLists(hook *v1alpha1.InlineHook) []ChildList {
	return []ChildList{{"children", hook.Children}, {"attachments", hook.Attachments}}
}

// allows reports whether a template of the form may have a field.
func (c *compiler) allows(form Form, name string) bool {
	why := form.lacks(name)
	if why != "" {
		c.errs = append(c.errs, field.Forbidden(c.root.Child(name), why))
	}
	return why == ""
}

func (c *compiler) decode(value *v1alpha1.JSONValue, path *field.Path) (content any, ok bool) {
	if len(value.Raw) == 0 {
		c.errs = append(c.errs, field.Required(path, "must be the object, with its apiVersion, kind and metadata.name"))
		return nil, false
	}
	if err := utiljson.Unmarshal(value.Raw, &content); err != nil {
		c.invalid(path, string(value.Raw), err.Error())
		return nil, false
	}
	return content, true
}

// kindOf returns the kind of decoded JSON.
func kindOf(content any) string {
	switch content.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "list"
	case string:
		return "string"
	case bool:
		return "boolean"
	case nil:
		return "null"
	}
	return "number"
}

// IsExpression reports whether decoded JSON is a string that is one expression.
func IsExpression(content any) bool {
	text, ok := content.(string)
	if !ok {
		return false
	}
	parts, err := split(text)
	return err != nil || len(parts) == 1 && parts[0].isExpression
}

func (c *compiler) child(written *v1alpha1.InlineChild, path *field.Path, known *language) (made child) {
	if count := len(written.ForEach); count > maxLoops {
		c.errs = append(c.errs, field.TooMany(path.Child("forEach"), count, maxLoops))
		return made
	}
	for _, name := range slices.Sorted(maps.Keys(written.ForEach)) {
		at := path.Child("forEach").Key(name)
		if err := identifier(name); err != nil {
			c.invalid(at, name, err.Error())
			continue
		}
		if slices.Contains(known.names, name) {
			c.invalid(at, name, "choose another name: expressions already have "+strings.Join(known.names, ", "))
			continue
		}
		in := c.expression(bare(written.ForEach[name]), at, known, cel.ListKind, cel.MapKind, cel.OpaqueKind)
		made.loops = append(made.loops, loop{name, in})
		if c.isFull() {
			return made
		}
		var err error
		if known, err = known.with(name); err != nil {
			c.errs = append(c.errs, field.InternalError(at, err))
			return made
		}
	}
	if written.When != nil {
		made.when = c.expression(bare(*written.When), path.Child("when"), known, cel.BoolKind)
	}
	path = path.Child("object")
	content, ok := c.decode(&written.Object, path)
	if !ok {
		return made
	}
	c.checkIdentity(content, path)
	made.object = c.node(content, path, known)
	return made
}

// checkIdentity checks that an object has a type and a name, unless it is one expression.
func (c *compiler) checkIdentity(content any, path *field.Path) {
	of, ok := content.(map[string]any)
	if !ok {
		if !IsExpression(content) {
			c.invalid(path, kindOf(content), "must be an object, or one expression")
		}
		return
	}
	for _, name := range []string{"apiVersion", "kind"} {
		if text, ok := of[name].(string); !ok || text == "" {
			c.errs = append(c.errs, field.Required(path.Child(name), "every object must have an apiVersion and a kind"))
		}
	}
	metadata, ok := of["metadata"].(map[string]any)
	if name, isText := metadata["name"].(string); !IsExpression(of["metadata"]) && (!ok || !isText || name == "") {
		c.errs = append(c.errs, field.Required(path.Child("metadata", "name"), "must be the same in every answer"))
	}
}

// node compiles decoded JSON.
func (c *compiler) node(content any, path *field.Path, known *language) node {
	switch content := content.(type) {
	case string:
		return c.text(content, path, known)
	case []any:
		made := make(list, len(content))
		for i, item := range content {
			made[i] = c.node(item, path.Index(i), known)
		}
		return folded(made, made)
	case map[string]any:
		made := make(object, 0, len(content))
		var values []node
		for _, name := range slices.Sorted(maps.Keys(content)) {
			at := ChildPath(path, name)
			if strings.Contains(name, "${") {
				c.invalid(at, name, "names of fields cannot contain expressions; write the object as one expression, such as "+
					"${{parent.metadata.name: 1}}")
			}
			value := c.node(content[name], at, known)
			made, values = append(made, member{name, value}), append(values, value)
		}
		return folded(made, values)
	}
	raw, err := json.Marshal(content)
	if err != nil {
		c.invalid(path, "", err.Error())
	}
	return literal(raw)
}

// ChildPath returns the path of a field of an object. Names that are not identifiers are in brackets.
func ChildPath(path *field.Path, name string) *field.Path {
	if identifier(name) != nil {
		return path.Key(name)
	}
	return path.Child(name)
}

// folded returns the literal of a node whose parts are all literals, or else the node.
func folded(of node, parts []node) node {
	for _, one := range parts {
		if _, ok := one.(literal); !ok {
			return of
		}
	}
	w := &writer{limit: 2 * maxTemplateBytes}
	if _, err := of.append(nil, w); err != nil {
		return of
	}
	return literal(w.body)
}

// text compiles a string.
func (c *compiler) text(written string, path *field.Path, known *language) node {
	parts, err := split(written)
	if err != nil {
		c.invalid(path, written, err.Error())
		return literal("null")
	}
	if len(parts) == 1 && parts[0].isExpression {
		before := len(c.errs)
		defer c.hintLiteral(parts[0].text, before)
		return c.expression(parts[0].text, path, known)
	}
	var joined concatenation
	plain := ""
	for _, one := range parts {
		if !one.isExpression {
			joined, plain = append(joined, one.text), plain+one.text
			continue
		}
		before := len(c.errs)
		joined = append(joined, c.expression(one.text, path, known, textKinds()...))
		c.hintLiteral(one.text, before)
	}
	if !slices.ContainsFunc(parts, func(one part) bool { return one.isExpression }) {
		w := &writer{limit: 2 * maxTemplateBytes}
		if err := w.quoted(plain); err != nil {
			c.invalid(path, written, err.Error())
		}
		return literal(w.body)
	}
	return joined
}

// textKinds returns the types of values that can be within a text.
func textKinds() []cel.Kind {
	return []cel.Kind{cel.StringKind, cel.IntKind, cel.UintKind, cel.DoubleKind, cel.BoolKind, cel.TimestampKind,
		cel.DurationKind, cel.OpaqueKind, cel.StructKind, cel.NullTypeKind}
}

// shellVariable matches what stands between "${" and "}" in shell scripts.
var shellVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*([:#%/^,@+=?-].*)?$|^[!#]`)

// hintLiteral adds to the errors since before that a part of a text looks like a variable of a shell.
func (c *compiler) hintLiteral(source string, before int) {
	if !shellVariable.MatchString(source) {
		return
	}
	for _, err := range c.errs[before:] {
		err.Detail += fmt.Sprintf("; if this is not an expression, write $${%s}", text.Shorten(source, 50))
	}
}

// expression compiles an expression. kinds are the types that its value may have; none allows all.
func (c *compiler) expression(source string, path *field.Path, known *language, kinds ...cel.Kind) *expression {
	c.count++
	made := &expression{path: strings.TrimPrefix(path.String(), c.root.String()+".")}
	if c.isFull() {
		return made
	}
	checked, issues := known.compile(source)
	if issues.Err() != nil {
		for _, issue := range issues.Errors() {
			c.invalid(path, source, fmt.Sprintf("at %d:%d: %s", max(issue.Location.Line(), 1), issue.Location.Column()+1,
				known.explain(issue.Message, source)))
		}
		return made
	}
	made.ast = checked
	if len(kinds) > 0 && !c.checkKind(made, path, kinds) {
		return made
	}
	made.isFixed = known.isFixed(checked.NativeRep())
	c.compiled = append(c.compiled, Expression{path, checked.NativeRep()})
	var err error
	if made.program, err = known.program(checked); err != nil {
		c.invalid(path, source, err.Error())
	}
	return made
}

// checkKind reports whether the value of an expression may be of some kinds.
func (c *compiler) checkKind(x *expression, path *field.Path, kinds []cel.Kind) bool {
	if x.ast == nil {
		return false // it does not compile
	}
	of := x.ast.OutputType()
	if of.Kind() == cel.DynKind || slices.Contains(kinds, of.Kind()) {
		return true
	}
	c.invalid(path, x.ast.Source().Content(), fmt.Sprintf("the value must be %s, not %s", kindNames(kinds, of), of))
	return false
}

// kindNames names the kinds of values that are possible in place of a value of type is.
func kindNames(kinds []cel.Kind, is *cel.Type) string {
	switch kinds[0] {
	case cel.BoolKind:
		return "true or false"
	case cel.MapKind:
		return "a map"
	case cel.IntKind:
		return "a number"
	case cel.ListKind:
		if !slices.Contains(kinds, cel.MapKind) {
			return "a list"
		}
		if is.Kind() == cel.IntKind {
			return "a list, such as lists.range(x), or a map"
		}
		return "a list or a map"
	}
	return "text or a number"
}
