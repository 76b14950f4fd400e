// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// UpToDate tells whether nothing is left to write to make the observed child what desired
// says.
type UpToDate func(observed, desired *object.Object) (bool, error)

// Decision is what a sync does about a parent's rollout.
type Decision struct {
	// Writes bring the stored revisions up to date, in this order. After each of them
	// every child is still named by the revision that it belongs to.
	Writes []revisions.Write
	// Response is what the answers of the hooks about all revisions come to. Its status
	// has the condition.
	Response *pipeline.Response
	// Updated is the condition that says how far the rollout is.
	Updated metav1.Condition
	// Waits tells that children that are in motion keep others from moving.
	Waits bool
}

// Decide works out at which revision each child is to be. The responses are the answers
// about the Revisions, in their order. Errors are those of upToDate, or tell that the status
// of the answer can hold no conditions.
func (r *Rollout) Decide(responses []*pipeline.Response, upToDate UpToDate, now time.Time) (*Decision, error) {
	if len(responses) != len(r.Revisions) {
		return nil, fmt.Errorf("there are %d answers about %d revisions of %s", len(responses), len(r.Revisions), r.snapshot.Parent)
	}
	m := r.members(responses, upToDate)
	if err := m.assign(); err != nil {
		return nil, err
	}
	condition, waits, err := m.advance()
	if err != nil {
		return nil, err
	}
	d := &Decision{Writes: r.writes(m), Response: m.compose(responses), Updated: condition, Waits: waits}
	d.Updated.LastTransitionTime = since(r.snapshot.Parent, condition, now)
	d.Response.Status, err = r.withCondition(d.Response.Status, d.Updated)
	return d, err
}
