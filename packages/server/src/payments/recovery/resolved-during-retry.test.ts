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

describe('an operation that somebody ends', () => {
  it('while it waits for its turn is not sent any more', async () => {
    for (const outcome of ['Failed', 'Succeeded'] as const) {
      const { answered, repeated, resolve, onHeld, sent, status } = oneOperation('Refund');
      await answered(silence);
      onHeld(() => resolve(outcome));
      assert.equal(await repeated(approval), undefined);
      assert.deepEqual([sent, status()], [[], outcome === 'Failed' ? 'Declined' : 'Succeeded']);
    }
  });

  it('only is not sent: what is open still goes out as it stands then', async () => {
    const { answered, repeated, onHeld, sent, status } = oneOperation('Reversal');
    await answered(silence);
    onHeld(() => answered(duplicate));
    assert.equal(await repeated(approval), undefined);
    assert.deepEqual([sent, status()], [[[numbers(1), true]], 'Succeeded']);
  });

  it('as not done, and whose answer says otherwise or never comes, raises an alarm', async () => {
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

  it('as done, and whose answer says so or nothing, raises none', async () => {
    for (const outcome of [approval, duplicate, silence, declined('96')]) {
      const { repeated, status, alarms } = await endedUnderWay('Succeeded');
      assert.equal(await repeated(outcome), undefined);
      assert.deepEqual([status(), alarms], ['Succeeded', []]);
    }
    const { repeated, alarms } = await endedUnderWay('Succeeded');
    await repeated(declined('05'));
    assert.equal(alarms.length, 1);
  });

  it('raises none by numbers that the host has had from something else', async () => {
    const refund = oneOperation('Refund');
    await refund.answered(duplicate);
    refund.onSend(() => refund.resolve('Failed'));
    await refund.repeated(duplicate);
    // That of the collision alone.
    assert.equal(refund.alarms.length, 1);
  });

  it('as not done raises an alarm by an approval that comes late', async () => {
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
