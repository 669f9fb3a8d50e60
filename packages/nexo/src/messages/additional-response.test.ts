import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openSets } from '../table/value-sets.ts';
import {
  additionalResponse,
  passOnReason,
  readAdditionalResponse,
  refusalReasons,
} from './additional-response.ts';

test('AdditionalResponse has message and refusalReason, URL-encoded, for every condition', () => {
  const text = additionalResponse('DeviceOut', 'no_paper');
  assert.equal(text, 'message=The%20printer%20has%20no%20paper.&refusalReason=no_paper');
  for (const condition of [...openSets.ErrorCondition, 'Unheard']) {
    const { message, refusalReason } = readAdditionalResponse(additionalResponse(condition));
    assert.ok(refusalReason !== undefined && Object.hasOwn(refusalReasons, refusalReason));
    assert.ok(message.length > 0);
  }
  const odd = 'a=b&c d+e %\ud800';
  const { message } = readAdditionalResponse(additionalResponse('MessageFormat', undefined, odd));
  assert.equal(message, odd.toWellFormed());
  assert.deepEqual(readAdditionalResponse('no'), { message: 'no', refusalReason: undefined });
});

test('the message of a reason of the platform or the host is a sentence', () => {
  const messageOf = (reason: string) =>
    readAdditionalResponse(additionalResponse('Refusal', passOnReason(reason))).message;
  assert.equal(messageOf('refund_amount_exceeded'), 'Refund amount exceeded.');
  assert.equal(messageOf('InsufficientFunds'), 'Insufficient funds.');
});

// Spec: NEXO-64
test('the guide lists every refusal reason of the terminal with its message', () => {
  const guide = new URL('../../../../docs/reference/refusal-reasons.md', import.meta.url);
  const text = readFileSync(guide, 'utf8');
  const [, section = ''] = text.split('## Read AdditionalResponse');
  const [own = ''] = section.split('\n## ');
  const rows = [...own.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(([, ...row]) => row);
  assert.deepEqual(
    rows.filter(([reason]) => reason !== 'refusalReason'),
    Object.entries(refusalReasons),
  );
});
