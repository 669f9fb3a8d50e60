// Tests the time while the till's database saves a service and nothing has been sent yet.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { closeCodes } from '@switchyard/contract';
import type { ServiceStore } from '../index.ts';
import { createPosWithTerminal, isPosError, order } from '../testing/pos-with-terminal.fixture.ts';
import { waitUntil } from '../testing/wait-until.fixture.ts';

const statusEveryMs = 5_000;

/** A store over a network; its first write completes when the test allows it. */
async function createSlowPos(t: TestContext) {
  const pos = await createPosWithTerminal(t);
  const { promise: written, resolve: write } = Promise.withResolvers<void>();
  let saved = 0;
  const store: ServiceStore = {
    ...pos.store,
    async save(service) {
      saved += 1;
      if (saved === 1) await written;
      await pos.store.save(service);
    },
  };
  const terminal = pos.createTerminal({ store });
  await terminal.open();
  const untilSaving = () => waitUntil(() => saved === 1, 'the store received the service');
  const breakConnection = async () => {
    pos.connector.sessions.at(-1)?.close(closeCodes.deviceDisconnected, 'device_disconnected');
    await waitUntil(() => pos.errors.length > 0, 'the point of sale noticed the break');
  };
  return { ...pos, terminal, write, isSaving: untilSaving, cut: breakConnection };
}

test('a break while a sale is stored does not end it, and it is sent once', async (t) => {
  const { terminal, fakeTerminal, store, write, isSaving, cut } = await createSlowPos(t);
  const pending = terminal.sale(order);
  await isSaving();
  await cut();
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success', 'the way is back');
  assert.deepEqual(
    fakeTerminal.receivedCategories,
    ['Diagnosis'],
    'no status request for an unsent service',
  );
  write();
  assert.equal((await pending).result, 'Success');
  assert.deepEqual(fakeTerminal.receivedCategories, ['Diagnosis', 'Payment']);
  assert.equal((await store.load())[0]?.outcome, 'Answered');
});

test('a slowly stored sale is not reported as not processed and then sent', async (t) => {
  const { terminal, fakeTerminal, clock, write, isSaving, cut } = await createSlowPos(t);
  const pending = terminal.sale(order);
  const result = pending.then(
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
    [await result, fakeTerminal.services.at(-1)?.header.MessageCategory],
    ['Answered', 'Payment'],
  );
  assert.ok(
    !fakeTerminal.receivedCategories.includes('TransactionStatus'),
    fakeTerminal.receivedCategories.join(),
  );
});

test('a slowly stored sale keeps its full response time', async (t) => {
  const { terminal, fakeTerminal, clock, write, isSaving } = await createSlowPos(t);
  fakeTerminal.holdsAnswers = true;
  const pending = terminal.sale(order);
  await isSaving();
  clock.advance(200_000);
  write();
  await waitUntil(() => fakeTerminal.services.length === 1, 'the sale');
  clock.advance(149_999);
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success');
  assert.deepEqual(
    fakeTerminal.receivedCategories,
    ['Payment', 'Diagnosis'],
    'its answer is still waited for',
  );
  fakeTerminal.send(fakeTerminal.finish());
  assert.equal((await pending).result, 'Success');
});

test('a terminal that disconnects before sending has processed nothing', async (t) => {
  const { terminal, connector, fakeTerminal, store, write, isSaving, cut } = await createSlowPos(t);
  const pending = assert.rejects(
    terminal.sale(order),
    isPosError('Connector', 'device_offline', 'NotProcessed'),
  );
  await isSaving();
  connector.isOnline = false;
  await cut();
  write();
  await pending;
  assert.deepEqual(fakeTerminal.receivedCategories, []);
  assert.equal((await store.load())[0]?.outcome, 'NotProcessed');
});
