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

test('a question that is given up leaves the payment beside it alone', async (t) => {
  const {
    createTerminal: till,
    fakeTerminal: poi,
    connector,
    errors: faults,
  } = await createPosWithTerminal(t);
  poi.holdsAnswers = true;
  const terminal = till();
  await terminal.open();
  const asked = terminal.sale(order);
  await waitUntil(() => poi.services.length === 1, 'the sale');
  const unanswered: (() => void)[] = [];
  connector.terminal = (text, say) => void unanswered.push(() => poi.receive(text, say));
  const MessageReference = {
    ...({ MessageCategory: 'Payment', SaleID: saleId, POIID: poiId } as const),
    ServiceID: poi.services[0]?.header.ServiceID ?? '',
  };
  const stop = new AbortController();
  const questions = [
    terminal.request('Diagnosis', {}, { signal: stop.signal }),
    terminal.request('TransactionStatus', { MessageReference }, { signal: stop.signal }),
  ].map((question) => assert.rejects(question, isAborted));
  await waitUntil(() => unanswered.length === 2, 'both questions');
  stop.abort();
  await Promise.all(questions);
  // These answers arrive after their callers have aborted.
  for (const answer of unanswered) answer();
  connector.terminal = (text, say) => poi.receive(text, say);
  // Messages arrive in order, so all earlier ones have arrived before this one.
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success');
  assert.deepEqual(poi.receivedCategories, [
    'Payment',
    'Diagnosis',
    'TransactionStatus',
    'Diagnosis',
  ]);
  assert.deepEqual(
    faults.map(({ code }) => code),
    ['ignored', 'ignored'],
  );
  poi.send(poi.finish());
  assert.equal((await asked).result, 'Success', 'the payment went on');
});

test('a question with no service beside it is given up at once', async (t) => {
  const { createTerminal: till, connector } = await createPosWithTerminal(t);
  const terminal = till();
  await terminal.open();
  let heard = 0;
  connector.terminal = () => {
    heard += 1;
  };
  const stop = new AbortController();
  const asked = assert.rejects(
    terminal.request('Diagnosis', {}, { signal: stop.signal }),
    isAborted,
  );
  await waitUntil(() => heard === 1, 'the question');
  stop.abort();
  await asked;
});

test('what is cancelled before anything was sent is not sent', async (t) => {
  const { createTerminal: till, fakeTerminal: poi, store } = await createPosWithTerminal(t);
  const stop = new AbortController();
  const slow: ServiceStore = {
    ...store,
    async save(kept) {
      await store.save(kept);
      stop.abort();
    },
  };
  const terminal = till({ store: slow });
  await terminal.open();
  await assert.rejects(terminal.sale(order, { signal: stop.signal }), isAborted);
  const [kept] = await store.load();
  assert.equal(kept?.outcome, 'NotProcessed');
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success');
  assert.deepEqual(poi.receivedCategories, ['Diagnosis'], 'neither the payment nor an abort of it');
});

test('questions that could not be delivered take nobody’s place', async (t) => {
  const { createTerminal: till } = await createPosWithTerminal(t);
  const terminal = till({ transport: { kind: 'local', url: 'http://127.0.0.1:1/nexo' } });
  await terminal.open();
  for (let each = 0; each < 17; each += 1) {
    const asked = terminal.request('Diagnosis', {});
    await assert.rejects(asked, isPosError('Transport', 'unreachable', 'NotProcessed'), `${each}`);
  }
});
