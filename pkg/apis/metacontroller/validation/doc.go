// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation checks whether an object can be stored. It takes an object, and for an update the stored object
// too. It returns warnings and errors; each error names its field and says what would be valid. The package has no side
// effects.
//
// What Metacontroller 4.17 accepts and runs is valid. What it accepts and can never run is refused.
// What runs but is likely a mistake leads to a warning.
//
// Updates are ratcheted: an error that the stored object already has does not prevent an update. An object that is
// older than a rule can still be labeled, repaired piece by piece, and deleted.
package validation
