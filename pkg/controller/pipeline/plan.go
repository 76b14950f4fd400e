// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Plan has the steps of a sync, in order.
type Plan struct {
	Steps []Step
	// ParentFirst is true if the parent's status and metadata are written before its children. If that fails, the
	// children are not written.
	ParentFirst bool
	// Refused are the errors about desired children that are refused: the reason and what to do. The steps are taken
	// anyway.
	Refused []error
	// Warnings are about what is desired. They stay the same while that does.
	Warnings []Warning
	// Notices make events, but are not about mistakes.
	Notices []Warning
	// Desired is the number of children that the hook lists, each counted once, including the refused ones.
	Desired int
	// Outdated is the number of children that differ from what the hook wants and are left alone because their update
	// method is OnDelete.
	Outdated int
}

// Step is one thing to do to one object.
type Step struct {
	Op   Op
	Type object.Type
	// Observed is the object as last seen; nil if the step creates it. In the Outcome of a write of the parent, it
	// is the form from which the write started.
	Observed *object.Object
	// Namespace and Name identify the object.
	Namespace, Name string
	// Body is the JSON to send; nil for a deletion.
	Body []byte
	// Successor returns the object that is created after a Recreate, with what the host will probably add. It is nil if
	// the plan does not know whether the child differs, and for other steps. Only previews call it.
	Successor func() ([]byte, error)
	// Rebase makes the Body of a write of the parent for a later form of the parent. It changes only what this step is
	// about, and returns nil if nothing has to change. It is nil for steps about children.
	Rebase func(current *object.Object) (body []byte, err error)
	// AnyGeneration is true if the write of the parent does not depend on the answer of a hook, and so is valid
	// for every generation of the parent. Otherwise it is valid only for the observed generation.
	AnyGeneration bool
	// Desired is the hash of what the hook wants of the object. Later syncs compare it, and the hash of what the
	// host has stored, to find that nothing has to be written.
	Desired uint64
	// Path is the field in which the object differs from what the hook wants, if that is the reason for the write.
	Path string
	// Rolls is true if the update method of the child is a rolling one.
	Rolls bool
	// RemovesFinalizer is true if the step removes the controller's finalizer from a parent that is being deleted
	// and for which nothing is left to do.
	RemovesFinalizer bool
	// Schema is the host's schema of the type; nil if there is none. Only messages need it.
	Schema *openapi.Type
	// Why is the reason for the step, in one line.
	Why string
}

// Key names the step's object.
func (s *Step) Key() object.Key {
	name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	return object.Key{GroupKind: s.Type.GroupKind(), NamespacedName: name}
}

// Creates reports whether the step creates its object.
func (s Step) Creates() bool { return s.Op.CreatesMissing() && s.Observed == nil }

// Outcome is the result of a step. The step succeeded if Err is nil and neither conflict is true.
type Outcome struct {
	Step
	// Result is the object as the host stored it; nil if the host stored nothing, because the step failed or nothing was
	// left to write.
	Result *object.Object
	// Err is the reason why the step failed; nil if it did not.
	Err error
	// Conflict is true if nothing was written because the object has changed since it was
	// observed. The next sync decides again.
	Conflict bool
	// NameConflict is true if a child was not created because an object that is not the parent's has its name.
	NameConflict bool
	// Holder is the object that has the name; nil if there is no name conflict, or if the host
	// does not show the object.
	Holder *object.Object
	// Warnings are the host's warnings about the write, each once.
	Warnings []string
}

// StoredNewVersion reports whether the host has stored a new version of the step's object, or has created it.
func (o *Outcome) StoredNewVersion() bool {
	return o.Result != nil && (o.Observed == nil || o.Result.ResourceVersion != o.Observed.ResourceVersion)
}

// Removed reports whether the host has removed the step's object because the step removed its last finalizers.
// The host answers such a write with the version before it.
func (o *Outcome) Removed() bool {
	lostFinalizers := o.Result != nil && o.Observed != nil && len(o.Observed.Finalizers) > 0 && o.Result.IsRemoved()
	return lostFinalizers && !o.StoredNewVersion()
}

// Latest returns the last form of the step's object that the step has seen.
func (o *Outcome) Latest() *object.Object {
	if o.Result != nil {
		return o.Result
	}
	return o.Observed
}

// Op is the operation of a step on its object.
type Op string

const (
	// Adopt makes the parent the controller of an object without one.
	Adopt Op = "adopt"
	// Release removes the parent from the owners of an object.
	Release Op = "release"
	// Delete deletes a child that is no longer desired.
	Delete Op = "delete"
	// Recreate deletes a child that has to be created again in another form, which is the Body; a later sync creates it.
	// The child stays if the host would reject that form. Without a Successor, the child is deleted only if applying the
	// Body would change its content, or would not remove what the hook has dropped.
	Recreate Op = "recreate"
	// Create creates a missing child.
	Create Op = "create"
	// Update replaces a child by its desired form.
	Update Op = "update"
	// Apply makes a child what the hook wants by server-side apply. Without an observed object it creates the child, and
	// never changes an existing object with that name.
	Apply Op = "apply"
	// ToServerSideApply moves a child from dynamic apply to server-side apply, which takes the ownership of the
	// fields in Body, which were last applied. It removes the annotation with what was last applied.
	ToServerSideApply Op = "move to server-side apply"
	// ToDynamicApply moves a child from server-side apply to dynamic apply: Body becomes the annotation with what
	// was last applied.
	ToDynamicApply Op = "move to dynamic apply"
	// Keep leaves a child as it is.
	Keep Op = "keep"
	// Status replaces the parent's status.
	Status Op = "status"
	// Metadata updates the parent's labels and annotations, and its status if that is not a subresource. If the
	// parent is being deleted, the same write removes the controller's finalizer.
	Metadata Op = "metadata"
	// Finalizer adds the controller's finalizer to the parent or removes it. With a removal, it also makes the changes
	// that Metadata would make.
	Finalizer Op = "finalizer"
)

// traits describe an Op. The method of the same name returns each of them.
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
	{Apply, traits{
		writes: true, createsMissing: true, formsWriteLoops: true, yieldsDesired: true, mayChangeNothing: true,
	}},
	{ToServerSideApply, traits{writes: true, formsWriteLoops: true}},
	{ToDynamicApply, traits{writes: true, formsWriteLoops: true}},
	{Keep, traits{yieldsDesired: true, mayChangeNothing: true}},
	{Status, traits{writes: true, onParent: true, formsWriteLoops: true}},
	{Metadata, traits{writes: true, onParent: true, formsWriteLoops: true}},
	{Finalizer, traits{writes: true, onParent: true, formsWriteLoops: true}},
}

// Ops returns all Ops. Tests use it to prove that a package handles each of them.
func Ops() []Op {
	all := make([]Op, len(ops))
	for i := range ops {
		all[i] = ops[i].op
	}
	return all
}

// traits returns the traits of the Op; the zero value for an Op that is not declared.
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

// Deletes reports whether the op deletes its object. If so, the host stores no result.
func (op Op) Deletes() bool { return op.traits().deletes }

// CreatesMissing reports whether the op creates its object if none was observed.
func (op Op) CreatesMissing() bool { return op.traits().createsMissing }

// FormsWriteLoops reports whether repeated writes by the op are a write loop. The writeloop.Guard slows down
// write loops.
func (op Op) FormsWriteLoops() bool { return op.traits().formsWriteLoops }

// YieldsDesired reports whether the op's result is the host's form of the desired child. While both stay the
// same, there is nothing to write.
func (op Op) YieldsDesired() bool { return op.traits().yieldsDesired }

// MayChangeNothing reports whether the op can have a result without a change of the object. Then no event of the host
// follows.
func (op Op) MayChangeNothing() bool { return op.traits().mayChangeNothing }

// UnfinalizedReason is the reason why a controller's finalizer is removed from a parent although the finalize hook
// has not returned "finalized": true.
type UnfinalizedReason string

const (
	// NoFinalizeHook: the spec has lost its finalize hook.
	NoFinalizeHook UnfinalizedReason = "the controller no longer has a finalize hook"
	// OutsideNamespaces: the namespaces of the controller were limited.
	OutsideNamespaces UnfinalizedReason = "the parent is outside the namespaces of the controller"
	// TypeNotSelected: the spec names other types of parents.
	TypeNotSelected UnfinalizedReason = "the controller no longer handles objects of this type"
	// ControllerDeleted: the controller object is being deleted.
	ControllerDeleted UnfinalizedReason = "the controller is being deleted"
)
