// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/managedfields"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// recreate deletes a child that a later sync creates again in another form, unless the host rejects that form. With
// dynamic apply, the plan has decided that the child differs. With server-side apply, only the host knows whether the
// child would change, so recreate asks it with a dry run. It keeps and returns a child that would not change, or for
// which the host supports no dry run. A higher generation alone is not a change.
func (a *Actor) recreate(ctx context.Context, step pipeline.Step) (*object.Object, error) {
	if step.Successor != nil {
		return nil, a.replace(ctx, step)
	}
	tried, err := a.Writer.TryApply(ctx, step.Type, step.Key().NamespacedName, step.Body)
	switch {
	case isNoDryRun(err) && step.Rolls:
		// A rollout considers a kept child up to date.
		return nil, fmt.Errorf("the server did not change it, because the dry run that compares it with the desired "+
			"state failed: %w (set sideEffects of the webhook to None or NoneOnDryRun, or updateStrategy.apply to "+
			"DynamicApply)", err)
	case isNoDryRun(err):
		klog.FromContext(ctx).Error(err, "A dry run could not show whether a child would change; leaving it unchanged",
			"kind", step.Type.Kind, "object", klog.KRef(step.Namespace, step.Name))
		return step.Observed, nil
	case apierrors.IsInvalid(err) && !isReplaced(err):
		return nil, a.replace(ctx, step) // a field that cannot be changed
	case err != nil:
		return nil, err
	case tried.Hash == step.Observed.Hash:
		return a.changeOwners(ctx, step, tried)
	case !isAsObserved(step, tried):
		// The child may not differ.
		return nil, notAsObserved(step)
	}
	return nil, a.replace(ctx, step)
}

// replace deletes a child that a later sync creates from the Body, unless the host rejects that object. A dry
// run shows it: the host validates a new object, and calls admission, before it checks that the name is free.
// If the host does not support the dry run, the child is deleted.
func (a *Actor) replace(ctx context.Context, step pipeline.Step) error {
	_, err := a.Writer.TryCreate(ctx, step.Type, step.Namespace, step.Body)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), isNoDryRun(err), isFreedByDeletion(step, err):
		return a.delete(ctx, step)
	default:
		return fmt.Errorf("the server did not delete it, because a dry run of its creation failed: %w", err)
	}
}

// noDryRun is the message of an API server about an admission webhook that may have side effects, and so is not
// called in dry runs. The messages of webhooks that deny a request differ.
var noDryRun = regexp.MustCompile(`^admission webhook "[^"]*" does not support dry run$`)

// isNoDryRun reports whether the host does not support a dry run of a write. The write itself may succeed or fail.
func isNoDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && noDryRun.MatchString(err.Error())
}

// isAsObserved reports whether a dry run started from the observed form of the child. Otherwise the cache is stale.
func isAsObserved(step pipeline.Step, tried *object.Object) bool {
	return tried.ResourceVersion == step.Observed.ResourceVersion
}

func notAsObserved(step pipeline.Step) error {
	return apierrors.NewConflict(step.Type.GroupResource(), step.Name, fmt.Errorf("it has changed since it was observed"))
}

func (a *Actor) delete(ctx context.Context, step pipeline.Step) error {
	return a.Writer.Delete(ctx, step.Type, step.Key().NamespacedName, step.Observed.UID)
}

// changeOwners decides about a child whose content would not change, by the fields that we would own after the
// dry run:
//   - If we own the same fields already, it keeps the child.
//   - If another owner keeps a field that the hook has dropped, applying would never remove that field, so it
//     deletes the child.
//   - Otherwise it applies the body. Then we own exactly what the hook wants, so a field that the hook drops
//     later differs from one that it never wanted.
func (a *Actor) changeOwners(ctx context.Context, step pipeline.Step, tried *object.Object) (*object.Object, error) {
	change, err := managedfields.ChangeOf(step.Observed.Applied, tried.Applied)
	if err != nil {
		return nil, err
	}
	if !change.Differs {
		return step.Observed, nil
	}
	if !isAsObserved(step, tried) {
		// The change may hide that the hook has dropped a field, and applying it would hide that forever.
		return nil, notAsObserved(step)
	}
	if change.Drops() {
		live, err := a.liveMetadata(ctx, step)
		if err != nil {
			return nil, err
		}
		kept, err := change.KeptByOthers(a.Writer.Managers().Apply, live.ManagedFields)
		if err != nil {
			return nil, err
		}
		if kept {
			return nil, a.replace(ctx, step)
		}
	}
	body, err := inVersion(step.Body, tried.ResourceVersion)
	if err != nil {
		return nil, err
	}
	return a.Writer.Apply(ctx, step.Type, step.Key().NamespacedName, body)
}

// inVersion returns a body that the host refuses for any other resource version of the object, because it might
// change the content of another version.
func inVersion(body []byte, version string) ([]byte, error) {
	quoted := strconv.AppendQuote(nil, version)
	metadata, err := object.WithMember(object.Lookup(body, "metadata"), "resourceVersion", quoted)
	if err != nil {
		return nil, err
	}
	return object.WithMember(body, "metadata", metadata)
}

// insteadOfRecreate returns the outcome of a step that was planned as a Recreate but kept the child. The result is
// the child as it is now.
func insteadOfRecreate(step pipeline.Step, result *object.Object) (op pipeline.Op, why string) {
	if result == step.Observed {
		return pipeline.Keep, "applying it would change nothing"
	}
	return pipeline.Apply, "applying it changed only the owners of its fields"
}

// isNameConflict reports whether a child was not created because an object with its name exists. An Apply that
// creates a child conflicts with any existing object.
func isNameConflict(step pipeline.Step, err error) bool {
	return step.Creates() && (apierrors.IsAlreadyExists(err) || step.Op == pipeline.Apply && apierrors.IsConflict(err))
}

// resolveNameConflict asks the host which object has the name of a child that was not created. It turns the
// name conflict into a conflict, which the next sync resolves, in two cases: the object is the parent's own
// child, and the cache does not show it yet because the response to an earlier creation was lost; or the name
// is free again.
func (a *Actor) resolveNameConflict(
	ctx context.Context, snapshot *pipeline.Snapshot, outcome pipeline.Outcome,
) pipeline.Outcome {
	if !outcome.NameConflict {
		return outcome
	}
	holder, err := a.Writer.Get(ctx, outcome.Type, types.NamespacedName{Namespace: outcome.Namespace, Name: outcome.Name})
	own := err == nil && metav1.IsControlledBy(holder, snapshot.Parent) && isOfSameHostedController(snapshot, holder)
	if own || apierrors.IsNotFound(err) {
		outcome.NameConflict, outcome.Conflict = false, true
	} else if err == nil {
		outcome.Holder = holder
	}
	return outcome
}

// isOfSameHostedController reports whether a child of the parent belongs to the controller that syncs it, and not to
// another controller with the same parent. Attachments have the name of their DecoratorController in an annotation;
// children of composites have no such annotation.
func isOfSameHostedController(snapshot *pipeline.Snapshot, child *object.Object) bool {
	return child.Annotations[object.DecoratorAnnotation] == snapshot.GeneratedAnnotations[object.DecoratorAnnotation]
}

// moveEngine moves a child from one apply engine to the other. One request changes the ownership of fields and the
// annotation with the last applied configuration, and nothing else.
func (a *Actor) moveEngine(ctx context.Context, step pipeline.Step) (*object.Object, error) {
	live, err := a.liveMetadata(ctx, step)
	if err != nil {
		return nil, err
	}
	patch := moveToServerSideApply
	if step.Op == pipeline.ToDynamicApply {
		patch = moveToDynamicApply
	}
	operations, err := patch(a, live, step.Body)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(append(operations, operation{"replace", "/metadata/resourceVersion", live.ResourceVersion}))
	if err != nil {
		return nil, err
	}
	return a.Writer.PatchJSON(ctx, step.Type, step.Key().NamespacedName, body)
}

// liveMetadata reads the metadata of the observed object, with its managedFields, from the host. The error is a
// conflict if the object was replaced.
func (a *Actor) liveMetadata(ctx context.Context, step pipeline.Step) (*metav1.ObjectMeta, error) {
	live, err := a.Writer.Metadata(ctx, step.Type, step.Key().NamespacedName)
	if err == nil && live.UID != step.Observed.UID {
		err = apierrors.NewConflict(step.Type.GroupResource(), step.Name, fmt.Errorf("it was replaced"))
	}
	return live, err
}

// operation is one operation of a JSON patch. An operation that replaces the resource version by the one that
// was read makes the host refuse the patch if the object has changed since.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

const annotations = "/metadata/annotations"

var lastAppliedPath = annotations + "/" + strings.ReplaceAll(object.LastAppliedAnnotation, "/", "~1")

func moveToServerSideApply(a *Actor, live *metav1.ObjectMeta, lastApplied []byte) ([]operation, error) {
	var applied map[string]any
	if err := json.Unmarshal(lastApplied, &applied); err != nil {
		return nil, err
	}
	entries, err := a.Writer.Managers().ToApply(live.ManagedFields, applied)
	if err != nil {
		return nil, err
	}
	operations := replaceManagedFields(entries)
	if _, there := live.Annotations[object.LastAppliedAnnotation]; there {
		operations = append(operations, operation{Op: "remove", Path: lastAppliedPath})
	}
	return operations, nil
}

func moveToDynamicApply(a *Actor, live *metav1.ObjectMeta, lastApplied []byte) ([]operation, error) {
	entries, err := a.Writer.Managers().ToUpdate(live.ManagedFields)
	if err != nil {
		return nil, err
	}
	operations := replaceManagedFields(entries)
	if live.Annotations == nil {
		operations = append(operations, operation{"add", annotations, map[string]string{}})
	}
	return append(operations, operation{"add", lastAppliedPath, string(lastApplied)}), nil
}

// replaceManagedFields returns the operation that replaces the managed fields.
func replaceManagedFields(entries []metav1.ManagedFieldsEntry) []operation {
	if len(entries) == 0 {
		return nil
	}
	return []operation{{"replace", "/metadata/managedFields", entries}}
}
