// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// fillList reads how a list is merged. What the schema says for server-side apply takes precedence over
// what it says for strategic merge patches.
func (r *reader) fillList(t *Type, n *node) error {
	merges := slices.Contains(strings.Split(n.PatchStrategy, ","), "merge")
	keys := n.ListMapKeys
	switch {
	case n.ListType != Unknown:
		t.list = n.ListType
	case merges && n.PatchMergeKey != "":
		t.list, keys = Map, []string{n.PatchMergeKey}
	case merges:
		t.list = Set
	}
	if t.list != Map {
		return nil
	}
	defaults, err := r.defaults(n.Items)
	if err != nil {
		return err
	}
	for _, name := range keys {
		t.keys = append(t.keys, Key{Name: name, Default: defaults[name]})
	}
	return nil
}

// defaults returns the defaults of those fields of an item that are no objects or lists.
func (r *reader) defaults(items *node) (map[string]any, error) {
	if ref := items.ref(); ref != "" {
		items = &node{}
		if err := json.Unmarshal(r.schemas[strings.TrimPrefix(ref, refPrefix)], items); err != nil {
			return nil, fmt.Errorf("schema %s: %w", ref, err)
		}
	}
	defaults := map[string]any{}
	for name, property := range items.Properties {
		if property.Default == nil || !property.isLeaf() {
			continue
		}
		var value map[string]any
		if err := utiljson.Unmarshal(fmt.Appendf(nil, `{"":%s}`, property.Default), &value); err != nil {
			return nil, fmt.Errorf("default of %s: %w", name, err)
		}
		defaults[name] = value[""]
	}
	return defaults, nil
}
