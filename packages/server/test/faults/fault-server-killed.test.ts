// kill -9 under load: acknowledged sales are stored once, unanswered sales end, batch captures
// continue.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { until } from '../support/wait-for-result.ts';
import { type FaultPlatform, faultPlatform } from './fault-platform.ts';
import { faultSize, seed, tell } from './fault-size.ts';
import { assertNothingLost, base, random, type Sale, settled, till } from './load-during-faults.ts';

/** The specification requires at least thirty. */
const kills = faultSize({ small: 30, full: 90 });
/** Each fail point also ends a server process. */
const failPoints = faultSize({ small: 1, full: 5 });
const batchKills = faultSize({ small: 6, full: 25 });
const batchSales = faultSize({ small: 600, full: 10_000 });
const tills = 12;
const salesBetweenKills = 10;
const sellersOfBatch = 32;
const limitMs = faultSize({ small: 360_000, full: 1_200_000 });

describe('a server that is killed', { concurrency: false }, () => {
  const sales: Sale[] = [];
  const next = random(seed);
  let platform: FaultPlatform;
  let unlikeOthers = 50_000_000;

  before(async () => {
    platform = await faultPlatform({ databaseUrl: await testDatabaseCopyUrl() });
    await platform.server.start();
  });

  after(() => platform.stop());

  const answeredSales = () => sales.filter(({ answered }) => answered?.status === 200).length;

  test(`${kills} times at random instants (seed ${seed})`, { timeout: limitMs }, async () => {
    const { server, host } = platform;
    for (let round = 0; round < kills; round += 1) {
      const { client, token } = await platform.entrance();
      const loops = Array.from({ length: tills }, () =>
        till({ server, client, token, sales, next, fails: true }),
      );
      const enough = answeredSales() + salesBetweenKills;
      await until(() => (answeredSales() >= enough ? true : undefined), 'sales before the kill');
      await new Promise((resolve) => setTimeout(resolve, next() * 100));
      await server.kill();
      await Promise.all(loops);
      await server.start();
    }
    const counts = await assertNothingLost({ ...(await platform.entrance()), sales, host });
    await platform.agree();
    tell(`after ${kills} kills ${JSON.stringify(counts)}`);
  });

  /** Sends a sale that kills its server, and returns the sale after the restart. */
  async function soldInto(failPoint: string, amount: number): Promise<Record<string, unknown>> {
    const { server } = platform;
    await server.stop();
    await server.start({ SWITCHYARD_FAIL_POINT: failPoint });
    const { client, token } = await platform.entrance();
    const captureMode = next() < 0.5 ? 'Immediate' : 'Deferred';
    const body = keyedSale({ amount, captureMode });
    await assert.rejects(client.call('POST', `${base}/process`, { token, body }));
    await server.waitForEnd();
    await server.start();
    const again = await platform.entrance();
    const clientId = String(body['clientTransactionId']);
    const now = await settled(again.client, again.token, { clientId });
    const request = { token: again.token, body };
    const replay: HttpResponse = await again.client.call('POST', `${base}/process`, request);
    assert.equal(replay.status, 200, replay.text);
    assert.deepEqual([replay.body.state, replay.body.terminalAction], ['Reversed', 'Decline']);
    return now;
  }

  for (const failPoint of ['after-intent', 'after-send']) {
    test(`at the fail point ${failPoint}: the sale ends reversed, the host holds nothing`, {
      timeout: limitMs,
    }, async () => {
      for (let round = 0; round < failPoints; round += 1) {
        // A unique amount, by which the test finds the sale at the host.
        unlikeOthers += 10_000;
        const now = await soldInto(failPoint, unlikeOthers);
        assert.deepEqual([now['state'], now['capturedAmount']], ['Reversed', 0]);
        const found = platform.host
          .ledger()
          .originals.filter(({ approved }) => approved === unlikeOthers);
        // Before the send the host has no entry; after it the entry is reversed.
        assert.equal(found.length, failPoint === 'after-intent' ? 0 : 1);
        for (const { held, captured } of found) assert.deepEqual([held, captured], [0, 0]);
      }
      await platform.agree();
    });
  }

  /** The ids of authorised sales that are not captured. */
  async function heldSales(): Promise<Set<string>> {
    const { client, token } = await platform.entrance();
    const held = new Set<string>();
    let left = batchSales;
    let reversed = 0;
    const seller = async () => {
      while (left > 0) {
        left -= 1;
        const body = keyedSale({
          amount: 1000 + Math.floor(next() * 5000),
          captureMode: 'Deferred',
        });
        const sold = await client.call('POST', `${base}/process`, { token, body });
        // On a slow machine the sale may time out and be reversed; then the test sends another one.
        if (sold.body.state === 'Authorized') held.add(sold.body.transactionId);
        else {
          assert.equal(sold.body.state, 'Reversing', sold.text);
          reversed += 1;
          left += 1;
        }
      }
    };
    await Promise.all(Array.from({ length: sellersOfBatch }, seller));
    assert.ok(reversed <= 2 * sellersOfBatch, `${reversed} were reversed`);
    return held;
  }

  test(`${batchKills} times during a capture of ${batchSales}: each is captured once`, {
    timeout: limitMs,
  }, async () => {
    const { server } = platform;
    const held = await heldSales();
    const ask = { clientOperationId: `all-${seed}` };
    let succeeded = 0;
    for (let round = 0; round <= batchKills; round += 1) {
      const { client, token } = await platform.entrance();
      // Two concurrent requests after each restart return the same batch.
      const [one, other] = await Promise.all(
        [1, 2].map(() => client.call('POST', `${base}/captureall`, { token, body: ask })),
      );
      assert.equal(one?.status, 202, one?.text);
      assert.equal(one?.body.batchId, other?.body.batchId);
      const path = `${base}/captureall/${one?.body.batchId}`;
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
        faultSize({ small: 60_000, full: 300_000 }),
      );
      succeeded = now.succeeded;
      if (isLast)
        assert.deepEqual([now.total, now.succeeded, now.failed], [batchSales, batchSales, 0]);
      else {
        await server.kill();
        await server.start();
      }
    }
    const books = (await platform.agree()).filter(({ transactionId }) => held.has(transactionId));
    assert.equal(books.length, batchSales);
    for (const { state, operations, transactionId } of books) {
      const captures = operations.filter(({ status }) => status === 'Succeeded');
      assert.deepEqual([state, captures.length], ['Captured', 1], transactionId);
    }
  });
});
