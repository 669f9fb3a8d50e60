import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceStore } from '../index.ts';
import {
  createPosWithTerminal,
  isPosError,
  order,
  poiId,
  saleId,
} from '../testing/pos-with-terminal.fixture.ts';
import { waitUntil } from '../testing/wait-until.fixture.ts';

const isAborted = isPosError('Aborted', 'aborted', 'NotProcessed');

test('an aborted parallel request does not affect the payment', async (t) => {
  const {
    createTerminal,
    fakeTerminal,
    connector,
    errors: faults,
  } = await createPosWithTerminal(t);
  fakeTerminal.holdsAnswers = true;
  const terminal = createTerminal();
  await terminal.open();
  const pending = terminal.sale(order);
  await waitUntil(() => fakeTerminal.services.length === 1, 'the sale');
  const unanswered: (() => void)[] = [];
  connector.terminal = (text, say) => void unanswered.push(() => fakeTerminal.receive(text, say));
  const MessageReference = {
    ...({ MessageCategory: 'Payment', SaleID: saleId, POIID: poiId } as const),
    ServiceID: fakeTerminal.services[0]?.header.ServiceID ?? '',
  };
  const stop = new AbortController();
  const requests = [
    terminal.request('Diagnosis', {}, { signal: stop.signal }),
    terminal.request('TransactionStatus', { MessageReference }, { signal: stop.signal }),
  ].map((question) => assert.rejects(question, isAborted));
  await waitUntil(() => unanswered.length === 2, 'both questions');
  stop.abort();
  await Promise.all(requests);
  // These answers arrive after their callers have aborted.
  for (const answer of unanswered) answer();
  connector.terminal = (text, say) => fakeTerminal.receive(text, say);
  // Messages arrive in order, so all earlier ones have arrived before this one.
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success');
  assert.deepEqual(fakeTerminal.receivedCategories, [
    'Payment',
    'Diagnosis',
    'TransactionStatus',
    'Diagnosis',
  ]);
  assert.deepEqual(
    faults.map(({ code }) => code),
    ['ignored', 'ignored'],
  );
  fakeTerminal.send(fakeTerminal.finish());
  assert.equal((await pending).result, 'Success', 'the payment went on');
});

test('an aborted request without a running service ends at once', async (t) => {
  const { createTerminal, connector } = await createPosWithTerminal(t);
  const terminal = createTerminal();
  await terminal.open();
  let heard = 0;
  connector.terminal = () => {
    heard += 1;
  };
  const stop = new AbortController();
  const pending = assert.rejects(
    terminal.request('Diagnosis', {}, { signal: stop.signal }),
    isAborted,
  );
  await waitUntil(() => heard === 1, 'the question');
  stop.abort();
  await pending;
});

test('a service cancelled before sending is not sent', async (t) => {
  const { createTerminal, fakeTerminal, store } = await createPosWithTerminal(t);
  const stop = new AbortController();
  const slow: ServiceStore = {
    ...store,
    async save(kept) {
      await store.save(kept);
      stop.abort();
    },
  };
  const terminal = createTerminal({ store: slow });
  await terminal.open();
  await assert.rejects(terminal.sale(order, { signal: stop.signal }), isAborted);
  const [service] = await store.load();
  assert.equal(service?.outcome, 'NotProcessed');
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success');
  assert.deepEqual(
    fakeTerminal.receivedCategories,
    ['Diagnosis'],
    'neither the payment nor an abort of it',
  );
});

test('undelivered requests do not block later requests', async (t) => {
  const { createTerminal } = await createPosWithTerminal(t);
  const terminal = createTerminal({ transport: { kind: 'local', url: 'http://127.0.0.1:1/nexo' } });
  await terminal.open();
  for (let each = 0; each < 17; each += 1) {
    const pending = terminal.request('Diagnosis', {});
    await assert.rejects(
      pending,
      isPosError('Transport', 'unreachable', 'NotProcessed'),
      `${each}`,
    );
  }
});
