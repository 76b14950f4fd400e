// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// LogSync logs in one line the changes that a sync of a parent made in the host. It logs nothing about a sync that
// changed nothing.
func LogSync(logger klog.Logger, parent object.Key, outcomes []pipeline.Outcome) {
	if done := describe(parent, outcomes); done != "" {
		logger.Info(parent.String() + ": " + done)
	}
}

// describe returns the changes and their objects, such as "created Pod a, Pod b; updated status". It is empty if there
// were none.
func describe(parent object.Key, outcomes []pipeline.Outcome) string {
	var parts []string
	verb := ""
	for i := range outcomes {
		outcome := &outcomes[i]
		next := verbOf(outcome)
		name := shortName(parent, outcome)
		switch next {
		case "":
		case verb:
			parts[len(parts)-1] += ", " + name
		default:
			parts = append(parts, next+" "+name)
			verb = next
		}
	}
	return strings.Join(parts, "; ")
}

// verbOf returns the change of an outcome's object; "" if there was none.
func verbOf(outcome *pipeline.Outcome) string {
	switch {
	case outcome.Err != nil:
		return "failed to " + infinitive(outcome)
	case outcome.NameConflict:
		return "left alone, because others own the name,"
	case outcome.Conflict && outcome.Creates():
		return "did not create, because its name was taken a moment ago,"
	case outcome.Conflict:
		return "left alone, because it has changed since it was observed,"
	case !changed(outcome):
		return ""
	}
	switch outcome.Op {
	case pipeline.Adopt:
		if metav1.GetControllerOfNoCopy(outcome.Observed) != nil {
			return "updated"
		}
		return "adopted"
	case pipeline.Release:
		return "released"
	case pipeline.Delete:
		return "deleted"
	case pipeline.Recreate:
		return "deleted, to create it again,"
	case pipeline.ToServerSideApply, pipeline.ToDynamicApply:
		return "moved to the other apply strategy"
	}
	if outcome.Creates() {
		return "created"
	}
	return "updated"
}

// infinitive returns the operation of a step that was tried.
func infinitive(outcome *pipeline.Outcome) string {
	switch {
	case outcome.Creates():
		return "create"
	case outcome.Op == pipeline.Recreate:
		return "delete, to create it again,"
	case outcome.Op == pipeline.Adopt, outcome.Op == pipeline.Release, outcome.Op == pipeline.Delete:
		return string(outcome.Op)
	default:
		return "update"
	}
}

// changed reports whether a step that has succeeded has changed its object.
func changed(outcome *pipeline.Outcome) bool {
	switch {
	case !outcome.Op.Writes():
		return false
	case outcome.Op.Deletes():
		return true
	default:
		return outcome.StoredNewVersion() || outcome.Removed()
	}
}

// shortName names an outcome's object relative to its parent: the part of the parent that was written, or a child
// without the namespace that both are in.
func shortName(parent object.Key, outcome *pipeline.Outcome) string {
	switch outcome.Op {
	case pipeline.Status:
		return "status"
	case pipeline.Metadata:
		return "labels and annotations"
	case pipeline.Finalizer:
		return "finalizers"
	}
	if outcome.Namespace == parent.Namespace {
		return outcome.Type.Kind + " " + outcome.Name
	}
	return outcome.Key().String()
}
