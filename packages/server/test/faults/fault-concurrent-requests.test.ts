// Concurrent requests: the same sale from fifty tills, and captures, cancels and refunds on one
// sale.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { assertAgreement } from '../payments/ledger/ledger-invariants.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { printResult, seed, sizeOfRun } from './fault-size.ts';
import { createRandom } from './load-during-faults.ts';

const base = '/payment/v1/transactions';
const twins = 50;
const rounds = sizeOfRun({ small: 3, full: 60 });
const racers = 60;
/** These amounts include slow responses, lost responses and declines. */
const amounts = [100, 700, 2500, 6000, 9051, 9091, 9098];
const verbs = ['capture', 'capture', 'cancel', 'refund', 'refund', 'refundbyweb'] as const;

const sendRequest = (setup: TestOrganization, path: string, body: unknown): Promise<HttpResponse> =>
  setup.client.call('POST', base + path, { token: setup.merchant.token, body });

/** The number of sales of this merchant that the host received. */
const atHost = (setup: TestOrganization): number =>
  setup.host.ledger().originals.filter(({ merchant }) => merchant === setup.merchant.merchantNumber)
    .length;

const limits = /^(?:(?:capture|refund|cancel)_amount_exceeded|nothing_to_capture|not_captured)$/;
const states =
  /^(?:already_(?:captured|cancelled|refunded)|transaction_in_progress|client_id_reused)$/;

describe(`concurrent requests (seed ${seed})`, { concurrency: false }, () => {
  test(`${twins} equal sale requests are one sale, and a different body with its identifier is refused`, {
    timeout: 300_000,
  }, async () => {
    const setup = await createTestOrganization();
    const next = createRandom(seed);
    for (let round = 0; round < rounds; round += 1) {
      const amount = [1234, 9098, 9051, 9010][Math.floor(next() * 4)] ?? 1234;
      const sale = keyedSale({ amount, captureMode: next() < 0.5 ? 'Immediate' : 'Deferred' });
      const before = atHost(setup);
      const answers = await Promise.all(
        Array.from({ length: twins }, () => sendRequest(setup, '/process', sale)),
      );
      for (const { status, body } of answers) {
        assert.equal(status, 200);
        assert.equal(body.transactionId, answers[0]?.body.transactionId);
        assert.equal(body.answeredState, answers[0]?.body.answeredState);
      }
      const firstResponses = answers.filter(
        ({ headers }) => headers['idempotent-replayed'] === undefined,
      );
      assert.equal(firstResponses.length, 1);
      assert.equal(atHost(setup) - before, 1);
      const other = await sendRequest(setup, '/process', { ...sale, amount: amount + 1 });
      assert.deepEqual([other.status, other.body.code], [422, 'client_id_reused']);
    }
    assert.equal((await assertAgreement(setup)).length, rounds);
  });

  test(`${twins} equal operation requests are one operation, for every response of the host`, {
    timeout: 300_000,
  }, async () => {
    const setup = await createTestOrganization();
    const next = createRandom(seed);
    const pick = <Item>(from: readonly Item[]) => from[Math.floor(next() * from.length)] as Item;
    const shared = async (verb: (typeof verbs)[number], amount: number) => {
      const captureMode = verb === 'capture' || verb === 'cancel' ? 'Deferred' : 'Immediate';
      const sold = await sendRequest(setup, '/process', keyedSale({ amount: 10_000, captureMode }));
      const members = { amount, clientOperationId: randomUUID() };
      const body = verb === 'cancel' ? { ...members, cancelReason: 'Functional' } : members;
      const path = `/${sold.body.transactionId}/${verb}`;
      const answers = await Promise.all(
        Array.from({ length: twins }, () => sendRequest(setup, path, body)),
      );
      for (const { status, body: replayedBody, text } of answers) {
        assert.equal(status, answers[0]?.status, text);
        assert.ok(replayedBody.operation, text);
        assert.deepEqual(replayedBody.operation, answers[0]?.body.operation);
      }
      const firstResponses = answers.filter(
        ({ headers }) => headers['idempotent-replayed'] === undefined,
      );
      assert.equal(firstResponses.length, 1);
    };
    for (let round = 0; round < rounds; round += 1) {
      // The whole amount, a slow response, and a decline.
      await shared(pick(verbs), pick([10_000, 9098, 9051]));
    }
    for (const { operations } of await assertAgreement(setup)) assert.equal(operations.length, 1);
  });

  // Spec: INV-23
  test(`${racers} concurrent operations of one sale are done once each, within the limits`, {
    timeout: 600_000,
  }, async () => {
    const setup = await createTestOrganization();
    const next = createRandom(seed);
    const pick = <Item>(from: readonly Item[]) => from[Math.floor(next() * from.length)] as Item;
    const resultCounts: Record<string, number> = {};
    const race = async () => {
      const captureMode = next() < 0.6 ? 'Deferred' : 'Immediate';
      const sold = await sendRequest(setup, '/process', keyedSale({ amount: 10_000, captureMode }));
      assert.equal(sold.status, 200, sold.text);
      const entries = Array.from({ length: racers / 2 }, () => {
        const verb = pick(verbs);
        const members = {
          amount: pick(amounts),
          clientOperationId: randomUUID(),
          ...(verb === 'cancel' ? { cancelReason: 'Functional' } : {}),
        };
        return [verb, members] as const;
      });
      // Sends each operation twice with the same identifier.
      const answers = await Promise.all(
        [...entries, ...entries].map(([verb, members]) =>
          sendRequest(setup, `/${sold.body.transactionId}/${verb}`, members),
        ),
      );
      const done = new Map<string, string>();
      for (const { status, body, text } of answers) {
        const outcome = String(body.code ?? body.operation?.status);
        resultCounts[outcome] = (resultCounts[outcome] ?? 0) + 1;
        if (status < 300) {
          const { clientOperationId, operationId } = body.operation;
          assert.ok(clientOperationId, text);
          assert.equal(done.get(clientOperationId) ?? operationId, operationId, text);
          done.set(clientOperationId, operationId);
        } else {
          assert.match(outcome, new RegExp(`${limits.source}|${states.source}`), text);
        }
      }
      // A duplicate may be refused for its amount before its twin succeeds; a later replay returns
      // the result of the twin.
      for (const [verb, members] of entries) {
        const operationId = done.get(members.clientOperationId);
        if (operationId === undefined) continue;
        const again = await sendRequest(setup, `/${sold.body.transactionId}/${verb}`, members);
        assert.equal(again.status < 300, true, again.text);
        assert.equal(again.body.operation?.operationId, operationId, again.text);
      }
    };
    await Promise.all(Array.from({ length: rounds }, race));
    const books = await assertAgreement(setup);
    for (const { operations } of books) {
      const ids = operations.map(({ operationId }) => operationId);
      assert.equal(new Set(ids).size, ids.length);
    }
    printResult(`${rounds} races: ${JSON.stringify(resultCounts)}`);
  });
});
