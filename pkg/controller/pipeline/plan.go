// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Op is what a step does to its object.
type Op string

const (
	// Adopt makes the parent the controller of an object without one.
	Adopt Op = "adopt"
	// Release takes the parent off an object's owners.
	Release Op = "release"
	// Delete deletes a child that is no longer desired.
	Delete Op = "delete"
	// Recreate deletes a child that is to come back changed; a later sync creates it.
	// With a Body, it does so only if applying that would change the child.
	Recreate Op = "recreate"
	// Create creates a missing child.
	Create Op = "create"
	// Update replaces a child by its desired form.
	Update Op = "update"
	// Apply makes the child have what the hook wants by server-side apply. Without an
	// observed object it creates the child, and never takes over one of that name.
	Apply Op = "apply"
	// ToServerSideApply makes a child that dynamic apply has written one of server-side
	// apply: the fields in Body, what was last applied, become owned by it, and the
	// record of them goes away.
	ToServerSideApply Op = "move to server-side apply"
	// ToDynamicApply makes a child that server-side apply has written one of dynamic
	// apply: Body becomes the record of what was last applied.
	ToDynamicApply Op = "move to dynamic apply"
	// Keep leaves a child as it is.
	Keep Op = "keep"
	// Status replaces the parent's status.
	Status Op = "status"
	// Metadata replaces the parent with its labels and annotations changed, and with
	// its status if that has no subresource. Of a parent that is being deleted it takes
	// the controller's finalizer off in the same write.
	Metadata Op = "metadata"
	// Finalizer puts the controller's finalizer on the parent or takes it off. With it
	// goes what Metadata would change of a parent that is let go.
	Finalizer Op = "finalizer"
)

// Plan is what a sync is about to do, in order.
type Plan struct {
	Steps []Step
	// ParentFirst tells that the parent's status and metadata are written before its
	// children. If that fails, the children are left as they are.
	ParentFirst bool
	// Refused are desired children that cannot be had, each with the reason and
	// what to do. The other steps are taken all the same.
	Refused []error
	// Duplicates are the children that the hook lists more than once, as messages name
	// them. Of each the last one counts.
	Duplicates []string
}

// Step is one thing to do to one object.
type Step struct {
	Op   Op
	Type Type
	// Observed is the object as last seen; nil if it is created.
	Observed *object.Object
	// Namespace and Name identify the object.
	Namespace, Name string
	// Body is the JSON to send with what is not a deletion.
	Body []byte
	// Desired is the hash of what the hook wanted of the object. Together with the
	// hash of the object that the host made of Body it lets later syncs see that
	// there is nothing to do.
	Desired uint64
	// Path is the field in which a child or the parent differs from what the hook
	// wants, if that is why it is written.
	Path string
	// RemovesFinalizer tells that the step takes the controller's finalizer off a parent that is
	// being deleted and has nothing left to be done for.
	RemovesFinalizer bool
	// Why says in one line what made the step necessary.
	Why string
}

// Key names the step's object.
func (s *Step) Key() Key {
	return Key{GroupKind: s.Type.GroupKind(), NamespacedName: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}}
}

// Writes tells whether the step changes the host.
func (s Step) Writes() bool { return s.Op != Keep }

// Creates tells whether the step is about an object that is not there yet.
func (s Step) Creates() bool { return s.Op == Create || s.Op == Apply && s.Observed == nil }

// Outcome is what came of a step.
type Outcome struct {
	Step
	// Result is the object as the host stored it; nil if nothing was stored.
	Result *object.Object
	// Err is why the step failed, nil if it did not.
	Err error
	// Conflict tells that nothing was written because the object is no longer as it
	// was observed.
	Conflict bool
	// NameConflict tells that a child could not be created because an object of that name
	// exists that is not the parent's.
	NameConflict bool
}
