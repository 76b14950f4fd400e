// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

/**
 * How the search of the site reads pages and questions. The functions run in the browser, alone: they can use nothing
 * that is outside of them.
 */
export const searchOptions = {
  searchOptions: {
    // Words of a question that say nothing about its answer are left out.
    processTerm: (term) => {
      const empty = "a an and are as at be but by can did do does for from has have how i if in into is it its me my no not of on or so that the their then there they this to was what when where which who why will with you your";
      const word = term.toLowerCase().replace(/'s$/, "");
      return empty.split(" ").includes(word) ? null : word;
    },
    combineWith: "OR",
    fuzzy: 0.2,
    prefix: true,
    boost: {title: 4, text: 2, titles: 1},
  },
};
