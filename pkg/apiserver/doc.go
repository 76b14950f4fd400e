// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver makes the API server: the generic one of k8s.io/apiserver with the group
// metacontroller.k8s.io in it. In goes a [Config], with a function that runs the controller loop;
// out comes a [Server]. It touches the storage, the network and, to authenticate and authorize, the
// host.
//
// The controllers start after the API serves and stop before it ends (controllers.go). Discovery
// (discovery.go) does not depend on the host. Readiness depends on the serving certificate
// (certificate.go) and on the authority of the front proxy (frontproxy.go). Clients leave a server that
// stops before it closes their connections (connections.go).
package apiserver
