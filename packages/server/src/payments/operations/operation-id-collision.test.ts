import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  approval,
  duplicate,
  numbers,
  oneOperation,
  silence,
} from '../../../test/one-operation.ts';

describe('references that the host reports as duplicates', () => {
  it('prove nothing on the first message: the operation stays pending with an alert', async () => {
    const { alarms, jobs, answered, repeated, status, refunded } = oneOperation('Refund');
    await answered(duplicate);
    assert.deepEqual([status(), jobs.length, alarms.length], ['Pending', 1, 1]);
    for (const attempts of [0, 1, 2]) {
      assert.ok(await repeated(duplicate, attempts), 'is asked again');
      assert.deepEqual([status(), refunded()], ['Pending', 0]);
    }
    // Nor after a silence: the numbers are the other message's all the same.
    await repeated(silence, 3);
    await repeated(duplicate, 5);
    assert.deepEqual([status(), alarms.length], ['Pending', 2]);
    assert.equal(await repeated(approval, 6), undefined);
    assert.deepEqual([status(), refunded()], ['Succeeded', 60]);
  });

  it('are ours where the first message was left without an answer', async () => {
    const { answered, repeated, status, refunded, alarms } = oneOperation('Refund');
    await answered(silence);
    assert.equal(status(), 'Pending');
    assert.equal(await repeated(duplicate), undefined);
    assert.deepEqual([status(), refunded(), alarms], ['Succeeded', 60, []]);
  });

  it('are recorded when the retry job exists already', async () => {
    const { answered, repeated, status, jobs } = oneOperation('Refund');
    await answered(silence);
    await answered(duplicate);
    await repeated(duplicate);
    assert.deepEqual([status(), jobs.length], ['Pending', 1]);
  });
});

describe('reversal references that the host reports as duplicates', () => {
  it('prove nothing on the first message: the reversal uses new references', async () => {
    const { alarms, jobs, sent, answered, repeated, status, phase } = oneOperation('Reversal');
    await answered(duplicate);
    assert.deepEqual([status(), phase(), jobs.length], ['Pending', 'Reversing', 1]);
    assert.equal(alarms.length, 1);
    assert.ok(await repeated(duplicate, 0), 'is sent again');
    await repeated(silence, 1);
    await repeated(duplicate, 2);
    assert.deepEqual([status(), jobs.length, alarms.length], ['Pending', 1, 1]);
    assert.equal(await repeated(approval, 3), undefined);
    assert.deepEqual([status(), phase()], ['Succeeded', 'Reversed']);
    assert.deepEqual(sent, [
      [numbers(1), true],
      [numbers(2), true],
      [numbers(2), true],
      [numbers(3), true],
    ]);
  });

  it('are renewed up to a limit and the reversal stays pending', async () => {
    const { sent, answered, repeated, status, changes } = oneOperation('Reversal');
    await answered(duplicate);
    for (const attempts of Array(10).keys()) await repeated(duplicate, attempts);
    assert.equal(status(), 'Pending');
    assert.deepEqual(sent.slice(-3), Array(3).fill([numbers(6), true]));
    assert.equal(changes(), 6);
  });

  it('are ours where the first message was left without an answer', async () => {
    const { answered, repeated, status, phase, alarms } = oneOperation('Reversal');
    await answered(silence);
    assert.equal(await repeated(duplicate), undefined);
    assert.deepEqual([status(), phase(), alarms], ['Succeeded', 'Reversed', []]);
  });
});
