// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hooktest runs tests of hooks that are written as files, without a cluster.
//
// A Suite is read from a folder: the controllers with their CustomResourceDefinitions, and the cases in the folder
// tests. A Case (case.go) has the objects that exist and the expected result. A fixture (fixture.go) completes the
// objects as a cluster and earlier syncs would have done. Package offline then reviews a sync of the parent, and a
// Caller calls the hooks (run.go). The Outcome has the form of a case and is compared with the expected result
// (compare.go).
package hooktest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/offline"
)

// Settings defines how to run the tests of a folder. It is the content of the file tests/suite.yaml.
type Settings struct {
	// HookCommand starts the hook. $PORT in it is the port that the hook has to listen on.
	HookCommand string `json:"hookCommand,omitempty"`
	// Filenames are the files and folders with the controllers and their CustomResourceDefinitions, relative to the folder
	// above tests. If empty, they are the ones in that folder.
	Filenames []string `json:"filenames,omitempty"`
	// ApplyStrategy is the strategy for children whose rule has none: dynamic-apply or server-side-apply, as in the
	// server's flag.
	ApplyStrategy controller.ApplyStrategy `json:"applyStrategy,omitempty"`
}

// Suite holds the tests of a folder.
type Suite struct {
	Settings
	// Folder has the controllers, and the hook.
	Folder      string
	Cases       []*Case
	types       *offline.Types
	controllers []*testedController
}

const (
	// casesFolder is the subfolder with the cases.
	casesFolder = "tests"
	// settingsFile is the file with the settings, in the folder of the cases.
	settingsFile = "suite.yaml"
)

// Load reads the tests of a folder. The files, if there are any, replace the files of the settings.
func Load(folder string, files resource.FilenameOptions) (*Suite, error) {
	s, err := Begin(folder, files)
	if err != nil {
		return nil, err
	}
	return s, s.readCases()
}

// Begin is Load for a folder that need not have tests yet, which are not read.
func Begin(folder string, files resource.FilenameOptions) (*Suite, error) {
	s := &Suite{Folder: folder}
	if err := s.readSettings(); err != nil {
		return nil, err
	}
	if files.RequireFilenameOrKustomize() == nil {
		return s, s.readManifests(files)
	}
	for _, name := range s.Filenames {
		files.Filenames = append(files.Filenames, filepath.Join(folder, name))
	}
	if len(files.Filenames) == 0 {
		files.Filenames = []string{folder}
	}
	return s, s.readManifests(files)
}

// SettingsPath returns the path of the file with the settings.
func (s *Suite) SettingsPath() string { return filepath.Join(s.Folder, casesFolder, settingsFile) }

func (s *Suite) readSettings() error {
	path := s.SettingsPath()
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(raw, &s.Settings); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readManifests reads the controllers and the CustomResourceDefinitions in files. Other objects are ignored.
func (s *Suite) readManifests(files resource.FilenameOptions) error {
	read, err := lookup.Read(files)
	if err != nil {
		return err
	}
	var definitions []*unstructured.Unstructured
	for i := range read {
		if read[i].GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, read[i].Unstructured)
		}
	}
	if s.types, err = offline.NewTypes(definitions); err != nil {
		return err
	}
	for i := range read {
		of, err := read[i].Controller()
		if err != nil {
			return err
		}
		if of == nil {
			continue
		}
		if err := s.types.Complete(read[i].Unstructured); err != nil {
			return fmt.Errorf("%s: %s: %w", read[i].Path, of, err)
		}
		s.controllers = append(s.controllers, &testedController{Controller: of, object: read[i].Unstructured})
	}
	if len(s.controllers) == 0 {
		from := strings.Join(append(files.Filenames, files.Kustomize), " ")
		return fmt.Errorf("no CompositeController or DecoratorController found in %s", strings.TrimSpace(from))
	}
	return nil
}

// NeedsProgram reports whether a controller of the suite has a webhook. Inline hooks need no program.
func (s *Suite) NeedsProgram() bool {
	return slices.ContainsFunc(s.controllers, func(of *testedController) bool {
		return of.Webhook("sync") != nil || of.Webhook("finalize") != nil || of.Webhook("customize") != nil
	})
}

func (s *Suite) readCases() error {
	folder := filepath.Join(s.Folder, casesFolder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("no tests found: %w", err)
	}
	for _, entry := range entries {
		isManifest := slices.Contains(resource.FileExtensions, filepath.Ext(entry.Name()))
		if entry.IsDir() || !isManifest || entry.Name() == settingsFile {
			continue
		}
		one, err := readCase(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		s.Cases = append(s.Cases, one)
	}
	if len(s.Cases) == 0 {
		return fmt.Errorf("no tests found in %s", folder)
	}
	return nil
}
