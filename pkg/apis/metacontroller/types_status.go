// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Types of the conditions in the status of a CompositeController or DecoratorController.
const (
	// ConditionReady is True while the controller runs as its current spec says.
	ConditionReady = "Ready"
	// ConditionResourcesFound is True if the host cluster serves every resource the spec names.
	ConditionResourcesFound = "ResourcesFound"
	// ConditionHooksReachable is True if the last calls of the hooks were answered.
	ConditionHooksReachable = "HooksReachable"
	// ConditionStable is True unless children or parents' status are written again and again, because somebody else
	// undoes it or because the hook answers something else each time. Such writes are slowed down.
	ConditionStable = "Stable"
)

// ControllerStatus is what the server last saw of the running controller of a CompositeController or DecoratorController.
// It is refreshed every few seconds at most.
type ControllerStatus struct {
	ObservedGeneration int64
	Conditions         []metav1.Condition
	Parents            *ParentCounts
	LastError          *LastSyncError
	HeldResources      []ResourceRule
}

// ParentCounts counts parents by how their last sync went.
type ParentCounts struct {
	Total   int32
	Synced  int32
	Failing int32
}

// LastSyncError is a failure to sync a parent.
type LastSyncError struct {
	Message   string
	Parent    string
	Kind      string
	Time      metav1.Time
	Recovered *metav1.Time
}
