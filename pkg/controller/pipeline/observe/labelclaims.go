// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Prepare puts the parent's selector into the snapshot. An error means that it is not usable.
func (l *LabelClaims) Prepare(snapshot *pipeline.Snapshot) (err error) {
	snapshot.GeneratedLabels = l.generated(snapshot.Parent)
	snapshot.Selector, err = l.selectorOf(snapshot.Parent)
	return err
}

// Claim decides which objects of a type are the parent's children. Of those it
// controls, the ones its selector matches are; the others are let go. Of the orphans,
// the ones its selector matches become its children. A parent that is being deleted
// neither adopts nor lets go.
func (l *LabelClaims) Claim(snapshot *pipeline.Snapshot, watch *host.Watch) pipeline.Group {
	parent := snapshot.Parent
	return claim(watch.Type, parent, snapshot.Selector, watch.ControlledBy(parent.UID), watch.Orphans(parent.Namespace))
}

// MayClaim tells whether an object that a parent controls may be its child. The attachments
// of decorators are not, although their target controls them.
func (l *LabelClaims) MayClaim(child *object.Object) bool { return !isAttachment(child) }

// MayAdopt tells whether any parent's selector can match the orphan.
func (l *LabelClaims) MayAdopt(orphan *object.Object) bool {
	return !isAttachment(orphan) && (!l.generate || orphan.Labels[generatedLabel] != "")
}

// Adopts tells whether the parent's selector matches the orphan.
func (l *LabelClaims) Adopts(parent, orphan *object.Object) bool {
	selector, err := l.selectorOf(parent)
	return err == nil && selector.Matches(labels.Set(orphan.Labels))
}

func claim(of pipeline.Type, parent *object.Object, selector labels.Selector, controlled, orphans []*object.Object) pipeline.Group {
	group := pipeline.Group{Type: of, Claimed: make([]*object.Object, 0, len(controlled))}
	alive := parent.DeletionTimestamp == nil
	for _, child := range controlled {
		switch {
		case isAttachment(child):
		case parent.Namespace != "" && child.Namespace != parent.Namespace:
		case selector.Matches(labels.Set(child.Labels)):
			group.Claimed = append(group.Claimed, child)
		case alive:
			group.Release = append(group.Release, child)
		}
	}
	for _, orphan := range orphans {
		if alive && orphan.DeletionTimestamp == nil && !isAttachment(orphan) && selector.Matches(labels.Set(orphan.Labels)) {
			group.Claimed = append(group.Claimed, orphan)
			group.Adopt = append(group.Adopt, orphan)
		}
	}
	slices.SortFunc(group.Claimed, byName)
	slices.SortFunc(group.Adopt, byName)
	slices.SortFunc(group.Release, byName)
	return group
}

func byName(a, b *object.Object) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
