import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  approvedOutcome,
  createPendingOperation,
  duplicateOutcome,
  noResponseOutcome,
  referenceWithStan,
} from '../../../test/payments/operations/pending-operation.ts';

// Spec: CARD-57
describe('references that the host reports as duplicates', () => {
  // Spec: ACQ-10
  it('prove nothing on the first message: the operation stays pending with an alert', async () => {
    const { alerts, jobs, storeOutcome, retry, status, refunded } =
      createPendingOperation('Refund');
    await storeOutcome(duplicateOutcome);
    assert.deepEqual([status(), jobs.length, alerts.length], ['Pending', 1, 1]);
    for (const attempts of [0, 1, 2]) {
      assert.ok(await retry(duplicateOutcome, attempts), 'the operation is retried');
      assert.deepEqual([status(), refunded()], ['Pending', 0]);
    }
    // Nor after a missing response: the references still belong to the other message.
    await retry(noResponseOutcome, 3);
    await retry(duplicateOutcome, 5);
    assert.deepEqual([status(), alerts.length], ['Pending', 2]);
    assert.equal(await retry(approvedOutcome, 6), undefined);
    assert.deepEqual([status(), refunded()], ['Succeeded', 60]);
  });

  it('are ours where the first message was left without an answer', async () => {
    const { storeOutcome, retry, status, refunded, alerts } = createPendingOperation('Refund');
    await storeOutcome(noResponseOutcome);
    assert.equal(status(), 'Pending');
    assert.equal(await retry(duplicateOutcome), undefined);
    assert.deepEqual([status(), refunded(), alerts], ['Succeeded', 60, []]);
  });

  it('are recorded when the retry job exists already', async () => {
    const { storeOutcome, retry, status, jobs } = createPendingOperation('Refund');
    await storeOutcome(noResponseOutcome);
    await storeOutcome(duplicateOutcome);
    await retry(duplicateOutcome);
    assert.deepEqual([status(), jobs.length], ['Pending', 1]);
  });
});

describe('reversal references that the host reports as duplicates', () => {
  it('prove nothing on the first message: the reversal uses new references', async () => {
    const { alerts, jobs, sent, storeOutcome, retry, status, phase } =
      createPendingOperation('Reversal');
    await storeOutcome(duplicateOutcome);
    assert.deepEqual([status(), phase(), jobs.length], ['Pending', 'Reversing', 1]);
    assert.equal(alerts.length, 1);
    assert.ok(await retry(duplicateOutcome, 0), 'is sent again');
    await retry(noResponseOutcome, 1);
    await retry(duplicateOutcome, 2);
    assert.deepEqual([status(), jobs.length, alerts.length], ['Pending', 1, 1]);
    assert.equal(await retry(approvedOutcome, 3), undefined);
    assert.deepEqual([status(), phase()], ['Succeeded', 'Reversed']);
    assert.deepEqual(sent, [
      [referenceWithStan(1), true],
      [referenceWithStan(2), true],
      [referenceWithStan(2), true],
      [referenceWithStan(3), true],
    ]);
  });

  it('do not finish a reversal whose first message was not sent', async () => {
    const { storeOutcome, retry, sent, status } = createPendingOperation('Reversal');
    await storeOutcome({ outcome: 'NotSent', reason: 'link down' });
    await retry(duplicateOutcome);
    assert.deepEqual(sent, [[referenceWithStan(0), false]]);
    assert.equal(status(), 'Pending');
  });

  it('are renewed up to a limit and the reversal stays pending', async () => {
    const { sent, storeOutcome, retry, status, changes } = createPendingOperation('Reversal');
    await storeOutcome(duplicateOutcome);
    for (const attempts of Array(10).keys()) await retry(duplicateOutcome, attempts);
    assert.equal(status(), 'Pending');
    assert.deepEqual(sent.slice(-3), Array(3).fill([referenceWithStan(6), true]));
    assert.equal(changes(), 6);
  });

  it('are ours where the first message was left without an answer', async () => {
    const { storeOutcome, retry, status, phase, alerts } = createPendingOperation('Reversal');
    await storeOutcome(noResponseOutcome);
    assert.equal(await retry(duplicateOutcome), undefined);
    assert.deepEqual([status(), phase(), alerts], ['Succeeded', 'Reversed', []]);
  });
});
