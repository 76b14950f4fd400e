// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Plan is what a sync is about to do, in order.
type Plan struct {
	Steps []Step
	// ParentFirst is true if the parent's status and metadata are written before its
	// children. If that fails, the children are left as they are.
	ParentFirst bool
	// Refused are errors about desired children that cannot be made: the reason and what
	// to do. The steps are taken all the same.
	Refused []error
	// Warnings are about what is desired. They are the same each time it is planned.
	Warnings []Warning
	// Notices are worth an event, and no mistake.
	Notices []Warning
	// Desired is the number of children that the hook wants, each once, with those that are refused.
	Desired int
	// Outdated is the number of children that differ from what is desired and are left alone
	// because their update method is OnDelete.
	Outdated int
}

// Step is one thing to do to one object.
type Step struct {
	Op   Op
	Type object.Type
	// Observed is the object as last seen; nil if the step creates it. In the Outcome of a
	// write of the parent it is the form on which the write was made.
	Observed *object.Object
	// Namespace and Name identify the object.
	Namespace, Name string
	// Body is the JSON to send; nil for a deletion.
	Body []byte
	// Successor returns the object that is created again after a Recreate, with what the host will probably
	// add, if the plan knows that the child differs; nil for other steps. Only previews call it.
	Successor func() ([]byte, error)
	// Rebase makes the Body of a write of the parent anew, for a later form of the parent. It
	// changes there only what this step is about, and returns nil if that needs no change. It
	// is nil for steps about children.
	Rebase func(current *object.Object) (body []byte, err error)
	// AnyGeneration is true if the write of the parent depends on no answer of a hook, so that
	// it may be made on the parent in every generation. Without it, the write may be made on
	// the generation that was observed.
	AnyGeneration bool
	// Desired is the hash of what the hook wants of the object. Later syncs compare it, and the
	// hash of what the host stored, to find that nothing has to be written.
	Desired uint64
	// Path is the field in which the object differs from what the hook wants, if that is
	// why it is written.
	Path string
	// Rolls is true if the update method of the child is a rolling one.
	Rolls bool
	// RemovesFinalizer is true if the step removes the controller's finalizer from a parent
	// that is being deleted and for which nothing is left to do.
	RemovesFinalizer bool
	// Schema is how the host describes the type; nil if it does not. Only messages need it.
	Schema *openapi.Type
	// Why says in one line what made the step necessary.
	Why string
}

// Key names the step's object.
func (s *Step) Key() object.Key {
	return object.Key{GroupKind: s.Type.GroupKind(), NamespacedName: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}}
}

// Creates reports whether the step creates its object.
func (s Step) Creates() bool { return s.Op.CreatesMissing() && s.Observed == nil }

// Outcome is what came of a step. It succeeded if Err is nil and neither conflict is true.
type Outcome struct {
	Step
	// Result is the object as the host stored it; nil if nothing was stored, because of a
	// failure or because nothing was left to write.
	Result *object.Object
	// Err is why the step failed; nil if it did not.
	Err error
	// Conflict is true if nothing was written because the object has changed since it was
	// observed. The next sync decides again.
	Conflict bool
	// NameConflict is true if a child was not created because an object of its name exists
	// that is not the parent's.
	NameConflict bool
	// Holder is the object that has the name; nil if there is no name conflict, or if the host
	// does not show the object.
	Holder *object.Object
	// Warnings are those with which the host answered the write, each once.
	Warnings []string
}

// StoredAnew reports whether the host has stored the step's object in another version than was observed, or for the first time.
func (o *Outcome) StoredAnew() bool {
	return o.Result != nil && (o.Observed == nil || o.Result.ResourceVersion != o.Observed.ResourceVersion)
}

// Removed reports whether the host has removed the step's object, since only the finalizers that the step took off kept it. The
// host answers such a write with the version before it.
func (o *Outcome) Removed() bool {
	tookOff := o.Result != nil && o.Observed != nil && len(o.Observed.Finalizers) > 0 && o.Result.IsRemoved()
	return tookOff && !o.StoredAnew()
}

// Latest returns the last form of the step's object that the step has seen.
func (o *Outcome) Latest() *object.Object {
	if o.Result != nil {
		return o.Result
	}
	return o.Observed
}

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

// UnfinalizedReason is why a controller's finalizer is removed from a parent although the finalize hook has not
// answered that it is done.
type UnfinalizedReason string

const (
	// NoFinalizeHook: the spec had a finalize hook before.
	NoFinalizeHook UnfinalizedReason = "the controller has no finalize hook any more"
	// OutsideNamespaces: the namespaces of the controller were limited.
	OutsideNamespaces UnfinalizedReason = "the parent is in none of the controller's namespaces"
	// TypeNotSelected: the spec names other types of parents.
	TypeNotSelected UnfinalizedReason = "the controller is no longer for objects of this type"
	// ControllerDeleted: the controller object is being deleted.
	ControllerDeleted UnfinalizedReason = "the controller is being deleted"
)
