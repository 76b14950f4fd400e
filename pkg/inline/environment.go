// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

const (
	// variablesName is the name of the variable that has the variables of a template as fields.
	variablesName = "variables"
	// mapInsert is the function with which macros collect a map.
	mapInsert = "cel.@mapInsert"
	// maxExpressionBytes limits the length of an expression.
	maxExpressionBytes = 10_000
)

// languageVersion is the version of Kubernetes whose CEL environment expressions have.
func languageVersion() *version.Version { return version.MajorMinor(1, 37) }

// language compiles the expressions of one template.
type language struct {
	env *cel.Env
	// variables is the type of the variable of that name. It gets a field for each variable of the template.
	variables *apiservercel.DeclType
	// names are the names that expressions know, and loops those of forEach among them.
	names, loops []string
	// metered puts the meter before the calls of functions.
	metered cel.ProgramOption
}

// newLanguage returns the language of templates that see some fields of a request.
func newLanguage(names []string) (*language, error) {
	l := &language{
		variables: apiservercel.NewObjectType("inline.variables", map[string]*apiservercel.DeclField{}),
		names:     append([]string{variablesName}, names...),
	}
	options := []cel.EnvOption{
		cel.Variable(variablesName, l.variables.CelType()),
		ext.Encoders(ext.EncodersVersion(0)),
		cel.Lib(library{}),
		cel.ParserExpressionSizeLimit(maxExpressionBytes),
	}
	for _, name := range names {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	set, err := environment.MustBaseEnvSet(languageVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options, DeclTypes: []*apiservercel.DeclType{l.variables},
	})
	if err != nil {
		return nil, err
	}
	env := set.NewExpressionsEnv()
	if l.env, err = env.Extend(cel.CustomTypeAdapter(adapter{env.CELTypeAdapter()})); err != nil {
		return nil, err
	}
	for i, validator := range l.env.Validators() { // the slice of this environment, which has no other way to change it
		if validator.Name() == cel.ValidateHomogeneousAggregateLiterals().Name() {
			l.env.Validators()[i] = anyLiterals{}
		}
	}
	l.metered, err = meterCalls(l.env)
	return l, err
}

// anyLiterals takes the place of the validator that refuses lists and maps of values with different types. JSON has
// them, and a field of the request has another type than any text.
type anyLiterals struct{}

// Name implements cel.ASTValidator.
func (anyLiterals) Name() string { return "inline.literals" }

// Validate implements cel.ASTValidator.
func (anyLiterals) Validate(*cel.Env, cel.ValidatorConfig, *ast.AST, *cel.Issues) {}

// with returns the language with one more name, whose value has any type.
func (l *language) with(name string) (*language, error) {
	env, err := l.env.Extend(cel.Variable(name, cel.DynType))
	names, loops := append(slices.Clone(l.names), name), append(slices.Clone(l.loops), name)
	return &language{env: env, variables: l.variables, names: names, loops: loops, metered: l.metered}, err
}

// declare makes a variable of the template known to the expressions that are compiled after it. It is also a name with
// a dot, because CEL finds nothing in a field whose value is an optional.
func (l *language) declare(name string) (err error) {
	l.variables.Fields[name] = apiservercel.NewDeclField(name, apiservercel.DynType, true, nil, nil)
	l.env, err = l.env.Extend(cel.Variable(variablesName+"."+name, cel.DynType))
	return err
}

// compile parses and checks an expression. The check compiles literal regular expressions, so it comes after their
// limits.
func (l *language) compile(source string) (*cel.Ast, *cel.Issues) {
	parsed, issues := l.env.Parse(source)
	if issues.Err() != nil {
		return nil, issues
	}
	issues = cel.NewIssuesWithSourceInfo(common.NewErrors(parsed.Source()), parsed.NativeRep().SourceInfo())
	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || !hasPattern(e.AsCall().FunctionName()) {
			return
		}
		for _, arg := range e.AsCall().Args() {
			if arg.Kind() != ast.LiteralKind {
				continue
			}
			if _, _, err := pattern(arg.AsLiteral()); err != nil {
				issues.ReportErrorAtID(arg.ID(), "%v", err)
			}
		}
	}))
	if issues.Err() != nil {
		return nil, issues
	}
	return l.env.Check(parsed)
}

// isFixed reports whether an expression within a forEach depends on none of its names.
func (l *language) isFixed(checked *ast.AST) bool {
	depends := false
	ast.PostOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		depends = depends || e.Kind() == ast.IdentKind && slices.Contains(l.loops, e.AsIdent())
	}))
	return len(l.loops) > 0 && !depends
}

// hasPattern reports whether a function takes a regular expression.
func hasPattern(function string) bool {
	return function == "matches" || function == "find" || function == "findAll"
}

// program returns the program of a checked expression.
func (l *language) program(ast *cel.Ast) (cel.Program, error) {
	return l.env.Program(ast, l.metered, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
}

// library has the functions that templates need, and that the libraries of Kubernetes do not have.
type library struct{}

// LibraryName implements cel.SingletonLibrary.
func (library) LibraryName() string { return "inline" }

// ProgramOptions implements cel.Library.
func (library) ProgramOptions() []cel.ProgramOption { return nil }

// CompileOptions implements cel.Library.
func (library) CompileOptions() []cel.EnvOption {
	anyMap := cel.MapType(cel.StringType, cel.DynType)
	return []cel.EnvOption{
		cel.Function("json.marshal", cel.Overload("json_marshal_dyn", []*cel.Type{cel.DynType}, cel.StringType,
			cel.UnaryBinding(jsonText))),
		cel.Function("json.unmarshal", cel.Overload("json_unmarshal_string", []*cel.Type{cel.StringType}, cel.DynType,
			cel.UnaryBinding(fromJSON))),
		cel.Function("yaml.marshal", cel.Overload("yaml_marshal_dyn", []*cel.Type{cel.DynType}, cel.StringType,
			cel.UnaryBinding(yamlText))),
		cel.Function("hash.sha256", cel.Overload("hash_sha256_string", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(hash))),
		cel.Function("merge", cel.MemberOverload("map_merge_map", []*cel.Type{anyMap, anyMap}, anyMap,
			cel.BinaryBinding(merge))),
	}
}

// jsonText returns a value as JSON, with sorted keys.
func jsonText(value ref.Val) ref.Val {
	w := writer{limit: maxMadeBytes}
	if present, err := w.value(value); err != nil {
		return types.WrapErr(err)
	} else if !present {
		return types.NewErr("the value is an absent optional")
	}
	return types.String(w.body)
}

// yamlText returns a value as YAML, with sorted keys.
func yamlText(value ref.Val) ref.Val {
	made := jsonText(value)
	text, ok := made.(types.String)
	if !ok {
		return made
	}
	raw, err := yaml.JSONToYAML([]byte(text))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.String(raw)
}

func fromJSON(text ref.Val) ref.Val {
	var value any
	if err := utiljson.Unmarshal([]byte(text.(types.String)), &value); err != nil {
		return types.NewErr("json.unmarshal: %v", err)
	}
	return adapter{types.DefaultTypeAdapter}.NativeToValue(value)
}

// hash returns the SHA-256 of a text in hexadecimal digits.
func hash(text ref.Val) ref.Val {
	sum := sha256.Sum256([]byte(text.(types.String)))
	return types.String(hex.EncodeToString(sum[:]))
}

// merge returns a map with the entries of two; those of the second replace those of the first.
func merge(first, second ref.Val) ref.Val {
	merged := map[ref.Val]ref.Val{}
	for _, from := range []ref.Val{first, second} {
		of, ok := from.(traits.Mapper)
		if !ok {
			return types.NewErr("merge: %s is not a map", from.Type().TypeName())
		}
		for i := of.Iterator(); i.HasNext() == types.True; {
			key := i.Next()
			merged[key] = of.Get(key)
		}
	}
	return ordered(types.NewRefValMap(types.DefaultTypeAdapter, merged))
}

// identifier returns why a text cannot be the name of a variable; nil if it can be.
func identifier(name string) error {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return errors.New("must be a letter or an underscore, then letters, digits and underscores")
		}
	}
	if strings.Contains(name, "__") {
		return errors.New("must not have two underscores in a row, which Kubernetes' CEL reads as an escape")
	}
	switch name {
	case "":
		return errors.New("is the name that expressions use")
	case "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
		"let", "loop", "package", "namespace", "return", "var", "void", "while":
		return errors.New("is a reserved word of CEL")
	}
	return nil
}
