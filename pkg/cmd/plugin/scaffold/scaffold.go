// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaffold writes the folder of a new controller, with its tests and a hook, which is inline or a program in
// one of several languages. The folder project has such a folder for a type Website. The package replaces its names.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed all:project
var project embed.FS

// Language is a language of hooks.
type Language struct {
	// Name is the name of the language, and Folders have the files.
	Name    string
	Folders []string
	// File has the hook, and Command starts it if the port is appended. Inline hooks have neither.
	File, Command string
}

// Inline returns the language of hooks that are in the controller.
func Inline() Language { return Language{Name: "CEL", Folders: []string{"inline"}} }

// Languages returns the languages that a program can be written in, by the value of the flag --lang.
func Languages() map[string]Language {
	return map[string]Language{
		"python": {Name: "Python", Folders: []string{"common", "python"}, File: "hook.py", Command: "python3 hook.py"},
		"node":   {Name: "JavaScript", Folders: []string{"common", "node"}, File: "hook.js", Command: "node hook.js"},
		"go":     {Name: "Go", Folders: []string{"common", "go"}, File: "hook.go", Command: "go run hook.go"},
	}
}

// Names are the names of the parent type.
type Names struct {
	// Singular and Plural are in lower case, Kind is in CamelCase, and Group is the API group.
	Singular, Plural, Kind, Group string
}

// Write writes the files of a controller into a folder, which must be empty if it exists, and returns their paths in
// it.
func Write(folder string, language Language, names Names) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case len(entries) > 0:
		return nil, fmt.Errorf("the folder %s is not empty", folder)
	}
	replace := strings.NewReplacer(
		"example.com", names.Group, "Website", names.Kind, "websites", names.Plural, "website", names.Singular,
		"HOOK_FILE", language.File, "HOOK_COMMAND", language.Command, "LANGUAGE_NAME", language.Name,
	)
	for _, part := range language.Folders {
		root := path.Join("project", part)
		err := fs.WalkDir(project, root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := project.ReadFile(name)
			if err != nil {
				return err
			}
			// What would belong to this repository has another name in it.
			to := strings.TrimSuffix(strings.TrimPrefix(name, root+"/"), ".txt")
			files = append(files, to)
			return write(filepath.Join(folder, filepath.FromSlash(to)), replace.Replace(string(content)))
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

func write(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // it is for a repository
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644) //nolint:gosec // it is for a repository
}
