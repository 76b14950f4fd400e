// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

// Op is what a step does to its object.
type Op string

const (
	// Adopt makes the parent the controller of an object without one.
	Adopt Op = "adopt"
	// Release removes the parent from the owners of an object.
	Release Op = "release"
	// Delete deletes a child that is no longer desired.
	Delete Op = "delete"
	// Recreate deletes a child that has to be created again in another form, which is the Body; a
	// later sync creates it. A child stays if the host would reject that form. Without a Successor
	// it is deleted only if applying the Body would change its content, or would leave in it what
	// the hook has dropped.
	Recreate Op = "recreate"
	// Create creates a missing child.
	Create Op = "create"
	// Update replaces a child by its desired form.
	Update Op = "update"
	// Apply makes a child what the hook wants by server-side apply. Without an observed
	// object it creates the child, and never changes an existing object of that name.
	Apply Op = "apply"
	// ToServerSideApply moves a child from dynamic apply to server-side apply: the fields
	// in Body, which were last applied, become owned by server-side apply, and the
	// annotation with what was last applied is removed.
	ToServerSideApply Op = "move to server-side apply"
	// ToDynamicApply moves a child from server-side apply to dynamic apply: Body becomes
	// the annotation with what was last applied.
	ToDynamicApply Op = "move to dynamic apply"
	// Keep leaves a child as it is.
	Keep Op = "keep"
	// Status replaces the parent's status.
	Status Op = "status"
	// Metadata replaces the parent, with its labels and annotations changed, and with its
	// status if that is no subresource. If the parent is being deleted, the same write
	// removes the controller's finalizer.
	Metadata Op = "metadata"
	// Finalizer adds the controller's finalizer to the parent or removes it. Together with
	// a removal it makes the changes that Metadata would make.
	Finalizer Op = "finalizer"
)

// traits are what is known of an Op. Each is what the method of the same name returns.
type traits struct {
	writes, onParent, deletes, createsMissing, formsWriteLoops, yieldsDesired, mayChangeNothing bool
}

// ops has one row for each Op.
var ops = [...]struct {
	op Op
	traits
}{
	{Adopt, traits{writes: true, formsWriteLoops: true}},
	{Release, traits{writes: true, formsWriteLoops: true}},
	{Delete, traits{writes: true, deletes: true, formsWriteLoops: true}},
	{Recreate, traits{writes: true, deletes: true, formsWriteLoops: true}},
	{Create, traits{writes: true, createsMissing: true, formsWriteLoops: true, yieldsDesired: true}},
	{Update, traits{writes: true, formsWriteLoops: true, yieldsDesired: true}},
	{Apply, traits{writes: true, createsMissing: true, formsWriteLoops: true, yieldsDesired: true, mayChangeNothing: true}},
	{ToServerSideApply, traits{writes: true, formsWriteLoops: true}},
	{ToDynamicApply, traits{writes: true, formsWriteLoops: true}},
	{Keep, traits{yieldsDesired: true, mayChangeNothing: true}},
	{Status, traits{writes: true, onParent: true, formsWriteLoops: true}},
	{Metadata, traits{writes: true, onParent: true, formsWriteLoops: true}},
	{Finalizer, traits{writes: true, onParent: true, formsWriteLoops: true}},
}

// Ops returns every Op. With it, tests prove that their packages handle all of them.
func Ops() []Op {
	all := make([]Op, len(ops))
	for i := range ops {
		all[i] = ops[i].op
	}
	return all
}

// traits returns what is known of the Op; nothing of one that is not declared.
func (op Op) traits() traits {
	for i := range ops {
		if ops[i].op == op {
			return ops[i].traits
		}
	}
	return traits{}
}

// Writes reports whether the op changes the host.
func (op Op) Writes() bool { return op.traits().writes }

// OnParent reports whether the op writes the parent. All others are about children.
func (op Op) OnParent() bool { return op.traits().onParent }

// Deletes reports whether the op takes its object away, so that no result of it is stored.
func (op Op) Deletes() bool { return op.traits().deletes }

// CreatesMissing reports whether the op creates its object if none was observed.
func (op Op) CreatesMissing() bool { return op.traits().createsMissing }

// FormsWriteLoops reports whether writes by the op, made again and again, are a write loop. The
// writeloop.Guard slows down write loops.
func (op Op) FormsWriteLoops() bool { return op.traits().formsWriteLoops }

// YieldsDesired reports whether the op's result is the child in the form that the host gives to
// what the hook wants. As long as both stay, there is nothing to write.
func (op Op) YieldsDesired() bool { return op.traits().yieldsDesired }

// MayChangeNothing reports whether the op can end with a result and no change of the object. Then no
// event of the host follows.
func (op Op) MayChangeNothing() bool { return op.traits().mayChangeNothing }
