// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ControllerStatus is what the server last saw of the running controller of a CompositeController
// or DecoratorController. It is refreshed once a second at most.
type ControllerStatus struct {
	ObservedGeneration int64
	RunningGeneration  int64
	Conditions         []metav1.Condition
	Parents            *ParentCounts
	Children           *ChildCounts
	LastError          *LastSyncError
	HeldResources      []ResourceRule
}

// ParentCounts counts parents by how their last sync went.
type ParentCounts struct {
	Total   int32
	Synced  int32
	Failing int32
	Warned  int32
	Paused  int32
}

// ChildCounts counts children that are not as their hook wants although no sync failed.
type ChildCounts struct {
	Outdated int32
}

// LastSyncError is a failure to sync a parent.
type LastSyncError struct {
	Message   string
	Parent    string
	Kind      string
	Time      metav1.Time
	Recovered *metav1.Time
}
