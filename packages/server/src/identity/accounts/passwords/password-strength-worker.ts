// The worker thread that estimates passwords with the word lists, one request after the other.
import { parentPort } from 'node:worker_threads';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import * as common from '@zxcvbn-ts/language-common';
import * as english from '@zxcvbn-ts/language-en';
import * as french from '@zxcvbn-ts/language-fr';

/** The time of a search grows with the square of the length: with these limits at most a third of a second. */
const maxPartLength = 32;
const maxSubstitutions = 20;
/** Scores go from 0 to 4; 4 means at least 10^10 guesses. */
const minScore = 4;

export type StrengthRequest = {
  readonly id: number;
  readonly password: string;
  readonly words: readonly string[];
};
export type StrengthResponse = { readonly id: number; readonly isCommon: boolean };

/** Lists up to this length name days, months, planets and the like. */
const maxShortListLength = 100;

/**
 * The time of a search grows with the number of lists, so the short ones become one list. The library looks for
 * sequences of words, such as Monday and Tuesday, in the lists whose name begins with `daysOfWeek-`.
 */
function mergeShortLists(lists: Record<string, (string | number)[]>) {
  const entries = Object.entries(lists);
  const isShort = (list: readonly unknown[]) => list.length <= maxShortListLength;
  const shortLists = entries.flatMap(([, list]) => (isShort(list) ? list.map(String) : []));
  return {
    ...Object.fromEntries(entries.filter(([, list]) => !isShort(list))),
    'daysOfWeek-and-other-sequences': [...new Set(shortLists)],
  };
}

const zxcvbn = new ZxcvbnFactory({
  dictionary: mergeShortLists({
    ...common.dictionary,
    ...english.dictionary,
    ...french.dictionary,
  }),
  graphs: common.adjacencyGraphs,
  maxLength: maxPartLength,
  l33tMaxSubstitutions: maxSubstitutions,
});

function isStrong(part: string, words: readonly string[]): boolean {
  return zxcvbn.check(part, [...words]).score >= minScore;
}

/** A password is at least as hard to guess as its beginning or its end. */
function isCommon({ password, words }: StrengthRequest): boolean {
  if (isStrong(password.slice(0, maxPartLength), words)) return false;
  return password.length <= maxPartLength || !isStrong(password.slice(-maxPartLength), words);
}

parentPort?.on('message', (question: StrengthRequest) => {
  const answer: StrengthResponse = { id: question.id, isCommon: isCommon(question) };
  parentPort?.postMessage(answer);
});
