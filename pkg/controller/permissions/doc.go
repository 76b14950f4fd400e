// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package permissions knows which rights service accounts have, as far as controllers need them.
//
// A controller that acts as a service account makes a Requirement of the rights that it needs, and checks it before it
// shows anything to a hook. Permissions asks the cluster once for each right of an account, regardless of how many
// controllers and parents need it. While a Requirement is open, its rights are reviewed again in the background, and
// the Requirement is notified when an answer changes. So a check sends a request only if the cluster has not been asked
// for one of its rights yet.
//
// The package sends SubjectAccessReviews and does nothing else.
package permissions
