// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command limits fails if a package has too many files or the methods of a type are spread over too many files. Tests
// and generated code do not count.
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	filesOfPackage = 15
	filesOfType    = 4
)

// files are the names of files, by package directory or by type.
type files map[string]map[string]bool

func (f files) add(key, file string) {
	if f[key] == nil {
		f[key] = map[string]bool{}
	}
	f[key][file] = true
}

// above returns a line for each key with more files than the limit, the most first.
func (f files) above(limit int, what string) []string {
	var lines []string
	keys := slices.SortedFunc(maps.Keys(f), func(a, b string) int {
		return cmp.Or(len(f[b])-len(f[a]), strings.Compare(a, b))
	})
	for _, key := range keys {
		if n := len(f[key]); n > limit {
			lines = append(lines, fmt.Sprintf("%s: %s %d files, at most %d are allowed", key, what, n, limit))
		}
	}
	return lines
}

func main() {
	packages, types := files{}, files{}
	for _, root := range os.Args[1:] {
		if err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return read(path, packages, types)
		}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	lines := append(packages.above(filesOfPackage, "the package has"), types.above(filesOfType, "the type has methods in")...)
	for _, line := range lines {
		fmt.Fprintln(os.Stderr, line)
	}
	if len(lines) > 0 {
		os.Exit(1)
	}
}

// read counts a file of Go code.
func read(path string, packages, types files) error {
	if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return err
	}
	directory := filepath.Dir(path)
	packages.add(directory, path)
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv != nil {
			types.add(directory+"."+receiver(function.Recv.List[0].Type), path)
		}
	}
	return nil
}

// receiver returns the name of a receiver's type.
func receiver(expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.StarExpr:
		return receiver(expression.X)
	case *ast.IndexExpr:
		return receiver(expression.X)
	case *ast.IndexListExpr:
		return receiver(expression.X)
	case *ast.Ident:
		return expression.Name
	default:
		return fmt.Sprint(expression)
	}
}
