// kill -9 under load: acknowledged sales are stored once, unanswered sales end, batch captures
// continue.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { until } from '../support/wait-for-result.ts';
import { type FaultPlatform, startFaultPlatform } from './fault-platform.ts';
import { printResult, seed, sizeOfRun } from './fault-size.ts';
import {
  assertNothingLost,
  createRandom,
  type Sale,
  sellUntilStopped,
  transactionsPath,
  waitUntilSettled,
} from './load-during-faults.ts';

/** The specification requires at least thirty; every change that lands is tested with them. */
const kills = sizeOfRun({ small: 3, whole: 30, full: 90 });
/** Each fail point also ends a server process. */
const failPoints = sizeOfRun({ small: 1, full: 5 });
const batchKills = sizeOfRun({ small: 1, whole: 6, full: 25 });
const batchSales = sizeOfRun({ small: 200, whole: 600, full: 10_000 });
const tills = 12;
const salesBetweenKills = 10;
const sellersOfBatch = 32;
const limitMs = sizeOfRun({ small: 360_000, full: 1_200_000 });

// Spec: INV-5
describe('kills of the server', { concurrency: false }, () => {
  const sales: Sale[] = [];
  const next = createRandom(seed);
  let platform: FaultPlatform;
  let unlikeOthers = 50_000_000;

  before(async () => {
    platform = await startFaultPlatform({ databaseUrl: await testDatabaseCopyUrl() });
    await platform.server.start();
  });

  after(() => platform.stop());

  const answeredSales = () => sales.filter(({ response }) => response?.status === 200).length;

  // Spec: INV-12
  test(`sales are settled after ${kills} kills at random instants (seed ${seed})`, {
    timeout: limitMs,
  }, async () => {
    const { server, host } = platform;
    for (let round = 0; round < kills; round += 1) {
      const { client, token } = await platform.openClient();
      const loops = Array.from({ length: tills }, () =>
        sellUntilStopped({ server, client, token, sales, next, sendsUnanswered: true }),
      );
      const enough = answeredSales() + salesBetweenKills;
      await until(() => (answeredSales() >= enough ? true : undefined), 'sales before the kill');
      await new Promise((resolve) => setTimeout(resolve, next() * 100));
      await server.kill();
      await Promise.all(loops);
      await server.start();
    }
    const counts = await assertNothingLost({ ...(await platform.openClient()), sales, host });
    await platform.assertLedgersAgree();
    printResult(`after ${kills} kills ${JSON.stringify(counts)}`);
  });

  /** Sends a sale that kills its server, and returns the sale after the restart. */
  async function soldInto(failPoint: string, amount: number): Promise<Record<string, unknown>> {
    const { server } = platform;
    await server.stop();
    await server.start({ SWITCHYARD_FAIL_POINT: failPoint });
    const { client, token } = await platform.openClient();
    const captureMode = next() < 0.5 ? 'Immediate' : 'Deferred';
    const body = keyedSale({ amount, captureMode });
    await assert.rejects(client.call('POST', `${transactionsPath}/process`, { token, body }));
    await server.waitForEnd();
    await server.start();
    const again = await platform.openClient();
    const clientId = String(body['clientTransactionId']);
    const now = await waitUntilSettled(again.client, again.token, { clientId });
    const request = { token: again.token, body };
    const replay: HttpResponse = await again.client.call(
      'POST',
      `${transactionsPath}/process`,
      request,
    );
    assert.equal(replay.status, 200, replay.text);
    assert.deepEqual([replay.body.state, replay.body.terminalAction], ['Reversed', 'Decline']);
    return now;
  }

  for (const failPoint of ['after-intent', 'after-send']) {
    // Spec: INV-13
    test(`after a kill at the fail point ${failPoint} the sale is reversed, and the host holds no money`, {
      timeout: limitMs,
    }, async () => {
      for (let round = 0; round < failPoints; round += 1) {
        // A unique amount, by which the test finds the sale at the host.
        unlikeOthers += 10_000;
        const now = await soldInto(failPoint, unlikeOthers);
        assert.deepEqual([now['state'], now['capturedAmount']], ['Reversed', 0]);
        const originals = platform.host
          .ledger()
          .originals.filter(({ approved }) => approved === unlikeOthers);
        // Before the send the host has no entry; after it the entry is reversed.
        assert.equal(originals.length, failPoint === 'after-intent' ? 0 : 1);
        for (const { held: heldSalesList, captured } of originals)
          assert.deepEqual([heldSalesList, captured], [0, 0]);
      }
      await platform.assertLedgersAgree();
    });
  }

  /** The ids of authorised sales that are not captured. */
  async function createHeldSales(): Promise<Set<string>> {
    const { client, token } = await platform.openClient();
    const heldIds = new Set<string>();
    let salesLeft = batchSales;
    let reversed = 0;
    const seller = async () => {
      while (salesLeft > 0) {
        salesLeft -= 1;
        const body = keyedSale({
          amount: 1000 + Math.floor(next() * 5000),
          captureMode: 'Deferred',
        });
        const sold = await client.call('POST', `${transactionsPath}/process`, { token, body });
        // On a slow machine the sale may time out and be reversed; then the test sends another one.
        if (sold.body.state === 'Authorized') heldIds.add(sold.body.transactionId);
        else {
          assert.equal(sold.body.state, 'Reversing', sold.text);
          reversed += 1;
          salesLeft += 1;
        }
      }
    };
    await Promise.all(Array.from({ length: sellersOfBatch }, seller));
    assert.ok(reversed <= 2 * sellersOfBatch, `${reversed} were reversed`);
    return heldIds;
  }

  // Spec: INV-14
  test(`${batchKills} kills during a capture of ${batchSales}: each sale is captured once`, {
    timeout: limitMs,
  }, async () => {
    const { server } = platform;
    const heldSalesList = await createHeldSales();
    const captureAllBody = { clientOperationId: `all-${seed}` };
    let succeeded = 0;
    for (let round = 0; round <= batchKills; round += 1) {
      const { client, token } = await platform.openClient();
      // Two concurrent requests after each restart return the same batch.
      const [one, other] = await Promise.all(
        [1, 2].map(() =>
          client.call('POST', `${transactionsPath}/captureall`, { token, body: captureAllBody }),
        ),
      );
      assert.equal(one?.status, 202, one?.text);
      assert.equal(one?.body.batchId, other?.body.batchId);
      const path = `${transactionsPath}/captureall/${one?.body.batchId}`;
      const isLast = round === batchKills;
      const more = Math.ceil((next() * batchSales) / batchKills / 2);
      const goal = Math.min(batchSales, succeeded + more);
      const now = await until(
        async () => {
          const { body } = await client.call('GET', path, { token });
          const reached = isLast ? body.state === 'Completed' : body.succeeded >= goal;
          return reached ? body : undefined;
        },
        `the batch to reach ${goal}`,
        sizeOfRun({ small: 60_000, full: 300_000 }),
      );
      succeeded = now.succeeded;
      if (isLast)
        assert.deepEqual([now.total, now.succeeded, now.failed], [batchSales, batchSales, 0]);
      else {
        await server.kill();
        await server.start();
      }
    }
    const books = (await platform.assertLedgersAgree()).filter(({ transactionId }) =>
      heldSalesList.has(transactionId),
    );
    assert.equal(books.length, batchSales);
    for (const { state, operations, transactionId } of books) {
      const captures = operations.filter(({ status }) => status === 'Succeeded');
      assert.deepEqual([state, captures.length], ['Captured', 1], transactionId);
    }
  });
});
