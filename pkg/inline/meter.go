// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"context"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

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
// about a tenth of a second.
const (
	maxExpressionCost = celconfig.PerCallLimit
	maxEvaluationCost = celconfig.RuntimeCELCostBudget
	// maxMadeBytes limits the text that the calls of functions in all expressions of a template return.
	maxMadeBytes = 32 << 20
)

// errCost is the error of a template that costs too much.
var errCost = errors.New("costs too much")

// meter counts what the expressions of one evaluation cost. CEL itself counts the cost of a call when the call has
// returned, and counts a list as one unit for each item, whatever is in it. So a list that has another list twice, and
// so on for forty levels, would keep a comparison busy for hours. The meter counts what is in the arguments before the
// call.
type meter struct {
	ctx context.Context
	// expression and evaluation count units, and made counts bytes.
	expression, evaluation, made uint64
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
	if err := context.Cause(m.ctx); err != nil {
		return err
	}
	return m.spend(0)
}

// spend counts some units.
func (m *meter) spend(units uint64) error {
	m.expression += units
	m.evaluation += units
	switch {
	case m.expression > maxExpressionCost:
		return fmt.Errorf("%w: an expression may cost %d units", errCost, maxExpressionCost)
	case m.evaluation > maxEvaluationCost:
		return fmt.Errorf("%w: all expressions of a hook together may cost %d units", errCost, maxEvaluationCost)
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
	if err := context.Cause(m.ctx); err != nil {
		return err
	}
	return m.spend(work(function, args, m.left()+1))
}

// after counts what a call has returned.
func (m *meter) after(result ref.Val) error {
	if m == nil {
		return nil
	}
	m.made += textSize(result)
	if m.made > maxMadeBytes {
		return fmt.Errorf("%w: the functions in all expressions of a hook together may return %d bytes of text", errCost,
			maxMadeBytes)
	}
	return nil
}

// constant are the functions whose work does not depend on what their arguments contain.
func constant(function string) bool {
	switch function {
	case "size", "or", "orValue", "hasValue", "value", "optional.of", "optional.none", "optional.ofNonZeroValue", "first",
		"last", "dyn", "type", operators.Add, operators.NotStrictlyFalse, mapInsert:
		return true
	}
	return false
}

// work returns the units that a call may take, up to a limit.
func work(function string, args []ref.Val, limit uint64) uint64 {
	switch {
	case isConcatenation(function, args):
		return uint64(itemCount(args[0]) + itemCount(args[1]))
	case constant(function), function == operators.In && isMap(args[1]):
		return 0
	}
	sizes := make([]uint64, len(args))
	total := uint64(0)
	for i, arg := range args {
		sizes[i] = extent(arg, limit)
		total += sizes[i]
	}
	switch function {
	case operators.Equals, operators.NotEquals:
		return min(sizes[0], sizes[1])
	case "sets.contains", "sets.equivalent", "sets.intersects":
		return min(sizes[0], limit) * min(sizes[1], limit)
	case "matches", "find", "findAll":
		return min(sizes[0], limit) * steps(args[1])
	case "indexOf", "lastIndexOf":
		return total + textSize(args[0])*textSize(args[1])/textUnit
	case "distinct", "merge":
		return min(sizes[0], limit) * min(sizes[0], limit)
	case "json.unmarshal":
		return textSize(args[0])
	case "lists.range":
		if n, ok := args[0].(types.Int); ok && n > 0 {
			return uint64(n)
		}
	case "replace":
		return total + replaced(args)/textUnit
	case "join":
		if len(args) > 1 {
			return total + uint64(itemCount(args[0]))*textSize(args[1])/textUnit
		}
	}
	return total
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

// steps returns about how many units a regular expression takes for one unit of text.
func steps(pattern ref.Val) uint64 {
	const instructionsPerUnit = 4
	text, _ := pattern.(types.String)
	parsed, err := syntax.Parse(string(text), syntax.Perl)
	if err != nil {
		return 1
	}
	compiled, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 1
	}
	return 1 + uint64(len(compiled.Inst))/instructionsPerUnit
}

// replaced returns at most how long the result of replace is.
func replaced(args []ref.Val) uint64 {
	if len(args) < 3 {
		return 0
	}
	return (textSize(args[0])/max(textSize(args[1]), 1) + 1) * textSize(args[2])
}

// textUnit is how many bytes of text count as one unit.
const textUnit = 10

// textSize returns the length of a text in bytes; zero for any other value.
func textSize(value ref.Val) uint64 {
	switch value := value.(type) {
	case types.String:
		return uint64(len(value))
	case types.Bytes:
		return uint64(len(value))
	}
	return 0
}

func isMap(value ref.Val) bool {
	_, ok := value.(traits.Mapper)
	return ok
}

func itemCount(value ref.Val) types.Int {
	if sized, ok := value.(traits.Sizer); ok {
		if size, ok := sized.Size().(types.Int); ok {
			return size
		}
	}
	return 1
}

// entryUnits is how many more units an entry of a map takes than an item of a list.
const entryUnits = 3

// extent returns how many units it takes to visit all that is in a value. It stops counting at the limit.
func extent(value ref.Val, limit uint64) uint64 {
	count := 1 + textSize(value)/textUnit
	switch value := value.(type) {
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
	if err := m.before(c.Function(), args); err != nil {
		return types.WrapErr(err)
	}
	call := c.call
	if isConcatenation(c.Function(), args) {
		call = func(lists ...ref.Val) ref.Val { return concatenated(lists) }
	}
	result := call(args...)
	if err := m.after(result); err != nil {
		return types.WrapErr(err)
	}
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
		return orderedMap{mapper}
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
		switch call.Function() {
		case "matches", "find", "findAll":
			return hidden{counted}, nil
		}
		return counted, nil
	}), nil
}

// implementation returns what a call calls; nil if the call is not metered.
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

// variadic returns the implementation of a function for so many arguments.
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
