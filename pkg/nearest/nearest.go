// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package nearest

import (
	"slices"
	"strings"
)

// maxLetters limits the work for a word. A longer word is not a misspelled name.
const maxLetters = 100

// To returns the candidate whose spelling is most similar to the word, or "" if none is similar enough
// to be what was meant. Upper and lower case count as the same. Of equally near candidates, the
// first in alphabetical order is returned. A word that is only a part of a candidate, such as
// resyncPeriod of resyncPeriodSeconds, means it if it is a part of no other.
func To(word string, candidates []string) string {
	if len(word) > maxLetters {
		return ""
	}
	lower := []rune(strings.ToLower(word))
	found, least := "", (len(lower)+1)/3+1
	for _, candidate := range slices.Sorted(slices.Values(candidates)) {
		if at := distance(lower, []rune(strings.ToLower(candidate))); at < least {
			found, least = candidate, at
		}
	}
	if found == "" {
		return whole(word, candidates)
	}
	return found
}

// minPart is the least length of a word that is taken for a part of another one.
const minPart = 4

// whole returns the one candidate that the word is a part of, from the beginning of a word in it to the
// end of one; "" if there are none or several.
func whole(word string, candidates []string) (found string) {
	if len(word) < minPart {
		return ""
	}
	for _, candidate := range candidates {
		if !isPart(word, candidate) {
			continue
		}
		if found != "" {
			return ""
		}
		found = candidate
	}
	return found
}

func isPart(word, candidate string) bool {
	for i := range len(candidate) - len(word) + 1 {
		end := i + len(word)
		if strings.EqualFold(candidate[i:end], word) && beginsWord(candidate, i) &&
			(end == len(candidate) || beginsWord(candidate, end)) {
			return true
		}
	}
	return false
}

// beginsWord reports whether a word in camel case begins at i.
func beginsWord(name string, i int) bool { return i == 0 || 'A' <= name[i] && name[i] <= 'Z' }

// distance returns the edit distance of two words: the minimum number of insertions, deletions, and substitutions of
// characters, and swaps of adjacent ones.
func distance(a, b []rune) int {
	beforePrevious, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range current {
		current[j] = j
	}
	for i := range a {
		beforePrevious, previous, current = previous, current, beforePrevious
		current[0] = i + 1
		for j := range b {
			replaced := previous[j]
			if a[i] != b[j] {
				replaced++
			}
			current[j+1] = min(replaced, previous[j+1]+1, current[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], beforePrevious[j-1]+1)
			}
		}
	}
	return current[len(b)]
}
