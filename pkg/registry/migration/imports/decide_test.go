// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration"
)

// at returns an object in a state, at a resourceVersion of the other server.
func at(fingerprint, resourceVersion string) state {
	return state{uid: "u", fingerprint: fingerprint, managed: "m", resourceVersion: resourceVersion}
}

func here(s state) *state { return &s }

func TestWhatAnImportDoes(t *testing.T) {
	const created, updated, deleted, unchanged = migration.ImportCreated, migration.ImportUpdated, migration.ImportDeleted, migration.ImportUnchanged
	for name, test := range map[string]struct {
		situation
		result migration.ImportResult
		err    string
	}{
		"it is new":                               {situation{source: at("a", "1")}, created, ""},
		"it is as it was imported":                {situation{source: at("a", "1"), stored: here(at("a", "9")), imported: here(at("a", "1"))}, unchanged, ""},
		"it was changed there":                    {situation{source: at("b", "2"), stored: here(at("a", "9")), imported: here(at("a", "1"))}, updated, ""},
		"it was changed here":                     {situation{source: at("a", "1"), stored: here(at("c", "9")), imported: here(at("a", "1"))}, unchanged, ""},
		"it was changed here, and is overwritten": {situation{source: at("a", "1"), stored: here(at("c", "9")), imported: here(at("a", "1")), overwrite: true}, updated, ""},
		"it was changed here and there":           {situation{source: at("b", "2"), stored: here(at("c", "9")), imported: here(at("a", "1"))}, "", "changed here and there"},
		"it was changed here and there, and the base is known": {
			situation{source: at("b", "2"), stored: here(at("c", "9")), imported: here(at("a", "1")), hasBase: true}, migration.ImportMerged, ""},
		"it was changed here and there in one way": {situation{source: at("b", "2"), stored: here(at("b", "9")), imported: here(at("a", "1"))}, unchanged, ""},
		"only its managedFields were changed there": {
			situation{source: state{uid: "u", fingerprint: "a", managed: "other", resourceVersion: "2"}, stored: here(at("a", "9")), imported: here(at("a", "1"))}, updated, ""},
		"it was deleted here":                             {situation{source: at("a", "1"), imported: here(at("a", "1"))}, unchanged, ""},
		"it was deleted here, and is overwritten":         {situation{source: at("a", "1"), imported: here(at("a", "1")), overwrite: true}, created, ""},
		"it was deleted here and changed there":           {situation{source: at("b", "2"), imported: here(at("a", "1"))}, "", "deleted here, and changed there"},
		"it is here without a record, and the same":       {situation{source: at("a", "1"), stored: here(at("a", "9"))}, unchanged, ""},
		"it is here without a record, and differs":        {situation{source: at("b", "1"), stored: here(at("a", "9"))}, "", "never imported"},
		"it is here without a record, and is overwritten": {situation{source: at("b", "1"), stored: here(at("a", "9")), overwrite: true}, updated, ""},
		"another object has its name":                     {situation{source: at("a", "1"), stored: &state{uid: "v"}, overwrite: true}, "", "UID v"},

		"it was deleted there":                      {situation{source: at("", ""), deleted: true, stored: here(at("a", "9")), imported: here(at("a", "1"))}, deleted, ""},
		"it was deleted there and here":             {situation{source: at("", ""), deleted: true, imported: here(at("a", "1"))}, unchanged, ""},
		"it was deleted there and changed here":     {situation{source: at("", ""), deleted: true, stored: here(at("c", "9")), imported: here(at("a", "1"))}, "", "deleted there, and changed here"},
		"it was deleted there, and is overwritten":  {situation{source: at("", ""), deleted: true, stored: here(at("c", "9")), overwrite: true}, deleted, ""},
		"it was deleted there, and another is here": {situation{source: at("", ""), deleted: true, stored: &state{uid: "v"}, overwrite: true}, unchanged, ""},
		"it was never there":                        {situation{source: at("", ""), deleted: true, stored: here(at("a", "9"))}, "", "never imported"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := test.decide()
			if result != test.result || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("it does %q with the error %v, want %q and %q", result, err, test.result, test.err)
			}
		})
	}
}
