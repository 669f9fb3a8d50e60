// Whole run: many requests at the same time, so that a race shows.
// The result of a cancel that the till received stays valid, even if the provider contradicts it
// later.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { operationsMax } from '../../src/qr/transaction/limits.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { openQr, type TestQr } from './test-qr-merchant.ts';
import { type Json, nameOf, qrBase, type Reply } from './test-qr-provider.ts';

describe('a cancel of a QR payment', () => {
  let qr: TestQr;
  before(async () => {
    qr = await openQr();
  });
  after(() => qr.close());

  const cancel = (id: string) => qr.call('POST', `${qrBase}/${id}/cancel`);
  const completed = (id: string) => qr.tell(id, { type: 'payment.completed', sequence: 1 });
  const refused = { status: 422, body: { code: 'too_busy' } };

  /** The consumer has scanned the code; the test decides the response to a cancel. */
  function scanned(id: string, answer: () => Reply | Promise<Reply>): void {
    qr.provider.script = ({ kind, transactionId }) => {
      if (transactionId !== id) return undefined;
      if (kind === 'cancel') return answer();
      const body = { providerTransactionId: nameOf(id), status: 'Scanned' };
      return kind === 'status' ? { body } : undefined;
    };
  }

  async function looksAt(id: string): Promise<number> {
    const database = await testDatabase();
    const [row] = await database.query<{ looks: number }>(
      'SELECT looks FROM qr_transactions WHERE transaction_id = $1',
      [id],
    );
    return row?.looks ?? 0;
  }

  test('stays pending if it was answered as pending and the provider declines its retry', async () => {
    // The platform pauses calls to a provider that fails too often, so successful payments come
    // first.
    await Promise.all([qr.begun(), qr.begun(), qr.begun(), qr.begun()]);
    const id = await qr.begun();
    let cancelCalls = 0;
    scanned(id, () => {
      cancelCalls += 1;
      return cancelCalls === 1 ? { status: 500, body: {} } : refused;
    });
    const { status, body } = await cancel(id);
    assert.deepEqual([status, body.operation.status], [202, 'Pending']);
    const cancelStatusOf = ({ operations }: Json): string => operations[0].status;
    const isJudged = async () =>
      (await looksAt(id)) >= 2 || cancelStatusOf(await qr.get(id)) !== 'Pending';
    await eventually('the repetition is refused', isJudged);
    assert.equal(cancelStatusOf(await qr.get(id)), 'Pending');
    await completed(id);
    const payment = await qr.becomes(id, (each) => each['refundedAmount'] === 1050, 'the refund');
    assert.deepEqual([payment['status'], payment['paidAmount']], ['Cancelled', 1050]);
  });

  test('does not end the payment if the provider declines it, also for a second cancel in parallel', async () => {
    const id = await qr.begun();
    const reached = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Reply>();
    scanned(id, () => {
      reached.resolve();
      return answer.promise;
    });
    const first = cancel(id);
    await reached.promise;
    const second = cancel(id);
    await qr.get(id);
    answer.resolve(refused);
    for (const { status, body } of await Promise.all([first, second])) {
      assert.deepEqual([status, body.operation.status], [200, 'Declined']);
    }
    await completed(id);
    assert.equal((await qr.get(id))['status'], 'Completed');
  });

  test('is one of two hundred at most, however many its provider declines', async () => {
    const id = await qr.begun();
    scanned(id, () => refused);
    for (let count = 0; count < operationsMax; count += 1) {
      const { body } = await cancel(id);
      assert.equal(body.operation.status, 'Declined', `the cancel with ${count} before it`);
    }
    const { status, body } = await cancel(id);
    assert.deepEqual([status, body.code], [422, 'event_limit_reached']);
    const [allowed] = body.allowedOperations;
    assert.deepEqual([allowed.operation, allowed.allowed], ['Cancel', false]);
    await completed(id);
    assert.equal((await qr.get(id))['status'], 'Completed');
  });
});
