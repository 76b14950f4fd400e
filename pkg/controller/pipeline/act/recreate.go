// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/managedfields"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// recreate deletes a child that a later sync creates again in another form, unless the host rejects that
// form. Whether it is due is in the plan of dynamic apply. Under server-side apply only the host knows
// whether the child would change, so a dry run asks it first. A child that would not change, or of which
// the host can try nothing, is kept and returned. A higher generation alone is not a change.
func (a *Actor) recreate(ctx context.Context, step pipeline.Step) (*object.Object, error) {
	if step.Successor != nil {
		return nil, a.replace(ctx, step)
	}
	tried, err := a.Writer.TryApply(ctx, step.Type, step.Key().NamespacedName, step.Body)
	switch {
	case isNoDryRun(err) && step.Rolls:
		// A rollout takes a child that is kept for one that is up to date.
		return nil, fmt.Errorf("it was left alone, since only a dry run could show whether it differs: %w "+
			"(set sideEffects of the webhook to None or NoneOnDryRun, or updateStrategy.apply to DynamicApply)", err)
	case isNoDryRun(err):
		klog.FromContext(ctx).Error(err, "Failed to try whether a child would change, it is left alone",
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

// replace deletes a child that a later sync creates from the Body, unless the host rejects that. A dry run
// shows it: the host validates a new object, and asks admission, before it checks that the name is free. If
// the host cannot try it, the child is deleted.
func (a *Actor) replace(ctx context.Context, step pipeline.Step) error {
	_, err := a.Writer.TryCreate(ctx, step.Type, step.Namespace, step.Body)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), isNoDryRun(err), isFreedByDeletion(step, err):
		return a.delete(ctx, step)
	default:
		return fmt.Errorf("it was not deleted, since a dry run of its creation failed: %w", err)
	}
}

// noDryRun is what API servers say of a webhook of admission that may have side effects: they call it in no
// dry run. A webhook that denies a request is quoted in other words.
var noDryRun = regexp.MustCompile(`^admission webhook "[^"]*" does not support dry run$`)

// isNoDryRun reports whether the host did not try a write because it cannot. It does not say then whether
// the write itself would succeed.
func isNoDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && noDryRun.MatchString(err.Error())
}

// isAsObserved reports whether a dry run began with the child that was observed. Otherwise the cache is
// behind.
func isAsObserved(step pipeline.Step, tried *object.Object) bool {
	return tried.ResourceVersion == step.Observed.ResourceVersion
}

func notAsObserved(step pipeline.Step) error {
	return apierrors.NewConflict(step.Type.GroupResource(), step.Name, fmt.Errorf("it is not as it was observed"))
}

func (a *Actor) delete(ctx context.Context, step pipeline.Step) error {
	return a.Writer.Delete(ctx, step.Type, step.Key().NamespacedName, step.Observed.UID)
}

// changeOwners decides about a child whose content would stay as it is, by the fields that we would
// own after the dry run:
//   - If they are those that we own, the child is kept.
//   - If another owner keeps a field that the hook has dropped, applying would never remove it. So the
//     child is deleted.
//   - Otherwise the body is applied. What we own then is what the hook wants, so a field that the hook
//     drops later can be told from one that it never wanted.
func (a *Actor) changeOwners(ctx context.Context, step pipeline.Step, tried *object.Object) (*object.Object, error) {
	change, err := managedfields.ChangeOf(step.Observed.Applied, tried.Applied)
	if err != nil {
		return nil, err
	}
	if !change.Differs {
		return step.Observed, nil
	}
	if !isAsObserved(step, tried) {
		// The change may hide that the hook drops a field, and applying it would hide that for good.
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

// inVersion returns a body that the host refuses for any other version of the object than that one:
// applied to another one, it might change the content.
func inVersion(body []byte, version string) ([]byte, error) {
	metadata, err := object.WithMember(object.Lookup(body, "metadata"), "resourceVersion", strconv.AppendQuote(nil, version))
	if err != nil {
		return nil, err
	}
	return object.WithMember(body, "metadata", metadata)
}

// insteadOfRecreate returns what a step has come to that was to recreate a child and left it in the
// form of result.
func insteadOfRecreate(step pipeline.Step, result *object.Object) (op pipeline.Op, why string) {
	if result == step.Observed {
		return pipeline.Keep, "applying it would change nothing"
	}
	return pipeline.Apply, "applying it changed only who owns its fields"
}
