// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

// completedLabels are the labels of a desired child with the generated ones that it lacks. It
// implements labels.Labels for those who only look.
type completedLabels struct{ own, generated map[string]string }

// Has tells whether there is a label.
func (c *completedLabels) Has(name string) bool {
	_, there := c.Lookup(name)
	return there
}

// Get returns the value of a label, empty if there is none.
func (c *completedLabels) Get(name string) string {
	value, _ := c.Lookup(name)
	return value
}

// Lookup returns the value of a label and whether there is one.
func (c *completedLabels) Lookup(name string) (value string, there bool) {
	if value, there = c.own[name]; there {
		return value, true
	}
	value, there = c.generated[name]
	return value, there
}
