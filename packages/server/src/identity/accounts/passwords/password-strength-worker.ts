// The thread that estimates passwords: holds the word lists, and answers one question after the other.
import { parentPort } from 'node:worker_threads';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import * as common from '@zxcvbn-ts/language-common';
import * as english from '@zxcvbn-ts/language-en';
import * as french from '@zxcvbn-ts/language-fr';

/** The search takes time that grows with the square: a third of a second at the worst for these. */
const partCharsMax = 32;
const substitutionsMax = 20;
/** Of 0 to 4; the highest begins at 10^10 guesses. */
const leastScore = 4;

export type StrengthQuestion = {
  readonly id: number;
  readonly password: string;
  readonly words: readonly string[];
};
export type StrengthAnswer = { readonly id: number; readonly isCommon: boolean };

const zxcvbn = new ZxcvbnFactory({
  dictionary: { ...common.dictionary, ...english.dictionary, ...french.dictionary },
  graphs: common.adjacencyGraphs,
  maxLength: partCharsMax,
  l33tMaxSubstitutions: substitutionsMax,
});

function isHard(part: string, words: readonly string[]): boolean {
  return zxcvbn.check(part, [...words]).score >= leastScore;
}

/** The whole is at least as hard as its beginning or its end. */
function isCommon({ password, words }: StrengthQuestion): boolean {
  if (isHard(password.slice(0, partCharsMax), words)) return false;
  return password.length <= partCharsMax || !isHard(password.slice(-partCharsMax), words);
}

parentPort?.on('message', (question: StrengthQuestion) => {
  const answer: StrengthAnswer = { id: question.id, isCommon: isCommon(question) };
  parentPort?.postMessage(answer);
});
