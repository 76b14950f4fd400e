// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// declaredOps are the constants of type Op in the source of this package.
func declaredOps(t *testing.T) []Op {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []Op
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		declared = append(declared, declaredIn(t, file)...)
	}
	return declared
}

func declaredIn(t *testing.T, file *ast.File) (declared []Op) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); !ok || of.Name != "Op" {
			return true
		}
		for _, value := range spec.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, Op(text))
		}
		return true
	})
	return declared
}

func TestEveryOpHasARow(t *testing.T) {
	declared := declaredOps(t)
	if len(declared) == 0 {
		t.Fatal("no Op was found in the source")
	}
	if diff := cmp.Diff(declared, Ops()); diff != "" {
		t.Errorf("rows of the table (-declared +has):\n%s", diff)
	}
}

// What is known of each Op, the other way round: a new Op is put into each list it belongs to.
func TestWhatOpsAre(t *testing.T) {
	tests := map[string]struct {
		is   func(Op) bool
		want []Op
	}{
		"writes": {Op.Writes, []Op{
			Adopt, Release, Delete, Recreate, Create, Update, Apply, ToServerSideApply, ToDynamicApply, Status, Metadata, Finalizer,
		}},
		"on the parent":           {Op.OnParent, []Op{Status, Metadata, Finalizer}},
		"deletes":                 {Op.Deletes, []Op{Delete, Recreate}},
		"creates what is missing": {Op.CreatesMissing, []Op{Create, Apply}},
		"yields what is desired":  {Op.YieldsDesired, []Op{Create, Update, Apply, Keep}},
		"may change nothing":      {Op.MayChangeNothing, []Op{Apply, Keep}},
		"forms write loops": {Op.FormsWriteLoops, []Op{
			Adopt, Release, Delete, Recreate, Create, Update, Apply, ToServerSideApply, ToDynamicApply,
			Status, Metadata, Finalizer,
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			is := slices.DeleteFunc(Ops(), func(op Op) bool { return !test.is(op) })
			if diff := cmp.Diff(test.want, is); diff != "" {
				t.Errorf("ops (-want +got):\n%s", diff)
			}
		})
	}
}

// What an Op is must fit together: whatever is no write leaves the parent and the objects alone.
func TestTraitsOfAnOpFitTogether(t *testing.T) {
	for _, op := range Ops() {
		if (op.OnParent() || op.Deletes() || op.CreatesMissing() || op.FormsWriteLoops()) && !op.Writes() {
			t.Errorf("%s is no write", op)
		}
		if op.Deletes() && (op.YieldsDesired() || op.CreatesMissing() || op.OnParent()) {
			t.Errorf("%s deletes", op)
		}
	}
	if undeclared := Op("undeclared"); undeclared.traits() != (traits{}) {
		t.Error("something is known of an Op that is not declared")
	}
}

func TestAStepCreatesWhatWasNotObserved(t *testing.T) {
	for _, op := range Ops() {
		if missing := (Step{Op: op}); missing.Creates() != op.CreatesMissing() {
			t.Errorf("without an observed object, that a step of %s creates is %v", op, missing.Creates())
		}
		if there := (Step{Op: op, Observed: &object.Object{}}); there.Creates() {
			t.Errorf("a step of %s creates an object that is there", op)
		}
	}
}

func TestOnlyAStepThatKeepsDoesNotWrite(t *testing.T) {
	for _, op := range Ops() {
		if got := op.Writes(); got != (op != Keep) {
			t.Errorf("%s writes: %v", op, got)
		}
	}
}
