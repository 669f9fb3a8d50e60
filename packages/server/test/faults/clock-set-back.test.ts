// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// A server whose clock is set back by an hour: due times do not wait for the clock.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { until } from '../support/wait-for-result.ts';
import { type FaultPlatform, startFaultPlatform } from './fault-platform.ts';
import { transactionsPath } from './load-during-faults.ts';

const hourMs = 3_600_000;
/** Far less than an hour, and enough for a slow machine. */
const limitMs = 60_000;
const preload = fileURLToPath(
  new URL('../support/processes/stepped-clock-preload.ts', import.meta.url),
);
/**
 * The acquirer simulator does not answer this amount, and loses the first reversals of this card.
 */
const unanswered = {
  amount: 9091,
  instrument: { card: { number: '4000000000004202', expiryMonth: 12, expiryYear: 2030 } },
};

let directory: string;
let offsetFile: string;
let platform: FaultPlatform;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'switchyard-clock-'));
  offsetFile = join(directory, 'offset');
  await writeFile(offsetFile, '0');
  // A database of its own: the jobs of other tests must not become due by this clock.
  platform = await startFaultPlatform({
    databaseUrl: await testDatabaseCopyUrl(),
    settings: { NODE_OPTIONS: `--import ${preload}`, STEPPED_CLOCK_FILE: offsetFile },
  });
  await platform.server.start();
});

after(async () => {
  await platform.stop();
  await rm(directory, { recursive: true, force: true });
});

test('a queued reversal and a confirmation deadline are acted on within seconds after the clock goes back an hour', async () => {
  const earlier = await platform.openClient();
  const sell = async (members: Record<string, unknown>, { client, token } = earlier) => {
    const { body } = await client.call('POST', `${transactionsPath}/process`, {
      token,
      body: keyedSale(members),
    });
    return body;
  };
  const unconfirmed = await sell({ confirmWithinSeconds: 20 });
  const withoutResponse = await sell(unanswered);
  assert.equal(withoutResponse.state, 'Reversing');

  await writeFile(offsetFile, String(-hourMs));
  await until(
    () => platform.server.output().includes('the process clock went back') || undefined,
    'the step in the log',
  );
  // A token that was issued before the step may be refused after it.
  const later = await platform.openClient();
  const reversed = (transactionId: string) =>
    until(
      async () => {
        const { body } = await later.client.call('GET', `${transactionsPath}/${transactionId}`, {
          token: later.token,
        });
        return body.state === 'Reversed' ? body : undefined;
      },
      `${transactionId} to be Reversed`,
      limitMs,
    );
  // Users see times by the process clock.
  for (const { transactionId } of [withoutResponse, unconfirmed]) {
    const { updatedAt } = await reversed(transactionId);
    assert.ok(Date.parse(updatedAt) < Date.now() - hourMs + limitMs * 2, updatedAt);
  }
  // A deadline that is set after the step is neither over at once nor an hour away.
  const next = await sell({ confirmWithinSeconds: 8 }, later);
  assert.ok(Date.parse(next.confirmBy) < Date.now() - hourMs + limitMs, next.confirmBy);
  const { body: current } = await later.client.call(
    'GET',
    `${transactionsPath}/${next.transactionId}`,
    {
      token: later.token,
    },
  );
  assert.equal(current.confirmBy, next.confirmBy);
  await reversed(next.transactionId);
});
