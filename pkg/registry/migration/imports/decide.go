// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration"
)

// state is an object as it is at a server.
type state struct {
	uid             types.UID
	resourceVersion string
	fingerprint     string
	// managed is who manages its fields, without those of the status.
	managed string
}

// situation is what is to be decided about.
type situation struct {
	// source is the object as the other server has it. Only its UID counts if it is deleted there.
	source    state
	deleted   bool
	overwrite bool
	// stored is the object as it is here; nil if it is not.
	stored *state
	// imported is what of the object was imported last; nil if it never was.
	imported *state
	// hasBase is true if it is known how it was when it was imported.
	hasBase bool
}

// decide returns what an import does. The error is why it is in conflict with what there is.
func (s situation) decide() (migration.ImportResult, error) {
	switch {
	case s.deleted:
		return s.decideDeleted()
	case s.stored == nil:
		return s.decideMissing()
	case s.stored.uid != s.source.uid:
		return "", fmt.Errorf("another object has its name here, with the UID %s: delete or rename one of them", s.stored.uid)
	case s.stored.fingerprint == s.source.fingerprint && s.stored.managed == s.source.managed:
		return migration.ImportUnchanged, nil
	case s.overwrite || s.stored.fingerprint == s.source.fingerprint:
		return migration.ImportUpdated, nil
	case s.imported == nil:
		return "", errors.New("it is here in another state, and was never imported")
	case s.imported.resourceVersion == s.source.resourceVersion:
		return migration.ImportUnchanged, nil // it was changed here alone
	case s.imported.fingerprint != s.stored.fingerprint && s.hasBase:
		return migration.ImportMerged, nil
	case s.imported.fingerprint != s.stored.fingerprint:
		return "", errors.New("it was changed here and there since it was imported: make the same change here, or overwrite what was changed here")
	}
	return migration.ImportUpdated, nil
}

// decideDeleted decides about an object that the other server no longer has.
func (s situation) decideDeleted() (migration.ImportResult, error) {
	switch {
	case s.stored == nil || s.stored.uid != s.source.uid:
		return migration.ImportUnchanged, nil
	case s.overwrite:
		return migration.ImportDeleted, nil
	case s.imported == nil:
		return "", errors.New("it was never imported")
	case s.imported.fingerprint != s.stored.fingerprint:
		return "", errors.New("it was deleted there, and changed here since it was imported: delete it here, too, if it is not needed")
	}
	return migration.ImportDeleted, nil
}

// decideMissing decides about an object that is not here.
func (s situation) decideMissing() (migration.ImportResult, error) {
	switch {
	case s.overwrite || s.imported == nil:
		return migration.ImportCreated, nil
	case s.imported.resourceVersion == s.source.resourceVersion:
		return migration.ImportUnchanged, nil // it was deleted here alone
	}
	return "", errors.New("it was deleted here, and changed there since it was imported: create it anew here if it is needed")
}
