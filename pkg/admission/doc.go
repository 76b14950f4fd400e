// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission looks at CompositeControllers and DecoratorControllers with the host's eyes before they are stored:
// whether their author may do what they will do. What can be judged from an object alone is validation's.
package admission
