// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mistakes makes the mistakes that authors of controllers and hooks make, and checks that
// each can be seen at the first look: with kubectl, where it was made, within seconds.
//
// The table is the folder testdata. A file such as misspelt-child-field.yaml is one mistake: see the
// type mistake. It is made with both engines, those of DecoratorControllers with the default one, and
// both versions of the hook protocol, and what kubectl shows must be what the file
// misspelt-child-field.txt has. That is everything kubectl prints about
//
//   - the command that stores the controller, where that is the mistake,
//   - the controller: its row, its status and its events,
//   - the parent: its status and its events,
//   - the events of the namespace,
//
// without what differs from run to run, without what the cluster says of a child that it rejects, and
// without conditions of the controller that are True. The order of events does not count.
//
// Each mistake is seen in a way of its own. Of those that differ only in the sentence about them, such as
// answers that cannot be read, one is here, and the sentences are in the tests of the package that says them.
//
//	go test ./test/integration/mistakes -update
//
// writes these files. Read the difference before you commit it: the test fails for a mistake that shows
// everything healthy, but only a reader can tell whether what is shown makes it understood.
package mistakes
