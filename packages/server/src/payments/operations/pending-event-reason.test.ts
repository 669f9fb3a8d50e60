import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  declined,
  duplicate,
  noResponse,
  oneOperation,
} from '../../../test/payments/operations/pending-operation.ts';

test('the event of an operation that becomes pending names the response', async () => {
  const outcomes = [
    [noResponse, 'Unanswered'],
    [duplicate, 'Duplicate'],
    [declined('91'), 'HostError'],
    [declined('68'), 'Indeterminate'],
    [{ outcome: 'NotSent', reason: 'link down' }, 'AcquirerUnavailable'],
  ] as const;
  for (const [outcome, reason] of outcomes) {
    const { storeOutcome, status, lastReason } = oneOperation('Reversal');
    await storeOutcome(outcome);
    assert.deepEqual([status(), lastReason()], ['Pending', reason]);
  }
});
