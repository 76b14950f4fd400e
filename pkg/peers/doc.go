// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peers lets the replicas of the server ask one another for what their controllers have in memory, so that each answers
// for all.
//
// A replica serves this beside the API, on the same port, below [Path]:
//
//	GET  syncs                  its Syncs, and then what changes, message by message
//	GET  hookcalls              the same for its HookCalls
//	GET  hookcalls/NAMESPACE/NAME   a call with its bodies, and the rights to see it
//	POST resync                 has parents synced that it runs
//
// A message is one JSON document. The version is in the path: a replica that does not have a path answers 404, and its objects are
// left out, as those of a replica that does not answer. Fields may be added within a version.
//
// The address of a replica is in its Lease. A replica trusts another one as the cluster trusts it: by the caBundle of the
// APIService, and by the name of the Service. It shows itself as the user that it is at the cluster. Only that user is answered.
package peers
