// Tests the time while the till's database saves a service and nothing has been sent yet.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { closeCodes } from '@switchyard/contract';
import type { ServiceStore } from '../index.ts';
import { isFault, order, scene } from '../testing/pos-with-terminal.fixture.ts';
import { eventually } from '../testing/wait-until.fixture.ts';

const statusEveryMs = 5_000;

/** A store over a network; its first write completes when the test allows it. */
async function slowScene(t: TestContext) {
  const made = await scene(t);
  const { promise: written, resolve: write } = Promise.withResolvers<void>();
  let saved = 0;
  const store: ServiceStore = {
    ...made.store,
    async save(kept) {
      saved += 1;
      if (saved === 1) await written;
      await made.store.save(kept);
    },
  };
  const terminal = made.till({ store });
  await terminal.open();
  const isSaving = () => eventually(() => saved === 1, 'the store was asked');
  const cut = async () => {
    made.connector.sessions.at(-1)?.close(closeCodes.deviceDisconnected, 'device_disconnected');
    await eventually(() => made.faults.length > 0, 'the till heard of the break');
  };
  return { ...made, terminal, write, isSaving, cut };
}

test('a break while a sale is written down does not end it, and it is sent once', async (t) => {
  const { terminal, poi, store, write, isSaving, cut } = await slowScene(t);
  const asked = terminal.sale(order);
  await isSaving();
  await cut();
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success', 'the way is back');
  assert.deepEqual(poi.heard, ['Diagnosis'], 'nobody asks for what was not sent');
  write();
  assert.equal((await asked).result, 'Success');
  assert.deepEqual(poi.heard, ['Diagnosis', 'Payment']);
  assert.equal((await store.load())[0]?.outcome, 'Answered');
});

test('a sale that is long written down is not told as never done, and then sent', async (t) => {
  const { terminal, poi, clock, write, isSaving, cut } = await slowScene(t);
  const asked = terminal.sale(order);
  const told = asked.then(
    () => 'Answered',
    () => 'Fault',
  );
  await isSaving();
  await cut();
  // Enough time for two answers that the terminal does not know the service.
  for (let turn = 0; turn < 4; turn += 1) {
    await terminal.request('Diagnosis', {});
    clock.advance(statusEveryMs);
  }
  await terminal.request('Diagnosis', {});
  write();
  assert.deepEqual([await told, poi.ran.at(-1)?.header.MessageCategory], ['Answered', 'Payment']);
  assert.ok(!poi.heard.includes('TransactionStatus'), poi.heard.join());
});

test('what is written down longer than an answer takes is sent with all its time', async (t) => {
  const { terminal, poi, clock, write, isSaving } = await slowScene(t);
  poi.holds = true;
  const asked = terminal.sale(order);
  await isSaving();
  clock.advance(200_000);
  write();
  await eventually(() => poi.ran.length === 1, 'the sale');
  clock.advance(149_999);
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success');
  assert.deepEqual(poi.heard, ['Payment', 'Diagnosis'], 'its answer is still waited for');
  poi.say(poi.finish());
  assert.equal((await asked).result, 'Success');
});

test('a terminal that is gone once a sale is written down has not processed it', async (t) => {
  const { terminal, connector, poi, store, write, isSaving, cut } = await slowScene(t);
  const asked = assert.rejects(
    terminal.sale(order),
    isFault('Relay', 'device_offline', 'NotProcessed'),
  );
  await isSaving();
  connector.isOnline = false;
  await cut();
  write();
  await asked;
  assert.deepEqual(poi.heard, []);
  assert.equal((await store.load())[0]?.outcome, 'NotProcessed');
});
