// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// kill -9 in the middle of an import: a repeated request continues it, and no object is missing or
// duplicated.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createRandom } from '../faults/load-during-faults.ts';
import type { Client } from '../support/https-client.ts';
import { createDemoServer, type DemoServer } from '../support/processes/demo-server.ts';
import type { ServerProcess } from '../support/processes/server-process.ts';
import {
  hardwareLine,
  type Imported,
  importedOf,
  jsonLines,
  merchantLine,
  placeLine,
  storeLine,
} from '../support/provisioning/bulk-import-client.ts';
import { until } from '../support/wait-for-result.ts';

const kills = 2;
const pairs = 1400;
const url = '/provisioning/v2/bulk';
const key = 'estate-1';
const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
/** Longer than the lease of the killed process. */
const goOnLimitMs = 120_000;

let demo: DemoServer;
let server: ServerProcess;

before(async () => {
  const settings = { SWITCHYARD_SIMULATORS: 'off', SWITCHYARD_LOG_LEVEL: 'warn' };
  demo = await createDemoServer('bulk', settings);
  server = demo.server;
  await server.start();
});

after(() => demo.close());

let token: string | undefined;

/** Reuses the token, which stays valid after a restart, with a client of the running server. */
async function entrance(): Promise<{ client: Client; token: string }> {
  const client = await server.client();
  const { userDomainId, applications } = await server.demoFacts();
  const { clientId = '', clientSecret = '' } = applications['acquirer'] ?? {};
  token ??= await client.token(userDomainId, clientId, clientSecret);
  return { client, token };
}

const lines = [
  merchantLine('M'),
  storeLine('M', 'S'),
  ...Array.from({ length: pairs }, (_, index) => [
    placeLine('S', `D${index}`),
    hardwareLine(`D${index}`, {
      serialNumber: `K${index}`,
      make: 'CRASH',
      model: 'ONE',
      family: 'axium',
      externalId: `P${index}`,
    }),
  ]).flat(),
];
const body = jsonLines(lines);
const headers = { 'content-type': 'application/jsonl', 'idempotency-key': key };

async function send(): Promise<Imported> {
  const { client, token: bearer } = await entrance();
  const answer = await client.call('POST', url, { token: bearer, raw: body, headers });
  return importedOf(answer.status, answer.headers, answer.text);
}

/** The state and the number of processed lines. */
async function progress(): Promise<{ state: string; lines: number }> {
  const { client, token: bearer } = await entrance();
  const { status, body: now } = await client.call('GET', `${url}/${key}`, { token: bearer });
  return status === 200 ? now : { state: 'Unknown', lines: 0 };
}

/** Sends the import again after the lease of the killed process has ended. */
async function sendAgain(): Promise<Imported> {
  const { state } = await until(
    async () => {
      const now = await progress();
      return now.state === 'Running' ? undefined : now;
    },
    'the lease of the dead process to end',
    goOnLimitMs,
  );
  assert.notEqual(state, 'Completed');
  return send();
}

/** Reads every page of a list. */
async function all(path: string): Promise<Record<string, unknown>[]> {
  const { client, token: bearer } = await entrance();
  const items: Record<string, unknown>[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const more = cursor === undefined ? '' : `&cursor=${cursor}`;
    const { body: page, text } = await client.call('GET', `${path}&limit=200${more}`, {
      token: bearer,
    });
    assert.ok(Array.isArray(page.items), text);
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return items;
}

// Spec: PROV-29
test(`an import survives ${kills} kills (seed ${seed})`, { timeout: 300_000 }, async () => {
  const next = createRandom(seed);
  let reached = 0;
  for (let round = 0; round < kills; round += 1) {
    const broken = sendAgain().catch((error: unknown) => error as Error);
    const targetLine = reached + 1 + Math.floor(next() * 400);
    reached = await until(
      async () => {
        const { lines: now } = await progress();
        return now >= targetLine ? now : undefined;
      },
      'lines to be in',
      goOnLimitMs,
    );
    await server.kill();
    assert.ok((await broken) instanceof Error, 'the import was through before the kill');
    await server.start();
    const { state, lines: storedLines } = await progress();
    assert.ok(storedLines >= reached);
    assert.notEqual(state, 'Completed');
  }
  const done = await sendAgain();
  assert.equal(done.status, 200, done.text.slice(0, 500));
  assert.deepEqual(
    done.results.map(({ line, status }) => [line, status]),
    lines.map((_line, index) => [index + 1, 'created']),
  );
  assert.equal(done.summary?.state, 'Completed');
  const store = done.results[1]?.id;
  const logicalDevices = await all(`/provisioning/v2/logical-devices?storeId=${store}`);
  const names = logicalDevices.map(({ externalId }) => String(externalId));
  assert.equal(logicalDevices.length, pairs);
  assert.equal(new Set(names).size, pairs);
  for (const { physicalDeviceIds } of logicalDevices) {
    assert.equal((physicalDeviceIds as string[]).length, 1);
  }
  const made = await all('/audit/v1/records?action=logicalDevice.linked');
  assert.equal(
    made.filter(({ entity }) =>
      logicalDevices.some((one) => one['logicalDeviceId'] === (entity as { id: string }).id),
    ).length,
    pairs,
  );
});
