// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission checks CompositeControllers, DecoratorControllers and ControllerRevisions before
// they are stored, by what the host knows. In go the object and its author; out come a refusal or
// warnings. It reads from the host and from the name service, and writes nothing. What can be judged
// from an object alone belongs to validation.
//
// There are five plugins:
//
//   - [HookAddresses] refuses hooks at denied addresses.
//   - [ServiceAccounts] refuses controllers without a service account, if each must have one.
//   - [Rights] refuses a controller that may do what its author may not. It collects the rights that
//     the controller uses (requiredrights.go, conferred.go), asks the host which of them the author has,
//     and refuses with a Role to paste (refusal.go).
//   - [Revisions] refuses ControllerRevisions of users who may not restore them.
//   - [Warnings] warns of types that the host does not serve, of fields that the schema of parents
//     lacks (parentschema.go), of hooks whose names cannot be resolved (hookresolver.go), of other
//     controllers of the same parents (parentindex.go), and of parents that a change lets go of
//     (letgo.go).
package admission
