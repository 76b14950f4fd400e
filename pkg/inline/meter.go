// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/interpreter/functions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// The limits of one evaluation of a template, in the units in which CEL counts what expressions cost. A million take
// a tenth of a second to a second.
const (
	maxExpressionCost = celconfig.PerCallLimit
	maxEvaluationCost = celconfig.RuntimeCELCostBudget
	// maxMadeBytes limits the text that the calls of functions in all expressions of a template return.
	maxMadeBytes = 32 << 20
)

// errCost is the error of a template that costs too much.
var errCost = errors.New("costs too much")

// meter counts the cost of the expressions of one evaluation. CEL itself counts the cost of a call after the call has
// returned, and counts one unit for each item of a list, even if the item is a large list. A list that contains another
// list twice, and so on for forty levels, would therefore keep a comparison busy for hours. The meter counts everything
// in the arguments before the call.
type meter struct {
	ctx context.Context
	// expression and evaluation count units, and made counts bytes.
	expression, evaluation, made uint64
	// ended is the error that has ended the evaluation.
	ended error
	// pause is called every pauseAfter, counted from since; nil if the evaluation does not pause.
	pause func() error
	since time.Time
}

// pauseAfter is how long an evaluation takes before it pauses.
const pauseAfter = 100 * time.Millisecond

// canContinue returns why the evaluation cannot continue, after a pause if it is time for one.
func (m *meter) canContinue() error {
	if err := cmp.Or(m.ended, context.Cause(m.ctx)); err != nil || m.pause == nil || time.Since(m.since) < pauseAfter {
		return err
	}
	err := m.pause()
	m.since = time.Now()
	return err
}

// meterName is the name under which an activation has its meter. No expression can have this name.
const meterName = "@meter"

// meterOf returns the meter of an evaluation; nil while a program is planned.
func meterOf(frame *interpreter.ExecutionFrame) *meter {
	found, _ := frame.ResolveName(meterName)
	m, _ := found.(*meter)
	return m
}

// begin begins an expression.
func (m *meter) begin() error {
	m.expression = 0
	if err := m.canContinue(); err != nil {
		return err
	}
	return m.spend(0)
}

// check ends the evaluation if there is an error. Expressions can ignore other errors, and continue for long.
func (m *meter) check(err error) {
	if err != nil {
		m.ended = err
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: err.Error()})
	}
}

// spend counts some units.
func (m *meter) spend(units uint64) error {
	m.expression += units
	m.evaluation += units
	switch {
	case m.expression > maxExpressionCost:
		return fmt.Errorf("%w: the cost limit of an expression is %d units", errCost, maxExpressionCost)
	case m.evaluation > maxEvaluationCost:
		return fmt.Errorf("%w: the cost limit of all expressions of a hook together is %d units", errCost, maxEvaluationCost)
	}
	return nil
}

// left returns how many units are left.
func (m *meter) left() uint64 {
	ofExpression := maxExpressionCost - min(m.expression, maxExpressionCost)
	return min(ofExpression, maxEvaluationCost-min(m.evaluation, maxEvaluationCost))
}

// before counts the work of a call that is about to happen.
func (m *meter) before(function string, args []ref.Val) error {
	if m == nil {
		return nil
	}
	if err := m.canContinue(); err != nil {
		return err
	}
	units, err := work(function, args, m.left()+1)
	if err != nil {
		return err
	}
	return m.spend(units)
}

// after counts the result of a call.
func (m *meter) after(function string, args []ref.Val, result ref.Val) error {
	if m == nil {
		return nil
	}
	switch result.(type) {
	case types.String, types.Bytes:
		m.made += length(result)
	case traits.Lister:
		if isConcatenation(function, args) || !isConstant(function, args) {
			m.made += itemBytes * length(result)
		}
	}
	if m.made > maxMadeBytes {
		return fmt.Errorf("%w: the functions in all expressions of a hook may return at most %d bytes in total",
			errCost, maxMadeBytes)
	}
	return nil
}

// isConstant reports whether the cost of a function is independent of the content of its arguments.
func isConstant(function string, args []ref.Val) bool {
	switch function {
	case "or", "orValue", "hasValue", "value", "optional.of", "optional.none", "optional.ofNonZeroValue", "first",
		"last", "dyn", "type", operators.Add, operators.NotStrictlyFalse:
		return true
	case "size":
		return args[0].Type() != types.StringType // CEL counts its characters
	case operators.In:
		_, isMap := args[1].(traits.Mapper)
		return isMap
	case mapInsert:
		return len(args) == 3 // a key and its value
	}
	return false
}

// work returns the units that a call may take, up to a limit: by default as many as it takes to visit its arguments.
func work(function string, args []ref.Val, limit uint64) (uint64, error) {
	switch {
	case isConcatenation(function, args):
		return length(args[0]) + length(args[1]), nil
	case isConstant(function, args):
		return 0, nil
	case function == mapInsert:
		return entryUnits * length(args[1]), nil
	}
	total := uint64(0)
	const comparisonsPerUnit = 4
	for _, arg := range args {
		total += extent(arg, limit)
	}
	switch function {
	case "sets.contains", "sets.equivalent", "sets.intersects":
		return total + length(args[0])*extent(args[1], limit)/comparisonsPerUnit, nil
	case "distinct":
		return total * (length(args[0])/comparisonsPerUnit + 1), nil
	case "matches", "find", "findAll":
		compilation, steps, err := pattern(args[1])
		return compilation + steps*total, err
	case "indexOf", "lastIndexOf":
		return total + length(args[0])*length(args[1])/textUnit, nil
	case "format":
		return formatted(args[0], total)
	case "json.unmarshal", "yaml.marshal":
		return total * textUnit, nil
	case "lists.range":
		if n, ok := args[0].(types.Int); ok && n > 0 {
			return uint64(n), nil
		}
	case "replace":
		if len(args) > 2 {
			return total + (length(args[0])/max(length(args[1]), 1)+1)*length(args[2])/textUnit, nil
		}
	case "join":
		if len(args) > 1 {
			return total + length(args[0])*length(args[1])/textUnit, nil
		}
	}
	return total, nil
}

// isConcatenation reports whether a call adds two lists, other than to the list in which a macro collects its result.
func isConcatenation(function string, args []ref.Val) bool {
	if function != operators.Add {
		return false
	}
	_, isList := args[0].(traits.Lister)
	_, isMutable := args[0].(traits.MutableLister)
	_, isAdded := args[1].(traits.Lister)
	return isList && isAdded && !isMutable
}

// concatenated returns the items of two lists as one list. CEL would return a list that refers to both, in which a
// chain of additions makes each item take as long as the chain.
func concatenated(lists []ref.Val) ref.Val {
	var items []ref.Val
	for _, one := range lists {
		for i := one.(traits.Lister).Iterator(); i.HasNext() == types.True; {
			items = append(items, i.Next())
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, items)
}

// largePrecision matches a part of a format whose result may be far longer than its value.
var largePrecision = regexp.MustCompile(`%\.0*[0-9]{3}`)

// formatted returns the units of a format whose arguments take some units.
func formatted(format ref.Val, total uint64) (uint64, error) {
	const numberUnits = 40
	text, _ := format.(types.String)
	if largePrecision.MatchString(strings.ReplaceAll(string(text), "%%", "")) {
		return 0, errors.New("a precision may have at most two digits")
	}
	return total + numberUnits*uint64(strings.Count(string(text), "%")), nil
}

const (
	maxPatternBytes        = 1000
	maxPatternInstructions = 2000
	maxPatternClasses      = 10
)

var (
	// foldedRange matches the ranges of characters that Go's parser expands one by one in a pattern with the flag i.
	foldedRange = regexp.MustCompile(`(?s)\(\?[a-zA-Z-]*i.*\[.*-([^\x00-\x7f]|\\x\{)`)
	// unicodeClass matches the classes of Unicode, such as \pL.
	unicodeClass = regexp.MustCompile(`\\[pP]`)
)

// pattern returns about how many units the compilation of a regular expression takes, and then each unit of text. It
// returns an error if the compilation takes too long.
func pattern(of ref.Val) (compilation, steps uint64, err error) {
	const byteUnits, classUnits, instructionsPerUnit = 10, 1000, 4
	text, _ := of.(types.String)
	classes := len(unicodeClass.FindAllString(string(text), -1))
	switch {
	case len(text) > maxPatternBytes:
		return 0, 0, fmt.Errorf("%w: a regular expression may have at most %d bytes", errCost, maxPatternBytes)
	case classes > maxPatternClasses:
		return 0, 0, fmt.Errorf("%w: a regular expression may have at most %d Unicode classes", errCost, maxPatternClasses)
	case foldedRange.MatchString(string(text)):
		return 0, 0, fmt.Errorf(
			"%w: a regular expression with the flag i may contain only ranges of ASCII characters", errCost)
	}
	parsed, err := syntax.Parse(string(text), syntax.Perl)
	if err != nil {
		return 0, 1, nil // the call returns the error
	}
	count := instructions(parsed)
	if count > maxPatternInstructions {
		return 0, 0, fmt.Errorf("%w: a regular expression may have at most %d parts, repetitions included", errCost,
			maxPatternInstructions)
	}
	return uint64(count + byteUnits*len(text) + classUnits*classes), uint64(1 + count/instructionsPerUnit), nil
}

// instructions returns about how many instructions a part of a regular expression has.
func instructions(of *syntax.Regexp) int {
	count := 1
	if of.Op == syntax.OpLiteral {
		count = len(of.Rune)
	}
	for _, sub := range of.Sub {
		count += instructions(sub)
	}
	if of.Op == syntax.OpRepeat {
		count *= max(of.Min, of.Max, 1)
	}
	return count
}

const (
	// textUnit is how many bytes of text count as one unit.
	textUnit = 10
	// itemBytes is about how many bytes an item of a list takes.
	itemBytes = 32
)

// length returns the length of a text in bytes, and how many items a list or a map has; 1 for all other values.
func length(value ref.Val) uint64 {
	switch value := value.(type) {
	case types.String:
		return uint64(len(value))
	case traits.Sizer:
		if size, ok := value.Size().(types.Int); ok {
			return uint64(size)
		}
	}
	return 1
}

// entryUnits is how many more units an entry of a map takes than an item of a list.
const entryUnits = 3

// extent returns how many units it takes to visit all that is in a value. It stops counting at the limit.
func extent(value ref.Val, limit uint64) uint64 {
	count := uint64(1)
	switch value := value.(type) {
	case types.String, types.Bytes:
		count += length(value) / textUnit
	case *types.Optional:
		if value.HasValue() {
			count += extent(value.GetValue(), limit)
		}
	case traits.Mapper:
		for i := value.Iterator(); i.HasNext() == types.True && count < limit; {
			key := i.Next()
			count += entryUnits + extent(key, limit) + extent(value.Get(key), limit-min(limit, count))
		}
	case traits.Lister:
		for i := value.Iterator(); i.HasNext() == types.True && count < limit; {
			count += extent(i.Next(), limit-min(limit, count))
		}
	}
	return count
}

// metered is a call of a function that the meter counts.
type metered struct {
	interpreter.InterpretableCall
	call functions.FunctionOp
}

// Exec implements interpreter.InterpretableV2.
func (c *metered) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	inputs := c.Args()
	args := make([]ref.Val, len(inputs))
	for i, input := range inputs {
		if args[i] = input.Exec(frame); types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	m := meterOf(frame)
	m.check(m.before(c.Function(), args))
	call := c.call
	if isConcatenation(c.Function(), args) {
		call = func(lists ...ref.Val) ref.Val { return concatenated(lists) }
	}
	result := call(args...)
	m.check(m.after(c.Function(), args, result))
	if made, ok := result.(traits.MutableMapper); ok && c.Function() == mapInsert {
		return orderedMutable{made}
	}
	if failed, ok := result.(*types.Err); ok && failed.Error() == noOverload {
		result = types.NewErr("%s: %s(%s)", noOverload, c.Function(), typeNames(args))
	}
	return types.LabelErrNode(c.ID(), result)
}

// noOverload is the error of CEL for a function with arguments of types that it does not take.
const noOverload = "no such overload"

// Eval implements interpreter.Interpretable.
func (c *metered) Eval(vars interpreter.Activation) ref.Val { return c.Exec(interpreter.AsFrame(vars)) }

// hidden hides from CEL that something is a call. CEL compiles a constant regular expression once, and then calls it
// without the meter.
type hidden struct{ interpreter.InterpretableV2 }

// orderedMaps is a map literal, whose maps are ordered.
type orderedMaps struct {
	interpreter.InterpretableConstructor
}

// Exec implements interpreter.InterpretableV2.
func (l orderedMaps) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	made := l.InterpretableConstructor.Exec(frame)
	if mapper, ok := made.(traits.Mapper); ok {
		return ordered(mapper)
	}
	return made
}

// Eval implements interpreter.Interpretable.
func (l orderedMaps) Eval(vars interpreter.Activation) ref.Val {
	return l.Exec(interpreter.AsFrame(vars))
}

// meterCalls puts the meter before the calls of all functions of an environment, and orders the maps of literals.
func meterCalls(env *cel.Env) (cel.ProgramOption, error) {
	implemented := map[string]*functions.Overload{}
	for _, function := range env.Functions() {
		bindings, err := function.Bindings()
		if err != nil {
			return nil, err
		}
		for _, binding := range bindings {
			implemented[binding.Operator] = binding
		}
	}
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if made, ok := i.(interpreter.InterpretableConstructor); ok && made.Type() == types.MapType {
			return orderedMaps{made}, nil
		}
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || len(call.Args()) == 0 {
			return i, nil
		}
		with := implementation(call, implemented)
		if with == nil {
			return i, nil
		}
		counted := &metered{call, with}
		if hasPattern(call.Function()) {
			return hidden{counted}, nil
		}
		return counted, nil
	}), nil
}

// implementation returns the function that a call calls; nil if the call is not metered.
func implementation(call interpreter.InterpretableCall, known map[string]*functions.Overload) functions.FunctionOp {
	switch call.Function() {
	case operators.Equals:
		return func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }
	case operators.NotEquals:
		return func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }
	}
	found := known[call.OverloadID()]
	if found == nil {
		found = known[call.Function()]
	}
	if found == nil || found.NonStrict {
		return nil
	}
	with := variadic(found, len(call.Args()))
	if with == nil || found.OperandTrait == 0 {
		return with
	}
	return func(args ...ref.Val) ref.Val {
		if !args[0].Type().HasTrait(found.OperandTrait) {
			return types.NewErr(noOverload)
		}
		return with(args...)
	}
}

// variadic returns the implementation of a function that takes args arguments.
func variadic(of *functions.Overload, args int) functions.FunctionOp {
	switch {
	case args == 1 && of.Unary != nil:
		return func(args ...ref.Val) ref.Val { return of.Unary(args[0]) }
	case args == 2 && of.Binary != nil:
		return func(args ...ref.Val) ref.Val { return of.Binary(args[0], args[1]) }
	}
	return of.Function
}

func typeNames(args []ref.Val) string {
	names := make([]string, len(args))
	for i, arg := range args {
		names[i] = arg.Type().TypeName()
	}
	return strings.Join(names, ", ")
}
