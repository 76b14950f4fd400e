// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manual reads the pages of the documentation as their readers do, and follows them: it saves the
// files that a page shows, types its commands, and compares what they print with the page.
//
// A page has fenced blocks. The language of a block says what it is:
//
//   - sh: commands. A line that ends in & starts a program that runs until the test ends.
//   - text, right after commands: what the last of them prints, or comes to print. Times, addresses, random
//     ends of names and the width of columns may differ, and ... stands for any lines.
//   - text elsewhere: a picture, or a message.
//   - any other: a file, if the page says before it "Save this as `name`". YAML that is no file is applied in
//     a dry run.
//
// A comment before a block says what the reader does not need to know:
//
//	<!-- not run: why -->           the block is left out
//	<!-- run by: file_test.go -->   another test runs the block
//	<!-- file: a b -->              the block is what is in each of these files, or the reader brings them
//	<!-- part of: CompositeController -->    the block has fields of an object of that kind
//	<!-- json: name -->             the block is an instance of the schema of that name
//
// A comment <!-- run ... --> with commands is run like a block. A page that a test of its own follows names
// the package of that test: <!-- followed by: test/e2e -->.
package manual
