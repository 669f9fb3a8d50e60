// Whole run: many requests at the same time, so that a race shows.
// Concurrent uploads of offline sales never exceed the limits, with any number of counters.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countRows } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import type { RequestFields } from '../../support/payment-calls.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';
import { hourMs, listGaps, timeAgo, upload } from './offline-uploads.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();

const atOnce = 50;
const maxCount = 7;
const offlineLimits = { maxAgeHours: 72, maxCount };

/** All uploads fall within one period of 24 hours. */
const all = (
  setup: TestOrganization,
  fieldsOf: (at: number) => [RequestFields, RequestFields],
): Promise<HttpResponse[]> =>
  Promise.all(
    Array.from({ length: atOnce }, (_, at) => {
      const [data, members] = fieldsOf(at);
      const authorizedAt = timeAgo(hourMs + at * 1000);
      return upload(setup, { authorizedAt, ...data }, { amount: 1000 + at, ...members });
    }),
  );

async function uploadsOf(setup: TestOrganization) {
  const database = await testDatabase();
  return database.query<{ sequence_scope: string; terminal_sequence: number }>(
    'SELECT sequence_scope, terminal_sequence FROM offline_uploads WHERE organization_id = $1',
    [setup.organizationId],
  );
}

async function assertCounted(
  setup: TestOrganization,
  answers: readonly HttpResponse[],
): Promise<void> {
  const outcomes = answers.map(({ status, body }) => (status === 200 ? body.state : body.code));
  const count = (expected: string) => outcomes.filter((each) => each === expected).length;
  assert.deepEqual(
    [count('Stored'), count('offline_limit_exceeded')],
    [maxCount, atOnce - maxCount],
    outcomes.join(),
  );
  const { transactions } = await countRows(setup.organizationId);
  assert.deepEqual([transactions, (await uploadsOf(setup)).length], [maxCount, maxCount]);
}

describe('concurrent offline uploads of one device', { concurrency: 4 }, () => {
  // Spec: PROV-59
  test('the limit counts all sales of a device, although each terminal of it has its own numbers', async () => {
    const setup = await createOrganization({ offlineLimits });
    const answers = await all(setup, (at) => [
      { serialNumber: String(10_000_001 + at), terminalSequence: 1 },
      {},
    ]);
    await assertCounted(setup, answers);
  });

  // Spec: PROV-59
  test('the limit counts uploads of two terminals of a device that arrive at the same time', async () => {
    const setup = await createOrganization({ offlineLimits });
    const answers = await all(setup, (at) => [
      { serialNumber: at % 2 === 0 ? '10000001' : '10000002', terminalSequence: 1 + (at >> 1) },
      {},
    ]);
    await assertCounted(setup, answers);
    // A refused upload is not counted, so gaps exist only between accepted uploads.
    const uploads = await uploadsOf(setup);
    const missing = ['10000001', '10000002'].reduce((sum, scope) => {
      const numbers = uploads
        .filter((each) => each.sequence_scope === scope)
        .map((each) => each.terminal_sequence);
      if (numbers.length === 0) return sum;
      return sum + Math.max(...numbers) - Math.min(...numbers) + 1 - numbers.length;
    }, 0);
    const { items } = await listGaps(setup);
    assert.equal(
      items.reduce((sum, each) => sum + Number(each['missing']), 0),
      missing,
    );
  });

  test('without a device the limit counts all sales of the contract', async () => {
    const setup = await createOrganization({ offlineLimits });
    const answers = await all(setup, (at) => [
      { terminalSequence: 1 + at },
      { deviceId: undefined },
    ]);
    await assertCounted(setup, answers);
  });

  test('uploads of other devices are neither delayed nor counted', async () => {
    const setup = await createOrganization({ offlineLimits });
    const [first, second] = setup.merchant.deviceIds;
    const answers = await all(setup, (at) => [
      { terminalSequence: 1 + at },
      { deviceId: at % 2 === 0 ? first : second },
    ]);
    const stored = answers.filter(({ body }) => body.state === 'Stored');
    const uploadsOfDevice = (deviceId: string | undefined) =>
      stored.filter(({ body }) => body.deviceId === deviceId).length;
    assert.deepEqual([uploadsOfDevice(first), uploadsOfDevice(second)], [maxCount, maxCount]);
  });
});

test('the ledgers of platform and host agree', assertLedgersAgree);
