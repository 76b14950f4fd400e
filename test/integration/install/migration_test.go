// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of a migration find a cluster whose API is served by other means.
func TestAMigrationLeavesTheAPIAlone(t *testing.T) {
	for name, manifests := range map[string]string{
		"kustomize": kustomize(t, choices["migration"]), "with all, kustomize": kustomize(t, choices["all, migrating"]), "Helm": template(t, choices["migration"].values...),
	} {
		for of := range objects(t, manifests) {
			if strings.Contains(of, "APIService") || strings.Contains(of, "aggregate-metacontroller") {
				t.Errorf("%s has %s, which is Metacontroller's", name, of)
			}
		}
	}
}

// The steps are done by Jobs of the namespace, which the level of Pod Security that it enforces, and the one that it warns of, let pass.
func TestTheHostAcceptsTheJobOfAStep(t *testing.T) {
	prepare(t)
	env.Apply(t, read(t, deploy("base/namespace.yaml")))
	job := strings.ReplaceAll(read(t, deploy("components/migration/job.yaml")), "STEP", "switch")
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	out := env.Kubectl(t, "create", "--dry-run=server", "--warnings-as-errors", "-f", file, "-o", "yaml")
	if !strings.Contains(out, "- switch") {
		t.Errorf("the Job is\n%s", out)
	}
}

// What Helm prints says how to go on, and not how to delete controllers that Metacontroller still runs.
func TestTheNotesOfAMigration(t *testing.T) {
	out, err := helm(t.Context(), "install", "metacontroller-apiserver", chart, "--dry-run=client", "--namespace=metacontroller", "--set", "migration.enabled=true")
	if err != nil {
		t.Fatal(err)
	}
	_, notes, _ := strings.Cut(out, "NOTES:")
	const check = "metacontroller-apiserver migrate check --service-namespace=metacontroller"
	if !strings.Contains(notes, check) || strings.Contains(notes, "delete") {
		t.Errorf("the notes are\n%s", notes)
	}
}
