import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createPendingOperation,
  declinedOutcome,
  duplicateOutcome,
  noResponseOutcome,
} from '../../../test/payments/operations/pending-operation.ts';

test('the event of an operation that becomes pending names the response', async () => {
  const outcomes = [
    [noResponseOutcome, 'Unanswered'],
    [duplicateOutcome, 'Duplicate'],
    [declinedOutcome('91'), 'HostError'],
    [declinedOutcome('68'), 'Indeterminate'],
    [{ outcome: 'NotSent', reason: 'link down' }, 'AcquirerUnavailable'],
  ] as const;
  for (const [outcome, reason] of outcomes) {
    const { storeOutcome, status, lastReason } = createPendingOperation('Reversal');
    await storeOutcome(outcome);
    assert.deepEqual([status(), lastReason()], ['Pending', reason]);
  }
});
