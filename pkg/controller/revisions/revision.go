// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"crypto/sha1"
	"encoding/hex"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Stored is a ControllerRevision as it is stored. It must not be changed. Its parentPatch is
// parsed once, however many syncs need it.
type Stored struct {
	*v1alpha1.ControllerRevision
	patch func() ([]byte, error)
}

// NewStored returns a Stored that has parsed nothing yet.
func NewStored(revision *v1alpha1.ControllerRevision) *Stored {
	return &Stored{revision, sync.OnceValues(func() ([]byte, error) { return canonicalPatch(revision) })}
}

// Patch returns the parentPatch in canonical form.
func (s *Stored) Patch() ([]byte, error) { return s.patch() }

// IsOrphan reports whether the revision has no controller.
func (s *Stored) IsOrphan() bool { return metav1.GetControllerOfNoCopy(s) == nil }

// Write is one change of the stored revisions.
type Write struct {
	// Op is pipeline.Create, pipeline.Update or pipeline.Delete.
	Op pipeline.Op
	// Revision is the revision to create, the new content of the one to update, or the one
	// to delete.
	Revision *v1alpha1.ControllerRevision
	// Adopts is true if the stored revision has no controller, or names it in another version.
	// Before the first such write of
	// a sync, the caller must ask the host whether the parent still exists and is not being
	// deleted.
	Adopts bool
}

// maxPrefix is how many characters of a revision's name are made from the parent's type. A
// name may have 253 characters, and its hash has 40.
const maxPrefix = 212

// Name returns the name of the revision that records patch, which is in canonical form, for
// the parent with that UID. Because of its hash no revision of another parent has that name.
func Name(parent object.Type, uid types.UID, patch []byte) string {
	group := parent.Group
	if group == "" {
		group = "core"
	}
	prefix := parent.Resource + "." + group
	hash := sha1.New()
	_, _ = hash.Write([]byte(uid))
	_, _ = hash.Write(patch)
	return prefix[:min(len(prefix), maxPrefix)] + "-" + hex.EncodeToString(hash.Sum(nil))
}
