// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package permissions checks whether service accounts have the rights that controllers need.
//
// A controller that acts as a service account makes a Requirement of the rights that it needs, and checks it before it
// shows anything to a hook. Reads of parentcontroller.Spec lists the rights that a spec needs. Permissions asks the
// cluster once for each right of an account, regardless of how many controllers and parents need it. While a
// Requirement is open, its rights are reviewed again in the background, and the Requirement is notified when an answer
// changes. So a check sends a request only if the cluster has not been asked for one of its rights yet.
//
// The package sends SubjectAccessReviews and does nothing else.
package permissions
