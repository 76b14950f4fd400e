// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SyncReview shows what syncs of a controller would do, before it happens: what the hook is sent and
// answers, and which writes would follow, each with its reason and what it changes. It is created and
// answered, and never stored: "kubectl create -f review.yaml -o yaml" prints it with its status. Nothing
// is written to the cluster, no event is told, and no call counts as a sync.
//
// Who creates a SyncReview needs the right to get the controller, and every parent, child and related
// object that is shown.
type SyncReview struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   SyncReviewSpec
	Status SyncReviewStatus
}

// SyncReviewSpec says what is reviewed.
type SyncReviewSpec struct {
	Controller     SyncReviewController
	Candidate      *runtime.RawExtension
	Parent         *SyncReviewParent
	Parents        *SyncReviewParents
	Object         *runtime.RawExtension
	Response       *runtime.RawExtension
	Responses      []SyncReviewResponse
	Request        *runtime.RawExtension
	Calls          SyncReviewCalls
	Until          SyncReviewStage
	Details        SyncReviewDetails
	TimeoutSeconds *int32
}

// SyncReviewController names a controller.
type SyncReviewController struct {
	Kind string
	Name string
}

// SyncReviewParent names a parent.
type SyncReviewParent struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
}

// SyncReviewParents selects some of the parents that a controller has.
type SyncReviewParents struct {
	Namespace     string
	LabelSelector *metav1.LabelSelector
	Limit         *int32
	Continue      string
}

// SyncReviewResponse is the answer of a hook to one of the calls of a review.
type SyncReviewResponse struct {
	Hook     string
	Revision string
	Parent   *SyncReviewParent
	Response runtime.RawExtension
}

// SyncReviewCalls says whether hooks are called.
type SyncReviewCalls string

const (
	// SyncReviewCallsAll calls hooks for the answers that are not given.
	SyncReviewCallsAll SyncReviewCalls = "All"
	// SyncReviewCallsNone calls no hook.
	SyncReviewCallsNone SyncReviewCalls = "None"
)

// SyncReviewDetails says how much is shown of each parent.
type SyncReviewDetails string

const (
	// SyncReviewDetailsAll shows everything.
	SyncReviewDetailsAll SyncReviewDetails = "All"
	// SyncReviewDetailsSteps leaves out the requests and answers of hooks.
	SyncReviewDetailsSteps SyncReviewDetails = "Steps"
)

// SyncReviewStage is how far syncs are followed.
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
	Summary    SyncReviewSummary
	Controller ReviewedBy
	Syncs      []ReviewedSync
	Continue   string
	Notes      []string
}

// ReviewedBy is what has answered a review.
type ReviewedBy string

const (
	// ReviewedByRunning is the controller that runs in the server.
	ReviewedByRunning ReviewedBy = "Running"
	// ReviewedByTemporary is one that was made for the review.
	ReviewedByTemporary ReviewedBy = "Temporary"
)

// SyncReviewSummary counts what is in an answer.
type SyncReviewSummary struct {
	Parents   int32
	Changed   int32
	Unchanged int32
	Failed    int32
	Undecided int32
	Steps     []ReviewedStepCount
}

// ReviewedStepCount is a number of writes of one sort.
type ReviewedStepCount struct {
	Operation  ReviewedOperation
	APIVersion string
	Kind       string
	Count      int32
}

// ReviewedSync is what the sync of one parent would do.
type ReviewedSync struct {
	Parent      ReviewedObject
	Result      ReviewedResult
	Error       string
	Refused     []string
	Hook        string
	Steps       []ReviewedStep
	Rollout     *ReviewedRollout
	Warnings    []ReviewedWarning
	Events      []ReviewedEvent
	ResyncAfter Duration
	Calls       []ReviewedCall
	Truncated   bool
}

// ReviewedResult is what would come of a sync.
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
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
}

// ReviewedCall is the call of a hook.
type ReviewedCall struct {
	Hook     string
	Revision string
	Source   ReviewedSource
	Request  *runtime.RawExtension
	Response *runtime.RawExtension
	Error    string
}

// ReviewedSource is where the answer of a hook comes from.
type ReviewedSource string

const (
	// ReviewedSourceHook is an answer of the hook, which was called.
	ReviewedSourceHook ReviewedSource = "Hook"
	// ReviewedSourceGiven is an answer that the spec of the review gives.
	ReviewedSourceGiven ReviewedSource = "Given"
	// ReviewedSourceMissing says that an answer is missing: no hook was called, and the spec of the review gives none.
	ReviewedSourceMissing ReviewedSource = "Missing"
	// ReviewedSourceNotCalled says that there was no call, since the review ends before it.
	ReviewedSourceNotCalled ReviewedSource = "NotCalled"
)

// ReviewedStep is a write.
type ReviewedStep struct {
	Operation ReviewedOperation
	ReviewedObject
	Why       string
	Changes   []ReviewedChange
	Postponed bool
	DryRun    *ReviewedDryRun
}

// ReviewedOperation is what a write does.
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
	Path string
	From *JSONValue
	To   *JSONValue
}

// ReviewedDryRun is what the cluster said to a write with dryRun=All.
type ReviewedDryRun struct {
	Outcome  ReviewedOutcome
	Message  string
	Warnings []string
}

// ReviewedOutcome is what would come of a write.
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
	Reason  string
	Message string
	Moves   []ReviewedObject
	Behind  []ReviewedObject
}

// ReviewedWarning is something that is probably a mistake.
type ReviewedWarning struct {
	Reason  string
	Message string
}

// ReviewedEvent is an event that a hook answers.
type ReviewedEvent struct {
	Type    string
	Reason  string
	Message string
	Child   *ReviewedObject
}

// JSONValue is any JSON value: text, a number, true, false, null, a list or an object.
type JSONValue struct {
	Raw []byte
}
