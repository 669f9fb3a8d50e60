import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  approvedOutcome,
  createPendingOperation,
  declinedOutcome,
  duplicateOutcome,
  noResponseOutcome,
  referenceWithStan,
  waitUntil,
} from '../../../test/payments/operations/pending-operation.ts';

/** A refund without a response that a user resolves during the retry. */
async function resolvedDuringRetry(outcome: 'Succeeded' | 'Failed') {
  const refund = createPendingOperation('Refund');
  await refund.storeOutcome(noResponseOutcome);
  refund.onSend(() => refund.resolve(outcome));
  return refund;
}

describe('an operation that is resolved manually', () => {
  // Spec: CARD-54
  it('is not sent after the resolution', async () => {
    for (const outcome of ['Failed', 'Succeeded'] as const) {
      const { storeOutcome, retry, resolve, onBeforeSend, sent, status } =
        createPendingOperation('Refund');
      await storeOutcome(noResponseOutcome);
      onBeforeSend(() => resolve(outcome));
      assert.equal(await retry(approvedOutcome), undefined);
      assert.deepEqual([sent, status()], [[], outcome === 'Failed' ? 'Declined' : 'Succeeded']);
    }
  });

  it('does not stop the retry of other pending operations', async () => {
    const { storeOutcome, retry, onBeforeSend, sent, status } = createPendingOperation('Reversal');
    await storeOutcome(noResponseOutcome);
    onBeforeSend(() => storeOutcome(duplicateOutcome));
    assert.equal(await retry(approvedOutcome), undefined);
    assert.deepEqual([sent, status()], [[[referenceWithStan(1), true]], 'Succeeded']);
  });

  it('as not done raises an alert when the response contradicts or is missing', async () => {
    for (const outcome of [
      approvedOutcome,
      duplicateOutcome,
      noResponseOutcome,
      declinedOutcome('68'),
      declinedOutcome('09'),
      declinedOutcome('16'),
    ]) {
      const { retry, status, alerts } = await resolvedDuringRetry('Failed');
      assert.equal(await retry(outcome), undefined);
      assert.deepEqual([status(), alerts.length], ['Declined', 1]);
    }
    for (const code of ['05', '96', '91']) {
      const { retry, alerts } = await resolvedDuringRetry('Failed');
      await retry(declinedOutcome(code));
      assert.deepEqual(alerts, [], code);
    }
  });

  it('as done raises no alert when the response agrees or is missing', async () => {
    for (const outcome of [
      approvedOutcome,
      duplicateOutcome,
      noResponseOutcome,
      declinedOutcome('96'),
    ]) {
      const { retry, status, alerts } = await resolvedDuringRetry('Succeeded');
      assert.equal(await retry(outcome), undefined);
      assert.deepEqual([status(), alerts], ['Succeeded', []]);
    }
    const { retry, alerts } = await resolvedDuringRetry('Succeeded');
    await retry(declinedOutcome('05'));
    assert.equal(alerts.length, 1);
  });

  it('raises no alert for a reference collision', async () => {
    const refund = createPendingOperation('Refund');
    await refund.storeOutcome(duplicateOutcome);
    refund.onSend(() => refund.resolve('Failed'));
    await refund.retry(duplicateOutcome);
    // The alert of the collision only.
    assert.equal(refund.alerts.length, 1);
  });

  it('as not done raises an alert after a late approval', async () => {
    const { storeOutcome, resolve, late, alerts, changes } = createPendingOperation('Refund');
    await storeOutcome(noResponseOutcome);
    late('Refund', '00');
    await waitUntil(() => changes() === 2);
    assert.deepEqual(alerts, [], 'the operation is not resolved yet');
    resolve('Failed');
    for (const [kind, code] of [
      ['Refund', '05'],
      ['Capture', '00'],
      ['Refund', '00'],
    ] as const) {
      const before = changes();
      late(kind, code);
      await waitUntil(() => changes() > before);
    }
    assert.equal(alerts.length, 1);
  });
});
