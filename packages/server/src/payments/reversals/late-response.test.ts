// A sale's approval behind its time: whatever it meets, the sale ends reversed at the host too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  approval,
  declined,
  duplicate,
  oneOperation,
  settled,
  silence,
} from '../../../test/one-operation.ts';

test('a late approval during a reversal causes one more reversal', async () => {
  const noSuchSale = declined('25');
  for (const last of [approval, noSuchSale, duplicate]) {
    const { answered, repeated, late, onSend, requests, phase, status, changes } =
      oneOperation('Reversal');
    await answered(silence);
    onSend(async () => {
      const before = changes();
      late('Sale', '00');
      await settled(() => changes() > before);
    });
    assert.notEqual(await repeated(approval), undefined, 'comes again');
    assert.deepEqual([phase(), status()], ['Reversing', 'Pending']);
    onSend(() => {});
    assert.equal(await repeated(last), undefined);
    assert.deepEqual([phase(), status()], ['Reversed', 'Succeeded']);
    const [first, second] = requests;
    assert.notDeepEqual(first?.reference, second?.reference, 'a host would know the old numbers');
    assert.equal(requests.length, 2);
  }
});

test('a reversal is retried when the host has not accepted it and denies the sale', async () => {
  const { answered, repeated, late, phase, changes } = oneOperation('Reversal');
  await answered(silence);
  const before = changes();
  late('Sale', '00');
  await settled(() => changes() > before);
  assert.notEqual(await repeated(declined('25')), undefined);
  assert.equal(phase(), 'Reversing');
});

test('a late decline changes nothing', async () => {
  const { answered, repeated, late, onSend, phase, changes } = oneOperation('Reversal');
  await answered(silence);
  onSend(async () => {
    const before = changes();
    late('Sale', '05');
    await settled(() => changes() > before);
  });
  await repeated(approval);
  assert.equal(phase(), 'Reversed');
});

test('a late response is stored after a database outage', async () => {
  const { answered, late, refuses, alarms, phase } = oneOperation('Reversal');
  await answered(approval);
  assert.equal(phase(), 'Reversed');
  refuses(3);
  late('Sale', '00');
  await settled(() => phase() === 'Reversing' || alarms.length > 0);
  assert.deepEqual(alarms, []);
});
