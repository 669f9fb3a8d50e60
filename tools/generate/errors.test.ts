import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ErrorCodeFacts, errorCodes, listErrorCodes } from '@switchyard/contract';
import { errorsDocument } from './errors.ts';

test('a code with no advice of its own, no retry and no moved money has only its help', () => {
  assert.ok(errorsDocument().includes(`${errorCodes.amount_zero.help}\n\n## `));
});

test('each code with an unknown outcome says to request it before the request is sent again', () => {
  const document = errorsDocument();
  for (const code of listErrorCodes().filter((each) => errorCodes[each].outcome === 'Unknown')) {
    const [, rest = ''] = document.split(`## ${code}\n`);
    const [section = ''] = rest.split('\n## ');
    const { help, retryable, advice }: ErrorCodeFacts = errorCodes[code];
    const general = retryable
      ? 'Request the outcome first, by your own identifier. A repeated request must have the same identifier: the platform processes it only once.'
      : 'Do not send the request again: it may have been processed. Request its outcome.';
    assert.ok(section.trim().endsWith(`${help} ${advice ?? general}`), code);
  }
});
