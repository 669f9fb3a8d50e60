import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  approval,
  declined,
  duplicate,
  numbers,
  oneOperation,
  settled,
  silence,
} from '../../../test/one-operation.ts';

/** A refund without an answer whose repeat is under way while somebody ends it. */
async function endedUnderWay(outcome: 'Succeeded' | 'Failed') {
  const refund = oneOperation('Refund');
  await refund.answered(silence);
  refund.onSend(() => refund.resolve(outcome));
  return refund;
}

describe('an operation that is resolved manually', () => {
  it('is not sent after the resolution', async () => {
    for (const outcome of ['Failed', 'Succeeded'] as const) {
      const { answered, repeated, resolve, onHeld, sent, status } = oneOperation('Refund');
      await answered(silence);
      onHeld(() => resolve(outcome));
      assert.equal(await repeated(approval), undefined);
      assert.deepEqual([sent, status()], [[], outcome === 'Failed' ? 'Declined' : 'Succeeded']);
    }
  });

  it('does not stop the retry of other pending operations', async () => {
    const { answered, repeated, onHeld, sent, status } = oneOperation('Reversal');
    await answered(silence);
    onHeld(() => answered(duplicate));
    assert.equal(await repeated(approval), undefined);
    assert.deepEqual([sent, status()], [[[numbers(1), true]], 'Succeeded']);
  });

  it('as not done raises an alert when the response contradicts or is missing', async () => {
    for (const outcome of [
      approval,
      duplicate,
      silence,
      declined('68'),
      declined('09'),
      declined('16'),
    ]) {
      const { repeated, status, alarms } = await endedUnderWay('Failed');
      assert.equal(await repeated(outcome), undefined);
      assert.deepEqual([status(), alarms.length], ['Declined', 1]);
    }
    for (const code of ['05', '96', '91']) {
      const { repeated, alarms } = await endedUnderWay('Failed');
      await repeated(declined(code));
      assert.deepEqual(alarms, [], code);
    }
  });

  it('as done raises no alert when the response agrees or is missing', async () => {
    for (const outcome of [approval, duplicate, silence, declined('96')]) {
      const { repeated, status, alarms } = await endedUnderWay('Succeeded');
      assert.equal(await repeated(outcome), undefined);
      assert.deepEqual([status(), alarms], ['Succeeded', []]);
    }
    const { repeated, alarms } = await endedUnderWay('Succeeded');
    await repeated(declined('05'));
    assert.equal(alarms.length, 1);
  });

  it('raises no alert for a reference collision', async () => {
    const refund = oneOperation('Refund');
    await refund.answered(duplicate);
    refund.onSend(() => refund.resolve('Failed'));
    await refund.repeated(duplicate);
    // That of the collision alone.
    assert.equal(refund.alarms.length, 1);
  });

  it('as not done raises an alert after a late approval', async () => {
    const { answered, resolve, late, alarms, changes } = oneOperation('Refund');
    await answered(silence);
    late('Refund', '00');
    await settled(() => changes() === 2);
    assert.deepEqual(alarms, [], 'nobody has ended it yet');
    resolve('Failed');
    for (const [kind, code] of [
      ['Refund', '05'],
      ['Capture', '00'],
      ['Refund', '00'],
    ] as const) {
      const before = changes();
      late(kind, code);
      await settled(() => changes() > before);
    }
    assert.equal(alarms.length, 1);
  });
});
