// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/preview"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// syncing is the sync of one parent in a review.
type syncing struct {
	spec       *v1alpha1.SyncReviewSpec
	permit     *permit
	isAuthor   bool
	controller *preview.Previewer

	mu      sync.Mutex
	conceal *redact.Concealer
	// given are the calls whose answers are in the spec.
	given map[callKey]bool
}

// callKey identifies a call about a parent.
type callKey struct{ hook, revision string }

func keyOf(call *hook.Call) callKey { return callKey{call.Hook, call.Snapshot.Revision} }

func (r *reviewing) newSync(controller *preview.Previewer) *syncing {
	return &syncing{
		spec: r.spec, permit: r.permit, isAuthor: r.isAuthor, controller: controller,
		conceal: r.key.New(), given: map[callKey]bool{},
	}
}

// options returns how the sync is previewed.
func (s *syncing) options() preview.Options {
	options := preview.Options{
		Until: s.spec.Until, CallHooks: s.spec.Calls != v1alpha1.SyncReviewCallsNone, Answer: s.answer,
		Permit:   s.permit.check,
		IsAuthor: s.isAuthor,
	}
	if s.spec.Request != nil {
		options.Request = s.spec.Request.Raw
	}
	return options
}

// errOldDigests is the error of an answer that is made of another request.
var errOldDigests = errors.New("the answer has digests of Secrets that are not in the request: the controllers have " +
	"restarted or the Secrets have changed since that request; repeat the review without the answer, and answer the " +
	"request that it returns")

// answer returns the answer that the spec gives to a call; nil if it gives none. Where it has digests of
// Secrets in the request, it gets the values.
func (s *syncing) answer(call hook.Call) ([]byte, error) {
	given := s.givenTo(&call)
	if given == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given[keyOf(&call)] = true
	s.conceal.Learn(call.Request)
	revealed := s.conceal.Reveal(given)
	if redact.HasDigest(revealed) {
		return nil, errOldDigests
	}
	return revealed, nil
}

func (s *syncing) givenTo(call *hook.Call) []byte {
	about := call.Snapshot.Parent
	for i := range s.spec.Responses {
		one := &s.spec.Responses[i]
		if one.Hook == call.Hook && one.Revision == call.Snapshot.Revision && names(one.Parent, about) {
			return one.Response.Raw
		}
	}
	if s.spec.Response != nil && call.Hook != hook.Customize && call.Snapshot.Present == nil {
		return s.spec.Response.Raw
	}
	return nil
}

// names reports whether named identifies the parent. A nil name matches every parent.
func names(named *v1alpha1.SyncReviewParent, parent *object.Object) bool {
	return named == nil || named.Name == parent.Name && named.Namespace == parent.Namespace &&
		(named.Kind == "" || named.Kind == parent.Kind) && (named.APIVersion == "" || named.APIVersion == parent.APIVersion)
}

// sync returns a preview in the words of the API.
func (s *syncing) sync(preview *preview.Preview) *v1alpha1.ReviewedSync {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range preview.Calls {
		call := &preview.Calls[i]
		s.conceal.Learn(call.Request)
		s.conceal.Learn(call.Answer)
		s.conceal.Add(call.Credentials...)
	}
	parent := preview.Parent
	sync := &v1alpha1.ReviewedSync{
		Parent: v1alpha1.ReviewedObject{APIVersion: parent.APIVersion, Kind: parent.Kind, Namespace: parent.Namespace,
			Name: parent.Name},
		Hook: preview.Hook,
	}
	if preview.Err != nil {
		sync.Error = s.conceal.Text(preview.Err.Error())
	}
	for _, refused := range preview.Refused {
		sync.Refused = append(sync.Refused, s.conceal.Text(refused.Error()))
	}
	for i := range preview.Revisions {
		sync.Steps = append(sync.Steps, s.revision(&preview.Revisions[i]))
	}
	for i := range preview.Steps {
		sync.Steps = append(sync.Steps, s.step(&preview.Steps[i]))
	}
	for i := range preview.Calls {
		sync.Calls = append(sync.Calls, s.call(&preview.Calls[i]))
	}
	s.addAnswer(sync, preview)
	sync.Result = resultOf(sync, preview)
	return sync
}

// addAnswer adds the parts of the answers that are not in the steps.
func (s *syncing) addAnswer(sync *v1alpha1.ReviewedSync, preview *preview.Preview) {
	if preview.Paused {
		sync.Warnings = append(sync.Warnings, v1alpha1.ReviewedWarning{
			Reason: "Paused", Message: "The parent, or its controller, is paused: none of this happens until it is resumed.",
		})
	}
	for _, warning := range preview.Warnings {
		sync.Warnings = append(sync.Warnings, v1alpha1.ReviewedWarning{Reason: string(warning.Reason),
			Message: s.conceal.Text(warning.Message)})
	}
	if rollout := preview.Rollout; rollout != nil {
		sync.Rollout = &v1alpha1.ReviewedRollout{
			Reason: rollout.Updated.Reason, Message: s.conceal.Text(rollout.Updated.Message), Moves: s.objects(rollout.Moved),
			Behind: s.objects(rollout.Behind),
		}
	}
	if preview.Answer == nil {
		return
	}
	for _, event := range preview.Answer.Events {
		sync.Events = append(sync.Events, s.event(event, preview.Parent))
	}
	if after := preview.Answer.ResyncAfter; after > 0 {
		sync.ResyncAfter = v1alpha1.Duration(after.String())
	}
}

func (s *syncing) event(event pipeline.HookEvent, parent *object.Object) v1alpha1.ReviewedEvent {
	shown := v1alpha1.ReviewedEvent{Type: corev1.EventTypeNormal, Reason: event.Reason,
		Message: s.conceal.Text(event.Message)}
	if event.Warning {
		shown.Type = corev1.EventTypeWarning
	}
	if child := event.Child; child != nil {
		key := object.Key{}
		key.Group, key.Kind, key.Namespace, key.Name = child.Group, child.Kind, child.Namespace, child.Name
		if key.Namespace == "" {
			key.Namespace = parent.Namespace
		}
		shown.Child = &s.objects([]object.Key{key})[0]
	}
	return shown
}

// objects returns the names of objects in the versions in which the controller handles them.
func (s *syncing) objects(keys []object.Key) (named []v1alpha1.ReviewedObject) {
	for _, key := range keys {
		named = append(named, v1alpha1.ReviewedObject{
			APIVersion: s.controller.VersionOf(key.GroupKind), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name,
		})
	}
	return named
}

// call returns a call with digests in the place of secret values.
func (s *syncing) call(call *hook.Call) v1alpha1.ReviewedCall {
	shown := v1alpha1.ReviewedCall{Hook: call.Hook, Revision: call.Snapshot.Revision}
	if isMissing := errors.Is(call.Err, preview.ErrAnswerMissing); isMissing ||
		s.spec.Details != v1alpha1.SyncReviewDetailsSteps {
		shown.Request = s.json(call.Request)
		if call.Err == nil { // of another answer, nobody knows what it shows
			shown.Response = s.json(call.Answer)
		}
	}
	switch {
	case s.given[keyOf(call)]:
		shown.Source = v1alpha1.ReviewedSourceGiven
	case errors.Is(call.Err, preview.ErrAnswerMissing):
		shown.Source = v1alpha1.ReviewedSourceMissing
		return shown
	case errors.Is(call.Err, preview.ErrNotCalled):
		shown.Source = v1alpha1.ReviewedSourceNotCalled
		return shown
	default:
		shown.Source = v1alpha1.ReviewedSourceHook
	}
	if call.Err != nil {
		shown.Error = s.conceal.Text(call.Err.Error())
	}
	return shown
}

// json returns a JSON object with digests in the place of secret values; nil for anything else.
func (s *syncing) json(raw []byte) *runtime.RawExtension {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return nil
	}
	if raw = s.conceal.JSON(raw); raw == nil {
		return nil
	}
	return &runtime.RawExtension{Raw: bytes.Clone(raw)}
}

// resultOf describes the result that a sync would have.
func resultOf(sync *v1alpha1.ReviewedSync, preview *preview.Preview) v1alpha1.ReviewedResult {
	refused := func(step v1alpha1.ReviewedStep) bool {
		return step.DryRun != nil && step.DryRun.Outcome == v1alpha1.ReviewedRefused
	}
	switch {
	case sync.Error != "" || len(sync.Refused) > 0 || slices.ContainsFunc(sync.Steps, refused):
		return v1alpha1.ReviewedFailed
	case !preview.Planned:
		return v1alpha1.ReviewedUndecided
	case slices.ContainsFunc(sync.Steps, writes):
		return v1alpha1.ReviewedChanged
	default:
		return v1alpha1.ReviewedUnchanged
	}
}

// writes reports whether a step would change something now.
func writes(step v1alpha1.ReviewedStep) bool {
	return !step.Postponed && (step.DryRun == nil || step.DryRun.Outcome != v1alpha1.ReviewedChangesNothing)
}

// count adds a sync to a summary.
func count(summary *v1alpha1.SyncReviewSummary, sync *v1alpha1.ReviewedSync) {
	summary.Parents++
	switch sync.Result {
	case v1alpha1.ReviewedFailed:
		summary.Failed++
	case v1alpha1.ReviewedUndecided:
		summary.Undecided++
	case v1alpha1.ReviewedChanged:
		summary.Changed++
	default:
		summary.Unchanged++
	}
	for _, step := range sync.Steps {
		if !writes(step) {
			continue
		}
		at := slices.IndexFunc(summary.Steps, func(counted v1alpha1.ReviewedStepCount) bool {
			return counted.Operation == step.Operation && counted.APIVersion == step.APIVersion && counted.Kind == step.Kind
		})
		if at < 0 {
			at = len(summary.Steps)
			summary.Steps = append(summary.Steps, v1alpha1.ReviewedStepCount{Operation: step.Operation,
				APIVersion: step.APIVersion, Kind: step.Kind})
		}
		summary.Steps[at].Count++
	}
}
