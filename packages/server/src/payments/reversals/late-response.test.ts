// After a late approval the sale is always reversed at the host as well.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  approvedOutcome,
  createPendingOperation,
  declinedOutcome,
  duplicateOutcome,
  noResponseOutcome,
  waitUntil,
} from '../../../test/payments/operations/pending-operation.ts';

test('a late approval during a reversal causes one more reversal', async () => {
  const noSuchSale = declinedOutcome('25');
  for (const last of [approvedOutcome, noSuchSale, duplicateOutcome]) {
    const { storeOutcome, retry, late, onSend, requests, phase, status, changes } =
      createPendingOperation('Reversal');
    await storeOutcome(noResponseOutcome);
    onSend(async () => {
      const before = changes();
      late('Sale', '00');
      await waitUntil(() => changes() > before);
    });
    assert.notEqual(await retry(approvedOutcome), undefined, 'the reversal is retried');
    assert.deepEqual([phase(), status()], ['Reversing', 'Pending']);
    onSend(() => {});
    assert.equal(await retry(last), undefined);
    assert.deepEqual([phase(), status()], ['Reversed', 'Succeeded']);
    const [first, second] = requests;
    assert.notDeepEqual(
      first?.reference,
      second?.reference,
      'the host already knows the old references',
    );
    assert.equal(requests.length, 2);
  }
});

test('a reversal is retried when the host has not accepted it and denies the sale', async () => {
  const { storeOutcome, retry, late, phase, changes } = createPendingOperation('Reversal');
  await storeOutcome(noResponseOutcome);
  const before = changes();
  late('Sale', '00');
  await waitUntil(() => changes() > before);
  assert.notEqual(await retry(declinedOutcome('25')), undefined);
  assert.equal(phase(), 'Reversing');
});

test('a late decline changes nothing', async () => {
  const { storeOutcome, retry, late, onSend, phase, changes } = createPendingOperation('Reversal');
  await storeOutcome(noResponseOutcome);
  onSend(async () => {
    const before = changes();
    late('Sale', '05');
    await waitUntil(() => changes() > before);
  });
  await retry(approvedOutcome);
  assert.equal(phase(), 'Reversed');
});

test('a late response is stored after a database outage', async () => {
  const { storeOutcome, late, failDatabase, alerts, phase } = createPendingOperation('Reversal');
  await storeOutcome(approvedOutcome);
  assert.equal(phase(), 'Reversed');
  failDatabase(3);
  late('Sale', '00');
  await waitUntil(() => phase() === 'Reversing' || alerts.length > 0);
  assert.deepEqual(alerts, []);
});
