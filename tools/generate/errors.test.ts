import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorCodes, listErrorCodes } from '@switchyard/contract';
import { errorsDocument } from './errors.ts';

test('each code with an unknown outcome says to request it before the request is sent again', () => {
  const document = errorsDocument();
  for (const code of listErrorCodes().filter((each) => errorCodes[each].outcome === 'Unknown')) {
    const [, rest = ''] = document.split(`## ${code}\n`);
    const [section = ''] = rest.split('\n## ');
    const pattern = errorCodes[code].retryable
      ? /Request the outcome first\. A repeated request must have the same identifier/
      : /Do not send the request again: it may have been processed\. Request its outcome\.$/;
    assert.match(section.trim(), pattern, code);
  }
});
