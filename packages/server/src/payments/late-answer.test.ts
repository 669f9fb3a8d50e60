// A sale's approval behind its time: whatever it meets, the sale ends reversed at the host too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approval, oneOperation, settled, silence } from '../../test/one-operation.ts';

test('while the reversal is on its way, it is reversed once more: the host may have had that first', async () => {
  const { answered, repeated, late, onSend, sent, phase, status, changes } =
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
  assert.equal(await repeated(approval), undefined);
  assert.deepEqual([phase(), status(), sent.length], ['Reversed', 'Succeeded', 2]);
});

test('a decline on the way changes nothing', async () => {
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

test('while the database is away, it is kept until that is back', async () => {
  const { answered, late, refuses, alarms, phase } = oneOperation('Reversal');
  await answered(approval);
  assert.equal(phase(), 'Reversed');
  refuses(3);
  late('Sale', '00');
  await settled(() => phase() === 'Reversing' || alarms.length > 0);
  assert.deepEqual(alarms, []);
});
