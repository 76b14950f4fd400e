// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation checks whether an object can be stored. In goes an object, for
// an update beside the stored one; out come errors, each with its field and with what would be
// right, and warnings. The package is pure.
//
// What Metacontroller 4.17 accepts and runs is valid. What it accepts and can never run is refused.
// What runs but is likely a mistake leads to a warning.
//
// Updates are ratcheted: an error that the stored object has already does not keep it from being
// updated. So an object from before a rule was made can still be labelled, repaired piece by piece,
// and deleted.
package validation
