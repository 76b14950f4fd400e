// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission checks CompositeControllers, DecoratorControllers and ControllerRevisions against the host before
// they are stored. It takes an object and its author, and returns a refusal or warnings. It reads from the host and
// from the name service, and writes nothing. Checks that need only the object belong to validation.
//
// There are six plugins:
//
//   - [HookAddresses] refuses hooks at denied addresses.
//   - [ServiceAccounts] refuses controllers without a service account if the server requires one.
//   - [Limits] refuses objects that are too large, and more controllers than a tenant may have.
//   - [Rights] refuses a controller that may do what its author may not. It collects the rights that the controller
//     uses (requiredrights.go), asks the host which of them the author has, and refuses with a Role to paste.
//   - [Revisions] refuses ControllerRevisions of users who may not restore them.
//   - [Warnings] warns of types that the host does not serve, of rules that can never have a child, of types that
//     spec.namespaces excludes, of fields that the schema of parents lacks, of inline hooks that do not fit the schemas
//     (inlinehooks.go), of hooks whose names cannot be resolved, of other controllers of the same parents
//     (parentindex.go), and of parents that a change releases.
package admission
