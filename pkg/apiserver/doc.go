// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver makes the API server: the generic one of k8s.io/apiserver with the group metacontroller.k8s.io. It
// turns a [Config], which has a function that runs the controller loop, into a [Server]. It uses the storage, the
// network and, to authenticate and authorize, the host.
//
// The controllers start after the API serves and stop before it ends (controllers.go). Discovery does not depend on the
// host (access.go). Readiness depends on the serving certificate (certificate.go) and on the authority of the front
// proxy (access.go). Clients leave a stopping server before it closes their connections (server.go).
package apiserver
