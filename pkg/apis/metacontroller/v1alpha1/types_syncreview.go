// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +genclient
// +genclient:nonNamespaced
// +genclient:onlyVerbs=create
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SyncReview shows what syncs of a controller would do, before it happens: what the hook is sent and
// answers, and which writes would follow, each with its reason and what it changes. It is created and
// answered, and never stored: "kubectl create -f review.yaml -o yaml" prints it with its status. Nothing
// is written to the cluster, no event is told, and no call counts as a sync.
//
// Who creates a SyncReview needs the right to get the controller, and every parent, child and related
// object that is shown.
type SyncReview struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. A review needs no name.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is reviewed: which controller, which parents, and how far.
	Spec SyncReviewSpec `json:"spec"`

	// status is the answer.
	// +optional
	Status SyncReviewStatus `json:"status,omitempty,omitzero"`
}

// SyncReviewSpec says what is reviewed.
type SyncReviewSpec struct {
	// controller is the controller whose syncs are reviewed. It must exist unless there is a candidate.
	Controller SyncReviewController `json:"controller"`

	// candidate is a spec that the controller might have, with the fields of the spec of its kind. It is
	// reviewed instead of the stored spec. Everything is checked that would be if the controller were
	// created with it, or updated to it: the rights of whoever asks, the fields, and what admission
	// says.
	// Default: absent, the stored spec is reviewed.
	// +optional
	Candidate *runtime.RawExtension `json:"candidate,omitempty"`

	// parent is the one parent that is reviewed, for instance {namespace: shop, name: web}.
	// Default: absent. Exactly one of parent, parents and object must be set.
	// +optional
	Parent *SyncReviewParent `json:"parent,omitempty"`

	// parents selects the parents that are reviewed among those that the controller has. For instance
	// {namespace: shop} or {limit: 100}.
	// Default: absent. Exactly one of parent, parents and object must be set.
	// +optional
	Parents *SyncReviewParents `json:"parents,omitempty"`

	// object is a whole parent that need not exist. If a parent of its name exists, the review shows
	// what would happen after an update to this object: what an update leaves alone, such as the uid and
	// the status, is that of the existing one. Who asks needs the right to create, or to update, such an
	// object. Of an object that does not exist, children have no owner yet: the uid in their references
	// to it is 00000000-0000-0000-0000-000000000000.
	// Default: absent. Exactly one of parent, parents and object must be set.
	// +optional
	Object *runtime.RawExtension `json:"object,omitempty"`

	// response is what the sync hook, or the finalize hook if the parent is finalized, is taken to have
	// answered about the parent as it is. The hook is not called about it.
	// Default: absent, the hook is called unless calls is None.
	// +optional
	Response *runtime.RawExtension `json:"response,omitempty"`

	// responses are what hooks are taken to have answered to other calls: to those of the customize
	// hook, and during a rolling update to those about earlier versions of a parent. The first one that
	// fits a call is used.
	// Default: empty.
	// +listType=atomic
	// +optional
	Responses []SyncReviewResponse `json:"responses,omitempty"`

	// request is sent to the sync or finalize hook in the place of the request that is made from what
	// exists, for instance one that was sent before. The answer is planned for what exists.
	// Default: absent, the request is made from what exists.
	// +optional
	Request *runtime.RawExtension `json:"request,omitempty"`

	// calls says whether the server calls hooks for answers that are not given. With None it calls none:
	// each call whose answer is not in response or responses is listed in the status as Missing, with
	// its request. Whoever reviews can then ask a hook that the server does not reach, and send the
	// review again with the answer, until none is missing.
	// Default: All.
	// +default="All"
	// +optional
	Calls SyncReviewCalls `json:"calls,omitempty"`

	// until is how far the syncs are followed.
	// Default: Plan.
	// +default="Plan"
	// +optional
	Until SyncReviewStage `json:"until,omitempty"`

	// details says how much is shown of each parent. With Steps, the requests and answers of hooks are
	// left out, unless an answer is missing.
	// Default: All.
	// +default="All"
	// +optional
	Details SyncReviewDetails `json:"details,omitempty"`

	// timeoutSeconds is how long the review may take, from 1 to 30. A review of several parents ends
	// then with those that it has come to, and continue for the others.
	// Default: 20.
	// +default=20
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// SyncReviewController names a controller.
type SyncReviewController struct {
	// kind of the controller: CompositeController or DecoratorController.
	Kind string `json:"kind"`

	// name of the controller, which may be new if there is a candidate.
	Name string `json:"name"`
}

// SyncReviewParent names a parent.
type SyncReviewParent struct {
	// apiVersion of the parent, for instance "apps/v1".
	// Default: absent, that of the controller's parents. It is required only if a DecoratorController
	// has several types of the same kind.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the parent, for instance "Deployment".
	// Default: absent, that of the controller's parents. It is required only if a DecoratorController is
	// for several kinds.
	// +optional
	Kind string `json:"kind,omitempty"`

	// namespace of the parent.
	// Default: absent, for a cluster-scoped parent.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name of the parent, without its namespace.
	Name string `json:"name"`
}

// SyncReviewParents selects some of the parents that a controller has.
type SyncReviewParents struct {
	// namespace is that of the parents.
	// Default: absent, parents in all namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// labelSelector selects parents by their labels, for instance {matchLabels: {app: web}}.
	// Default: absent, all parents.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// limit is the most parents in one answer, from 1 to 100. status.continue is for the others.
	// Default: 20.
	// +default=20
	// +optional
	Limit *int32 `json:"limit,omitempty"`

	// continue is the status.continue of the answer before: the review goes on with the parents after those.
	// Default: absent, the review begins with the first.
	// +optional
	Continue string `json:"continue,omitempty"`
}

// SyncReviewResponse is the answer of a hook to one of the calls of a review.
type SyncReviewResponse struct {
	// hook that was called: sync, finalize or customize.
	Hook string `json:"hook"`

	// revision is the name of the ControllerRevision with the version of the parent that the call is
	// about, as the call has it.
	// Default: absent, the parent as it is.
	// +optional
	Revision string `json:"revision,omitempty"`

	// parent is the parent that the call is about.
	// Default: absent, any parent.
	// +optional
	Parent *SyncReviewParent `json:"parent,omitempty"`

	// response is the JSON object that the hook answered.
	Response runtime.RawExtension `json:"response"`
}

// SyncReviewCalls says whether hooks are called.
// +enum
type SyncReviewCalls string

const (
	// SyncReviewCallsAll calls hooks for the answers that are not given.
	SyncReviewCallsAll SyncReviewCalls = "All"
	// SyncReviewCallsNone calls no hook.
	SyncReviewCallsNone SyncReviewCalls = "None"
)

// SyncReviewDetails says how much is shown of each parent.
// +enum
type SyncReviewDetails string

const (
	// SyncReviewDetailsAll shows everything.
	SyncReviewDetailsAll SyncReviewDetails = "All"
	// SyncReviewDetailsSteps leaves out the requests and answers of hooks.
	SyncReviewDetailsSteps SyncReviewDetails = "Steps"
)

// SyncReviewStage is how far syncs are followed.
// +enum
type SyncReviewStage string

const (
	// SyncReviewUntilRequest stops before the sync or finalize hook is called, and shows its request. A
	// customize hook is called.
	SyncReviewUntilRequest SyncReviewStage = "Request"
	// SyncReviewUntilResponse stops when the hooks have answered.
	SyncReviewUntilResponse SyncReviewStage = "Response"
	// SyncReviewUntilPlan shows the writes that would follow.
	SyncReviewUntilPlan SyncReviewStage = "Plan"
	// SyncReviewUntilDryRun sends each of these writes to the cluster with dryRun=All, as the controller
	// would, so that its defaults, admission and quotas speak. Nothing is stored.
	SyncReviewUntilDryRun SyncReviewStage = "DryRun"
)

// SyncReviewStatus is the answer to a SyncReview.
type SyncReviewStatus struct {
	// summary counts the parents and the writes.
	Summary SyncReviewSummary `json:"summary"`

	// controller is what has answered: Running is the controller that runs in the server, which
	// remembers what earlier syncs found to need no write. Temporary is one that was made for the
	// review, because there is a candidate, or because another replica of the server runs the
	// controller, or none does.
	// +optional
	Controller ReviewedBy `json:"controller,omitempty"`

	// syncs are the syncs, one for each parent.
	// +listType=atomic
	// +optional
	Syncs []ReviewedSync `json:"syncs,omitempty"`

	// continue is there if there are more parents: put it into spec.parents.continue.
	// +optional
	Continue string `json:"continue,omitempty"`

	// notes say why the answer is not complete, and what the cluster warns of, such as fields of the object that it does not know.
	// +listType=atomic
	// +optional
	Notes []string `json:"notes,omitempty"`
}

// ReviewedBy is what has answered a review.
// +enum
type ReviewedBy string

const (
	// ReviewedByRunning is the controller that runs in the server.
	ReviewedByRunning ReviewedBy = "Running"
	// ReviewedByTemporary is one that was made for the review.
	ReviewedByTemporary ReviewedBy = "Temporary"
)

// SyncReviewSummary counts what is in an answer.
type SyncReviewSummary struct {
	// parents is the number of parents in this answer.
	Parents int32 `json:"parents"`

	// changed is the number of parents whose sync would write something.
	Changed int32 `json:"changed"`

	// unchanged is the number of parents whose sync would write nothing.
	Unchanged int32 `json:"unchanged"`

	// failed is the number of parents whose sync would fail, or would leave out something that the hook wants.
	Failed int32 `json:"failed"`

	// undecided is the number of parents of which it is not known, because an answer is missing or the
	// review ends before the plan.
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

	// count is the number of the writes.
	Count int32 `json:"count"`
}

// ReviewedSync is what the sync of one parent would do.
type ReviewedSync struct {
	// parent is the parent.
	Parent ReviewedObject `json:"parent"`

	// result is what would come of the sync.
	Result ReviewedResult `json:"result"`

	// error is why the sync would fail.
	// +optional
	Error string `json:"error,omitempty"`

	// refused says of each child that would be left out why it would.
	// +listType=atomic
	// +optional
	Refused []string `json:"refused,omitempty"`

	// hook is the hook that decides: sync, or finalize.
	// +optional
	Hook string `json:"hook,omitempty"`

	// steps are the writes in their order. Those of children that are in a row are made at once.
	// +listType=atomic
	// +optional
	Steps []ReviewedStep `json:"steps,omitempty"`

	// rollout is how far the rolling update of the children would be.
	// +optional
	Rollout *ReviewedRollout `json:"rollout,omitempty"`

	// warnings are about what is probably a mistake.
	// +listType=atomic
	// +optional
	Warnings []ReviewedWarning `json:"warnings,omitempty"`

	// events are what the hook wants to be told.
	// +listType=atomic
	// +optional
	Events []ReviewedEvent `json:"events,omitempty"`

	// resyncAfter is when the parent would be synced again although nothing changes, for instance "30s".
	// +optional
	ResyncAfter Duration `json:"resyncAfter,omitempty"`

	// calls are the calls of hooks. Values of Secrets in them are replaced by digests.
	// +listType=atomic
	// +optional
	Calls []ReviewedCall `json:"calls,omitempty"`

	// truncated is true if something was left out, because the answer would be too large.
	// +optional
	Truncated bool `json:"truncated,omitempty"`
}

// ReviewedResult is what would come of a sync.
// +enum
type ReviewedResult string

const (
	// ReviewedUnchanged is the result of a sync that would write nothing.
	ReviewedUnchanged ReviewedResult = "Unchanged"
	// ReviewedChanged is the result of a sync that would write something.
	ReviewedChanged ReviewedResult = "Changed"
	// ReviewedFailed is the result of a sync that would fail, or would leave out something that the hook wants.
	ReviewedFailed ReviewedResult = "Failed"
	// ReviewedUndecided is the result of a sync of which it is not known, because an answer is missing
	// or the review ends before the plan.
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
	// hook that is called: sync, finalize or customize.
	Hook string `json:"hook"`

	// revision is the name of the ControllerRevision with the version of the parent that the call is
	// about; absent for the parent as it is.
	// +optional
	Revision string `json:"revision,omitempty"`

	// source is where the answer comes from.
	Source ReviewedSource `json:"source"`

	// request is what the hook is sent.
	// +optional
	Request *runtime.RawExtension `json:"request,omitempty"`

	// response is what the hook answers; absent if that cannot be used: then error says what is wrong.
	// +optional
	Response *runtime.RawExtension `json:"response,omitempty"`

	// error is why the call failed.
	// +optional
	Error string `json:"error,omitempty"`
}

// ReviewedSource is where the answer of a hook comes from.
// +enum
type ReviewedSource string

const (
	// ReviewedSourceHook is an answer of the hook, which was called.
	ReviewedSourceHook ReviewedSource = "Hook"
	// ReviewedSourceGiven is an answer that the spec of the review gives.
	ReviewedSourceGiven ReviewedSource = "Given"
	// ReviewedSourceMissing is no answer: no hook was called, and the spec of the review gives none.
	ReviewedSourceMissing ReviewedSource = "Missing"
	// ReviewedSourceNotCalled is no answer, since the review ends before the call.
	ReviewedSourceNotCalled ReviewedSource = "NotCalled"
)

// ReviewedStep is a write.
type ReviewedStep struct {
	// operation is what the write does.
	Operation ReviewedOperation `json:"operation"`

	ReviewedObject `json:",inline"`

	// why is what makes the write necessary.
	Why string `json:"why"`

	// changes are the fields that the write changes. Of a new object, all of it is one change. Those of
	// Recreate are to the object that is created later. After a dry run, they are what the cluster would
	// have stored. Values of Secrets are replaced by digests: the same value has the same digest.
	// +listType=atomic
	// +optional
	Changes []ReviewedChange `json:"changes,omitempty"`

	// postponed is true if the write would wait, because such writes were repeated too often.
	// +optional
	Postponed bool `json:"postponed,omitempty"`

	// dryRun is what the cluster said to the write.
	// +optional
	DryRun *ReviewedDryRun `json:"dryRun,omitempty"`
}

// ReviewedOperation is what a write does.
// +enum
type ReviewedOperation string

const (
	// ReviewedCreate creates an object.
	ReviewedCreate ReviewedOperation = "Create"
	// ReviewedUpdate replaces an object by another form of it.
	ReviewedUpdate ReviewedOperation = "Update"
	// ReviewedApply has the cluster merge what the hook wants into an object, or create it, by server-side apply.
	ReviewedApply ReviewedOperation = "Apply"
	// ReviewedDelete deletes an object.
	ReviewedDelete ReviewedOperation = "Delete"
	// ReviewedRecreate deletes an object that a later sync creates in another form.
	ReviewedRecreate ReviewedOperation = "Recreate"
	// ReviewedAdopt makes the parent the controller of an object that has none.
	ReviewedAdopt ReviewedOperation = "Adopt"
	// ReviewedRelease removes the parent from the owners of an object.
	ReviewedRelease ReviewedOperation = "Release"
	// ReviewedToServerSideApply moves an object from dynamic apply to server-side apply.
	ReviewedToServerSideApply ReviewedOperation = "ToServerSideApply"
	// ReviewedToDynamicApply moves an object from server-side apply to dynamic apply.
	ReviewedToDynamicApply ReviewedOperation = "ToDynamicApply"
	// ReviewedUpdateStatus replaces the status of the parent.
	ReviewedUpdateStatus ReviewedOperation = "UpdateStatus"
	// ReviewedUpdateMetadata changes labels and annotations of the parent.
	ReviewedUpdateMetadata ReviewedOperation = "UpdateMetadata"
	// ReviewedUpdateFinalizers puts the finalizer of the controller on the parent, or removes it.
	ReviewedUpdateFinalizers ReviewedOperation = "UpdateFinalizers"
)

// ReviewedChange is a field that a write changes.
type ReviewedChange struct {
	// path of the field, for instance "spec.replicas" or "spec.containers[name=web].image"; empty for
	// all of a new object.
	Path string `json:"path"`

	// from is the value that the field has; absent if it has none.
	// +optional
	From *JSONValue `json:"from,omitempty"`

	// to is the value that the field gets; absent if it is removed.
	// +optional
	To *JSONValue `json:"to,omitempty"`
}

// ReviewedDryRun is what the cluster said to a write with dryRun=All.
type ReviewedDryRun struct {
	// outcome is what would come of the write.
	Outcome ReviewedOutcome `json:"outcome"`

	// message says why the write would not be made.
	// +optional
	Message string `json:"message,omitempty"`

	// warnings are those of the cluster.
	// +listType=atomic
	// +optional
	Warnings []string `json:"warnings,omitempty"`
}

// ReviewedOutcome is what would come of a write.
// +enum
type ReviewedOutcome string

const (
	// ReviewedAccepted is a write that the cluster would make.
	ReviewedAccepted ReviewedOutcome = "Accepted"
	// ReviewedChangesNothing is a write that the cluster would accept, and that leaves the object as it is.
	ReviewedChangesNothing ReviewedOutcome = "ChangesNothing"
	// ReviewedRefused is a write that the cluster would refuse.
	ReviewedRefused ReviewedOutcome = "Refused"
	// ReviewedConflict is a write of an object that is not as it was observed. The sync would be tried again.
	ReviewedConflict ReviewedOutcome = "Conflict"
	// ReviewedNotSent is a write that was not tried, because a step before it failed, or because the
	// parent does not exist.
	ReviewedNotSent ReviewedOutcome = "NotSent"
)

// ReviewedRollout is how far the rolling update of the children of a parent would be.
type ReviewedRollout struct {
	// reason is that of the condition Updated which the parent would get: RolloutProgressing,
	// RolloutWaiting or OnLatestRevision.
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

// ReviewedWarning is something that is probably a mistake.
type ReviewedWarning struct {
	// reason is that of the event that the sync would write about it.
	Reason string `json:"reason"`

	// message says what is wrong and what to do.
	Message string `json:"message"`
}

// ReviewedEvent is an event that a hook answers.
type ReviewedEvent struct {
	// type is Normal or Warning.
	Type string `json:"type"`

	// reason is a word in CamelCase.
	Reason string `json:"reason"`

	// message is what the event says.
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

// OpenAPISchemaFormat tells the generator that there is no format.
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
