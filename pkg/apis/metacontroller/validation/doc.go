// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation says whether an object can be stored, and if not, all that is wrong with it: each error names the field
// and says what would be right.
//
// What Metacontroller 4.17 accepts and runs is valid. What it accepts and can never run is refused. What runs but is likely
// a mistake leads to a warning.
//
// Updates are held to less: an error that the stored object has already does not keep it from being updated, so that an
// object from before a rule was made can still be labelled, repaired piece by piece, and deleted.
package validation
