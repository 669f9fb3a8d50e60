import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { serviceIdRetentionMs } from '@switchyard/nexo';
import type { RecoveredService, ServiceStore, StoredService } from '../index.ts';
import { createFakeTerminal } from '../testing/fake-terminal.fixture.ts';
import {
  createPosWithTerminal,
  isPosError,
  order,
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

/** A till that restarts with an open payment after an answered one. */
async function posWithOpenPayment(t: TestContext, openPoiId = poiId) {
  const pos = await createPosWithTerminal(t);
  const before = pos.createTerminal();
  await before.open();
  const answered = await before.sale(order);
  await before.close();
  pos.clock.advance(60_000);
  await pos.store.save({
    serviceId,
    header: { ...header, POIID: openPoiId },
    at: pos.clock.now() - 1,
    outcome: 'Unknown',
  });
  const storedOutcome = async (id: string) =>
    (await pos.store.load()).find((each) => each.serviceId === id)?.outcome;
  return { ...pos, answered, storedOutcome };
}

/** A terminal that was exchanged or reset: it has the same identifier and an empty memory. */
function exchangeTerminal({ connector }: PosWithTerminal) {
  const fakeTerminal = createFakeTerminal(poiId);
  connector.terminal = (text, send) => fakeTerminal.receive(text, send);
  return fakeTerminal;
}

// Spec: NEXO-43
test('a payment that a terminal with an intact memory does not know was not processed', async (t) => {
  const pos = await posWithOpenPayment(t);
  const terminal = pos.createTerminal();
  await terminal.open();
  pos.fakeTerminal.receivedCategories.length = 0;
  const recovering = terminal.recover(serviceId);
  await waitUntil(() => pos.fakeTerminal.receivedCategories.length === 1, 'a question');
  pos.clock.advance(5_000);
  assert.equal((await recovering).outcome, 'NotProcessed');
  assert.equal(pos.fakeTerminal.receivedCategories.length, 3, 'asked for the answered one too');
  assert.equal(await pos.storedOutcome(serviceId), 'NotProcessed');
});

// Spec: NEXO-43
test('an exchanged or reset terminal does not settle a payment', async (t) => {
  const pos = await posWithOpenPayment(t);
  const fakeTerminal = exchangeTerminal(pos);
  const terminal = pos.createTerminal();
  await terminal.open();
  const recovering = terminal.recover(serviceId);
  await waitUntil(() => fakeTerminal.receivedCategories.length === 1, 'a question');
  pos.clock.advance(5_000);
  const { outcome, condition } = await recovering;
  assert.deepEqual([outcome, condition], ['Unknown', 'NotFound']);
  assert.equal(terminal.unknownServices().length, 1);
  assert.equal(await pos.storedOutcome(serviceId), 'Unknown');
});

// Spec: NEXO-43
test('a payment of another terminal stays unknown, and this terminal is not asked', async (t) => {
  const pos = await posWithOpenPayment(t, 'AXIUM_DX8000-10000002');
  const terminal = pos.createTerminal();
  await terminal.open();
  pos.fakeTerminal.receivedCategories.length = 0;
  assert.equal((await terminal.recover(serviceId)).outcome, 'Unknown');
  assert.deepEqual(pos.fakeTerminal.receivedCategories, []);
});

// Spec: NEXO-43
test('an answered payment stays answered when the terminal no longer knows it', async (t) => {
  const pos = await posWithOpenPayment(t);
  const { answered, storedOutcome } = pos;
  const fakeTerminal = exchangeTerminal(pos);
  const terminal = pos.createTerminal();
  await terminal.open();
  const recovering = terminal.recover(answered.serviceId);
  await waitUntil(() => fakeTerminal.receivedCategories.length === 1, 'a question');
  pos.clock.advance(5_000);
  const { outcome, message } = await recovering;
  assert.deepEqual([outcome, message], ['Answered', undefined]);
  assert.equal(await storedOutcome(answered.serviceId), 'Answered');
});

test('an outcome is reported again until the point of sale has stored it', async (t) => {
  const { createTerminal, fakeTerminal, errors } = await createPosWithTerminal(t);
  const reported: RecoveredService[] = [];
  let isFull = true;
  const onOutcome = (result: RecoveredService) => {
    reported.push(result);
    if (isFull) throw new Error('the disk is full');
  };
  const first = createTerminal({ onOutcome });
  await first.open();
  const answer = await first.sale(order);
  assert.equal(answer.result, 'Success', 'the caller has the answer');
  assert.equal(errors.at(-1)?.code, 'store_failed');
  assert.deepEqual(
    first.unknownServices().map((service) => service.serviceId),
    [answer.serviceId],
  );
  await first.recover(answer.serviceId);
  await first.close();
  const second = createTerminal({ onOutcome });
  await second.open();
  await second.close();
  isFull = false;
  const third = createTerminal({ onOutcome });
  await third.open();
  assert.deepEqual(third.unknownServices(), []);
  await third.close();
  assert.deepEqual(await createTerminal({ onOutcome }).open(), [], 'taken, and not reported again');
  assert.deepEqual(
    reported.map(({ service, outcome, message }) => [service.serviceId, outcome, message?.body]),
    Array(4).fill([answer.serviceId, 'Answered', answer.message.body]),
  );
  assert.equal(fakeTerminal.services.length, 1, 'it was paid once');
});

test('the outcome of a sale is marked only after the point of sale has stored it', async (t) => {
  const { createTerminal, store } = await createPosWithTerminal(t);
  const storedOutcomes: unknown[] = [];
  const terminal = createTerminal({
    onOutcome: async () => void storedOutcomes.push((await store.load())[0]?.outcome),
  });
  await terminal.open();
  await terminal.sale(order);
  assert.deepEqual([...storedOutcomes, (await store.load())[0]?.outcome], [undefined, 'Answered']);
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

test('setOutcome reports the outcome with the number of the sale, and saves it only if that succeeded', async (t) => {
  const { store, clock, createTerminal } = await createPosWithTerminal(t);
  const stored = { serviceId, header, at: clock.now(), transactionId: '4711' };
  await store.save({ ...stored, outcome: 'Unknown' });
  const reports: unknown[] = [];
  let isTillDown = true;
  const terminal = createTerminal({
    onOutcome({ service, outcome }) {
      if (isTillDown) throw new Error('the till is down');
      reports.push([service.transactionId, outcome]);
    },
  });
  await terminal.open();
  const failed = isPosError('Invalid', 'store_failed', 'NotProcessed');
  await assert.rejects(terminal.setOutcome(serviceId, 'Done'), failed);
  assert.equal(terminal.unknownServices().length, 1, 'it stays unknown');
  isTillDown = false;
  await terminal.setOutcome(serviceId, 'Done');
  assert.deepEqual(reports, [['4711', 'Answered']]);
  assert.deepEqual(terminal.unknownServices(), []);
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
