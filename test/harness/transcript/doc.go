// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transcript plays files of commands, and compares what they print with what the files say.
//
// A file is a terminal session of several users. Each paragraph that begins with a prompt is a command
// and its exact output; paragraphs that begin with # are comments, and others go on with the output:
//
//	# Nobody else changes a controller.
//
//	shop$ kubectl delete cc bank-websites
//	Error from server (Forbidden): ...
//
// A command is run by the shell, as the user of the prompt. After <<< stands its input: an object in
// YAML, as a merge patch of the Session's object of that kind.
package transcript
