// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registration follows the APIService by which the host finds the API of this server. It says who may act: the
// controllers of this process run only while the APIService leads to this server and does not hold them.
//
// The API group can be served by this server or by CustomResourceDefinitions, and there is one APIService for it. So two
// programs never act on the same objects, a restart changes nothing, and everyone can see in the cluster who acts.
package registration
