// Tests the time while the till's database saves a service and nothing has been sent yet.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { closeCodes } from '@switchyard/contract';
import type { ServiceStore } from '../index.ts';
import { createPosWithTerminal, isPosError, order } from '../testing/pos-with-terminal.fixture.ts';
import { waitUntil } from '../testing/wait-until.fixture.ts';

const statusEveryMs = 5_000;

/** A store over a network; its first write completes when the test allows it. */
async function slowScene(t: TestContext) {
  const made = await createPosWithTerminal(t);
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
  const terminal = made.createTerminal({ store });
  await terminal.open();
  const isSaving = () => waitUntil(() => saved === 1, 'the store was asked');
  const cut = async () => {
    made.connector.sessions.at(-1)?.close(closeCodes.deviceDisconnected, 'device_disconnected');
    await waitUntil(() => made.errors.length > 0, 'the till heard of the break');
  };
  return { ...made, terminal, write, isSaving, cut };
}

test('a break while a sale is written down does not end it, and it is sent once', async (t) => {
  const { terminal, fakeTerminal: poi, store, write, isSaving, cut } = await slowScene(t);
  const asked = terminal.sale(order);
  await isSaving();
  await cut();
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success', 'the way is back');
  assert.deepEqual(poi.receivedCategories, ['Diagnosis'], 'nobody asks for what was not sent');
  write();
  assert.equal((await asked).result, 'Success');
  assert.deepEqual(poi.receivedCategories, ['Diagnosis', 'Payment']);
  assert.equal((await store.load())[0]?.outcome, 'Answered');
});

test('a sale that is long written down is not told as never done, and then sent', async (t) => {
  const { terminal, fakeTerminal: poi, clock, write, isSaving, cut } = await slowScene(t);
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
  assert.deepEqual(
    [await told, poi.services.at(-1)?.header.MessageCategory],
    ['Answered', 'Payment'],
  );
  assert.ok(!poi.receivedCategories.includes('TransactionStatus'), poi.receivedCategories.join());
});

test('what is written down longer than an answer takes is sent with all its time', async (t) => {
  const { terminal, fakeTerminal: poi, clock, write, isSaving } = await slowScene(t);
  poi.holdsAnswers = true;
  const asked = terminal.sale(order);
  await isSaving();
  clock.advance(200_000);
  write();
  await waitUntil(() => poi.services.length === 1, 'the sale');
  clock.advance(149_999);
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success');
  assert.deepEqual(
    poi.receivedCategories,
    ['Payment', 'Diagnosis'],
    'its answer is still waited for',
  );
  poi.send(poi.finish());
  assert.equal((await asked).result, 'Success');
});

test('a terminal that is gone once a sale is written down has not processed it', async (t) => {
  const {
    terminal,
    connector,
    fakeTerminal: poi,
    store,
    write,
    isSaving,
    cut,
  } = await slowScene(t);
  const asked = assert.rejects(
    terminal.sale(order),
    isPosError('Connector', 'device_offline', 'NotProcessed'),
  );
  await isSaving();
  connector.isOnline = false;
  await cut();
  write();
  await asked;
  assert.deepEqual(poi.receivedCategories, []);
  assert.equal((await store.load())[0]?.outcome, 'NotProcessed');
});
