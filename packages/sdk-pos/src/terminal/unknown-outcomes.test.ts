import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { serviceIdKeptMs } from '@switchyard/nexo';
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
async function asked(
  { clock, fakeTerminal: poi }: PosWithTerminal,
  recovering: Promise<RecoveredService>,
): Promise<string> {
  const before = poi.receivedCategories.length;
  await waitUntil(() => poi.receivedCategories.length === before + 1, 'a question');
  clock.advance(5_000);
  const { outcome } = await recovering;
  assert.equal(poi.receivedCategories.length, before + 2, 'asked twice');
  return outcome;
}

test('a payment that its terminal may have forgotten stays unknown, until somebody has looked', async (t) => {
  for (const how of ['Done', 'NotDone'] as const) {
    const on = await createPosWithTerminal(t);
    const { store, clock, createTerminal: till } = on;
    const at = clock.now() - serviceIdKeptMs;
    await store.save({ serviceId, header, at, outcome: 'Unknown' });
    const terminal = till();
    await assert.rejects(
      terminal.setOutcome(serviceId, how),
      isPosError('Invalid', 'not_open', 'NotProcessed'),
    );
    await terminal.open();
    assert.equal(await asked(on, terminal.recover(serviceId)), 'Unknown');
    assert.deepEqual(
      terminal.unknownServices().map((kept) => kept.serviceId),
      [serviceId],
    );
    assert.equal((await store.load())[0]?.outcome, 'Unknown');
    await terminal.setOutcome(serviceId, how);
    assert.deepEqual(terminal.unknownServices(), []);
    const kept = how === 'Done' ? 'Answered' : 'NotProcessed';
    assert.equal((await store.load())[0]?.outcome, kept);
    const isSettled = isPosError('Invalid', 'service_unknown', 'NotProcessed');
    await assert.rejects(terminal.setOutcome(serviceId, how), isSettled, 'once');
    await assert.rejects(terminal.setOutcome('NOBODY', how), isSettled);
  }
});

test('a payment of the last two days that its terminal does not know never reached it', async (t) => {
  const on = await createPosWithTerminal(t);
  const { store, clock, createTerminal: till } = on;
  const at = clock.now() - serviceIdKeptMs + 60_000;
  await store.save({ serviceId, header, at, outcome: 'Unknown' });
  const terminal = till();
  await terminal.open();
  assert.equal(await asked(on, terminal.recover(serviceId)), 'NotProcessed');
});

test('what somebody has settled is not written over by a recovery that knows less', async (t) => {
  const on = await createPosWithTerminal(t);
  const { store, clock, createTerminal: till } = on;
  const at = clock.now() - serviceIdKeptMs;
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
  const first = till({ store: slow });
  await first.open();
  const asking = asked(on, first.recover(serviceId));
  const settling = first.setOutcome(serviceId, 'Done');
  await waitUntil(() => isSaving, 'the save of what the terminal told');
  // Work that does not wait for the settlement is saved by now.
  await setImmediate();
  goOn();
  await settling;
  assert.equal(await asking, 'Unknown');
  assert.deepEqual(first.unknownServices(), []);
  assert.deepEqual(saved, ['Unknown', 'Answered'], 'the settling stands last');
  // A recovery that waits in the queue behind the settlement finds the service settled.
  await store.save({ serviceId, header, at, outcome: 'Unknown' });
  const second = till();
  await second.open();
  const settled = second.setOutcome(serviceId, 'NotDone');
  assert.equal(await asked(on, second.recover(serviceId)), 'NotProcessed');
  await settled;
  assert.deepEqual(second.unknownServices(), []);
  assert.deepEqual(await store.load(), [], 'settled and old, it is kept no longer');
});

test('what cannot be kept is not settled', async (t) => {
  const { store, clock, createTerminal: till } = await createPosWithTerminal(t);
  await store.save({ serviceId, header, at: clock.now(), outcome: 'Unknown' });
  const full = () => {
    throw new Error('the disk is full');
  };
  const terminal = till({ store: { ...store, save: full } });
  await terminal.open();
  const isFull = isPosError('Invalid', 'store_failed', 'NotProcessed');
  await assert.rejects(terminal.setOutcome(serviceId, 'NotDone'), isFull);
  assert.equal(terminal.unknownServices().length, 1);
});
