// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// SyncReviewStatus is the answer to a SyncReview.
type SyncReviewStatus struct {
	// summary counts the parents and the writes.
	Summary SyncReviewSummary `json:"summary"`

	// controller is the controller that answered the review.
	// +optional
	Controller ReviewedBy `json:"controller,omitempty"`

	// syncs are the syncs, one for each parent.
	// +listType=atomic
	// +optional
	Syncs []ReviewedSync `json:"syncs,omitempty"`

	// continue is set if there are more parents: copy it to spec.parents.continue.
	// +optional
	Continue string `json:"continue,omitempty"`

	// notes say why the answer is incomplete, and contain warnings of the cluster, such as unknown fields of the object.
	// +listType=atomic
	// +optional
	Notes []string `json:"notes,omitempty"`
}

// ReviewedBy is the controller that answered a review.
// +enum
type ReviewedBy string

const (
	// ReviewedByRunning is the running controller, which knows which answers need no write.
	ReviewedByRunning ReviewedBy = "Running"
	// ReviewedByTemporary is a controller that the server started for the review, because there is a candidate or
	// because the controller does not run.
	ReviewedByTemporary ReviewedBy = "Temporary"
)

// SyncReviewSummary counts the parents and writes in an answer.
type SyncReviewSummary struct {
	// parents is the number of parents in this answer.
	Parents int32 `json:"parents"`

	// changed is the number of parents whose sync would write something.
	Changed int32 `json:"changed"`

	// unchanged is the number of parents whose sync would write nothing.
	Unchanged int32 `json:"unchanged"`

	// failed is the number of parents whose sync would fail, or would leave out something that the hook wants.
	Failed int32 `json:"failed"`

	// undecided is the number of parents whose result is unknown, because an answer is missing or the review ends
	// before the plan.
	// +optional
	Undecided int32 `json:"undecided,omitempty"`

	// steps counts the writes by operation and kind.
	// +listType=atomic
	// +optional
	Steps []ReviewedStepCount `json:"steps,omitempty"`
}

// ReviewedStepCount is a number of writes of one sort.
type ReviewedStepCount struct {
	// operation is what the writes do.
	Operation ReviewedOperation `json:"operation"`

	// apiVersion of the objects.
	APIVersion string `json:"apiVersion"`

	// kind of the objects.
	Kind string `json:"kind"`

	// count is the number of writes.
	Count int32 `json:"count"`
}

// ReviewedSync is what the sync of one parent would do.
type ReviewedSync struct {
	// parent names the parent.
	Parent ReviewedObject `json:"parent"`

	// result is the result that the sync would have.
	Result ReviewedResult `json:"result"`

	// error is the error of the sync.
	// +optional
	Error string `json:"error,omitempty"`

	// refused has, for each child that the sync would leave out, the reason.
	// +listType=atomic
	// +optional
	Refused []string `json:"refused,omitempty"`

	// hook is the hook that the sync calls: sync or finalize.
	// +optional
	Hook string `json:"hook,omitempty"`

	// steps are the writes in order. A sync makes consecutive writes of children concurrently.
	// +listType=atomic
	// +optional
	Steps []ReviewedStep `json:"steps,omitempty"`

	// rollout is the progress of the rolling update of the children.
	// +optional
	Rollout *ReviewedRollout `json:"rollout,omitempty"`

	// warnings report probable mistakes.
	// +listType=atomic
	// +optional
	Warnings []ReviewedWarning `json:"warnings,omitempty"`

	// events are the events in the answer of the hook.
	// +listType=atomic
	// +optional
	Events []ReviewedEvent `json:"events,omitempty"`

	// resyncAfter is the time until the next sync if nothing changes, for example "30s".
	// +optional
	ResyncAfter Duration `json:"resyncAfter,omitempty"`

	// calls are the calls of hooks. Digests replace values of Secrets.
	// +listType=atomic
	// +optional
	Calls []ReviewedCall `json:"calls,omitempty"`

	// truncated is true if something is missing because the answer would be too large.
	// +optional
	Truncated bool `json:"truncated,omitempty"`
}

// ReviewedResult is the result that a sync would have.
// +enum
type ReviewedResult string

const (
	// ReviewedUnchanged is the result of a sync that would write nothing.
	ReviewedUnchanged ReviewedResult = "Unchanged"
	// ReviewedChanged is the result of a sync that would write something.
	ReviewedChanged ReviewedResult = "Changed"
	// ReviewedFailed is the result of a sync that would fail, or would leave out something that the hook wants.
	ReviewedFailed ReviewedResult = "Failed"
	// ReviewedUndecided is an unknown result, because an answer is missing or the review ends before the plan.
	ReviewedUndecided ReviewedResult = "Undecided"
)

// ReviewedObject names an object.
type ReviewedObject struct {
	// apiVersion of the object.
	APIVersion string `json:"apiVersion"`

	// kind of the object.
	Kind string `json:"kind"`

	// namespace of the object; absent if it is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name of the object, without its namespace.
	Name string `json:"name"`
}

// ReviewedCall is the call of a hook.
type ReviewedCall struct {
	// hook is sync, finalize or customize.
	Hook string `json:"hook"`

	// revision is the name of the ControllerRevision with the version of the parent that the call is about; absent for
	// the current parent.
	// +optional
	Revision string `json:"revision,omitempty"`

	// source is the source of the answer.
	Source ReviewedSource `json:"source"`

	// request is the request to the hook.
	// +optional
	Request *runtime.RawExtension `json:"request,omitempty"`

	// response is the answer of the hook; absent if error says why it cannot be used.
	// +optional
	Response *runtime.RawExtension `json:"response,omitempty"`

	// error is the error of the failed call.
	// +optional
	Error string `json:"error,omitempty"`
}

// ReviewedSource is where the answer of a hook comes from.
// +enum
type ReviewedSource string

const (
	// ReviewedSourceHook is an answer of the hook, which was called.
	ReviewedSourceHook ReviewedSource = "Hook"
	// ReviewedSourceGiven is an answer from the spec of the review.
	ReviewedSourceGiven ReviewedSource = "Given"
	// ReviewedSourceMissing means that the server did not call the hook, and that the review does not contain its
	// answer.
	ReviewedSourceMissing ReviewedSource = "Missing"
	// ReviewedSourceNotCalled means that the review ends before the call of the hook.
	ReviewedSourceNotCalled ReviewedSource = "NotCalled"
)

// ReviewedStep is a write.
type ReviewedStep struct {
	// operation is what the write does.
	Operation ReviewedOperation `json:"operation"`

	ReviewedObject `json:",inline"`

	// why is the reason for the write.
	Why string `json:"why"`

	// changes are the fields that the write changes. A new object is one change. The changes of Recreate are those of
	// the object that a later sync creates. After a dry run, they are the changes that the cluster would have stored.
	// Digests replace values of Secrets: the same value has the same digest.
	// +listType=atomic
	// +optional
	Changes []ReviewedChange `json:"changes,omitempty"`

	// postponed is true if the server would throttle the write, because such writes repeat in a loop.
	// +optional
	Postponed bool `json:"postponed,omitempty"`

	// dryRun is the result of a dry run of the write.
	// +optional
	DryRun *ReviewedDryRun `json:"dryRun,omitempty"`
}

// ReviewedOperation is what a write does.
// +enum
type ReviewedOperation string

const (
	// ReviewedCreate creates an object.
	ReviewedCreate ReviewedOperation = "Create"
	// ReviewedUpdate updates an object.
	ReviewedUpdate ReviewedOperation = "Update"
	// ReviewedApply lets the cluster merge what the hook wants into an object, or create it, by server-side apply.
	ReviewedApply ReviewedOperation = "Apply"
	// ReviewedDelete deletes an object.
	ReviewedDelete ReviewedOperation = "Delete"
	// ReviewedRecreate deletes an object that a later sync creates again.
	ReviewedRecreate ReviewedOperation = "Recreate"
	// ReviewedAdopt makes the parent the controller of an object that has none.
	ReviewedAdopt ReviewedOperation = "Adopt"
	// ReviewedRelease removes the parent from the owners of an object.
	ReviewedRelease ReviewedOperation = "Release"
	// ReviewedToServerSideApply moves an object from dynamic apply to server-side apply.
	ReviewedToServerSideApply ReviewedOperation = "ToServerSideApply"
	// ReviewedToDynamicApply moves an object from server-side apply to dynamic apply.
	ReviewedToDynamicApply ReviewedOperation = "ToDynamicApply"
	// ReviewedUpdateStatus updates the status of the parent.
	ReviewedUpdateStatus ReviewedOperation = "UpdateStatus"
	// ReviewedUpdateMetadata changes labels and annotations of the parent.
	ReviewedUpdateMetadata ReviewedOperation = "UpdateMetadata"
	// ReviewedUpdateFinalizers adds the finalizer of the controller to the parent, or removes it.
	ReviewedUpdateFinalizers ReviewedOperation = "UpdateFinalizers"
)

// ReviewedChange is a field that a write changes.
type ReviewedChange struct {
	// path of the field, for example "spec.replicas" or "spec.containers[name=web].image"; empty for
	// all of a new object.
	Path string `json:"path"`

	// from is the value that the field has; absent if it has none.
	// +optional
	From *JSONValue `json:"from,omitempty"`

	// to is the value that the field gets; absent if it is removed.
	// +optional
	To *JSONValue `json:"to,omitempty"`
}

// ReviewedDryRun is the answer of the cluster to a write with dryRun=All.
type ReviewedDryRun struct {
	// outcome is the outcome of the write.
	Outcome ReviewedOutcome `json:"outcome"`

	// message says why the cluster would not make the write.
	// +optional
	Message string `json:"message,omitempty"`

	// warnings are the warnings that the cluster returned.
	// +listType=atomic
	// +optional
	Warnings []string `json:"warnings,omitempty"`
}

// ReviewedOutcome is the outcome that a write would have.
// +enum
type ReviewedOutcome string

const (
	// ReviewedAccepted is a write that the cluster would make.
	ReviewedAccepted ReviewedOutcome = "Accepted"
	// ReviewedChangesNothing is a write that the cluster would accept, and that changes nothing.
	ReviewedChangesNothing ReviewedOutcome = "ChangesNothing"
	// ReviewedRefused is a write that the cluster would refuse.
	ReviewedRefused ReviewedOutcome = "Refused"
	// ReviewedConflict is a write of an object that has changed since it was observed. The sync would be retried.
	ReviewedConflict ReviewedOutcome = "Conflict"
	// ReviewedNotSent is a write that was not tried, because an earlier step failed, or because the parent does not
	// exist.
	ReviewedNotSent ReviewedOutcome = "NotSent"
)

// ReviewedRollout is the progress that the rolling update of the children of a parent would have.
type ReviewedRollout struct {
	// reason is the reason of the condition Updated of the parent: RolloutProgressing, RolloutWaiting or
	// OnLatestRevision.
	Reason string `json:"reason"`

	// message says what the rollout waits for, or which children it moves.
	Message string `json:"message"`

	// moves are the children that would move to the latest version of the parent now.
	// +listType=atomic
	// +optional
	Moves []ReviewedObject `json:"moves,omitempty"`

	// behind are the children that would stay at an earlier version.
	// +listType=atomic
	// +optional
	Behind []ReviewedObject `json:"behind,omitempty"`
}

// ReviewedWarning is a warning about a probable mistake.
type ReviewedWarning struct {
	// reason is the reason of the event about it.
	Reason string `json:"reason"`

	// message says what is wrong and what to do.
	Message string `json:"message"`
}

// ReviewedEvent is an event that a hook returns.
type ReviewedEvent struct {
	// type is Normal or Warning.
	Type string `json:"type"`

	// reason is the reason of the event, in CamelCase.
	Reason string `json:"reason"`

	// message is the message of the event.
	Message string `json:"message"`

	// child is the child that the event is about; absent for the parent.
	// +optional
	Child *ReviewedObject `json:"child,omitempty"`
}

// JSONValue is any JSON value: text, a number, true, false, null, a list or an object.
type JSONValue struct {
	// Raw is the JSON of the value.
	Raw []byte `json:"-"`
}

// OpenAPISchemaType tells the generator of OpenAPI documents that the value may be of any type.
func (JSONValue) OpenAPISchemaType() []string { return nil }

// OpenAPISchemaFormat returns the format in the OpenAPI schema: none.
func (JSONValue) OpenAPISchemaFormat() string { return "" }

// MarshalJSON returns the JSON of the value, null if there is none.
func (v JSONValue) MarshalJSON() ([]byte, error) {
	if len(v.Raw) == 0 {
		return []byte("null"), nil
	}
	return v.Raw, nil
}

// UnmarshalJSON keeps the JSON of the value.
func (v *JSONValue) UnmarshalJSON(raw []byte) error {
	v.Raw = append([]byte(nil), raw...)
	return nil
}
