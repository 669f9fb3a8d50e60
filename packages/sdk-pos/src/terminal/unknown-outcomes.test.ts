import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { serviceIdRetentionMs } from '@switchyard/nexo';
import type { RecoveredService, ServiceStore, StoredService } from '../index.ts';
import {
  createPosWithTerminal,
  isPosError,
  type PosWithTerminal,
  poiId,
  saleId,
} from '../testing/pos-with-terminal.fixture.ts';
import { waitUntil } from '../testing/wait-until.fixture.ts';

const header: StoredService['header'] = {
  ...({ MessageClass: 'Service', MessageCategory: 'Payment', MessageType: 'Request' } as const),
  SaleID: saleId,
  ServiceID: '0OLD000001',
  POIID: poiId,
};
const serviceId = '0OLD000001';

/** Returns the outcome of a recovery at a terminal that does not know the service. */
async function recoverFromTerminal(
  { clock, fakeTerminal }: PosWithTerminal,
  recovering: Promise<RecoveredService>,
): Promise<string> {
  const before = fakeTerminal.receivedCategories.length;
  await waitUntil(() => fakeTerminal.receivedCategories.length === before + 1, 'a question');
  clock.advance(5_000);
  const { outcome } = await recovering;
  assert.equal(fakeTerminal.receivedCategories.length, before + 2, 'two status requests');
  return outcome;
}

// Spec: NEXO-43
test('a payment that the terminal has forgotten after 48 hours stays unknown until the operator sets its outcome', async (t) => {
  for (const operatorOutcome of ['Done', 'NotDone'] as const) {
    const pos = await createPosWithTerminal(t);
    const { store, clock, createTerminal } = pos;
    const at = clock.now() - serviceIdRetentionMs;
    await store.save({ serviceId, header, at, outcome: 'Unknown' });
    const terminal = createTerminal();
    await assert.rejects(
      terminal.setOutcome(serviceId, operatorOutcome),
      isPosError('Invalid', 'not_open', 'NotProcessed'),
    );
    await terminal.open();
    assert.equal(await recoverFromTerminal(pos, terminal.recover(serviceId)), 'Unknown');
    assert.deepEqual(
      terminal.unknownServices().map((expectedOutcome) => expectedOutcome.serviceId),
      [serviceId],
    );
    assert.equal((await store.load())[0]?.outcome, 'Unknown');
    await terminal.setOutcome(serviceId, operatorOutcome);
    assert.deepEqual(terminal.unknownServices(), []);
    const expectedOutcome = operatorOutcome === 'Done' ? 'Answered' : 'NotProcessed';
    assert.equal((await store.load())[0]?.outcome, expectedOutcome);
    const isSettled = isPosError('Invalid', 'service_unknown', 'NotProcessed');
    await assert.rejects(terminal.setOutcome(serviceId, operatorOutcome), isSettled, 'once');
    await assert.rejects(terminal.setOutcome('NOBODY', operatorOutcome), isSettled);
  }
});

test('a payment of the last two days that the terminal does not know was not processed', async (t) => {
  const pos = await createPosWithTerminal(t);
  const { store, clock, createTerminal } = pos;
  const at = clock.now() - serviceIdRetentionMs + 60_000;
  await store.save({ serviceId, header, at, outcome: 'Unknown' });
  const terminal = createTerminal();
  await terminal.open();
  assert.equal(await recoverFromTerminal(pos, terminal.recover(serviceId)), 'NotProcessed');
});

// Spec: NEXO-43
test('a recovery does not overwrite an outcome that the operator set', async (t) => {
  const pos = await createPosWithTerminal(t);
  const { store, clock, createTerminal } = pos;
  const at = clock.now() - serviceIdRetentionMs;
  await store.save({ serviceId, header, at, outcome: 'Unknown' });
  const saved: unknown[] = [];
  let isSaving = false;
  let goOn: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const slow: ServiceStore = {
    ...store,
    async save(kept) {
      if (kept.outcome === 'Unknown') {
        isSaving = true;
        await held;
      }
      await store.save(kept);
      saved.push(kept.outcome);
    },
  };
  const first = createTerminal({ store: slow });
  await first.open();
  const asking = recoverFromTerminal(pos, first.recover(serviceId));
  const settling = first.setOutcome(serviceId, 'Done');
  await waitUntil(() => isSaving, 'the save of the new outcome');
  // Work that does not wait for the settlement is saved by now.
  await setImmediate();
  goOn();
  await settling;
  assert.equal(await asking, 'Unknown');
  assert.deepEqual(first.unknownServices(), []);
  assert.deepEqual(saved, ['Unknown', 'Answered'], 'the operator outcome is saved last');
  // A recovery that waits in the queue behind the settlement finds the service settled.
  await store.save({ serviceId, header, at, outcome: 'Unknown' });
  const second = createTerminal();
  await second.open();
  const settled = second.setOutcome(serviceId, 'NotDone');
  assert.equal(await recoverFromTerminal(pos, second.recover(serviceId)), 'NotProcessed');
  await settled;
  assert.deepEqual(second.unknownServices(), []);
  assert.deepEqual(await store.load(), [], 'settled and old, it is kept no longer');
});

test('setOutcome throws if the store fails', async (t) => {
  const { store, clock, createTerminal } = await createPosWithTerminal(t);
  await store.save({ serviceId, header, at: clock.now(), outcome: 'Unknown' });
  const full = () => {
    throw new Error('the disk is full');
  };
  const terminal = createTerminal({ store: { ...store, save: full } });
  await terminal.open();
  const isFull = isPosError('Invalid', 'store_failed', 'NotProcessed');
  await assert.rejects(terminal.setOutcome(serviceId, 'NotDone'), isFull);
  assert.equal(terminal.unknownServices().length, 1);
});
