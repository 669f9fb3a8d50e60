// Limits of pending sign-ups, and the deletion of sign-ups that were not approved.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { defined, type SignUpInput } from '@switchyard/contract';
import { testDatabaseCopyUrl } from '../../test/support/database/test-database.ts';
import { highLoadLimits } from '../../test/support/high-load-limits.ts';
import {
  assertFrenchSpaces,
  assertTranslationsMatch,
} from '../../test/support/translation-checks.ts';
import { until } from '../../test/support/wait-for-result.ts';
import { createHttp } from '../http/index.ts';
import {
  createLog,
  type Database,
  type Job,
  type JobHandler,
  type NewJob,
  openDatabase,
  systemIdGenerator,
} from '../platform/index.ts';
import { createSignUpDeletion } from './delete-expired-sign-ups.ts';
import { registerSignUpRoutes } from './routes.ts';
import { signUpEmailTexts } from './sign-up-emails.ts';
import { createSignUpStore } from './sign-up-sql.ts';
import { createSignUps, type SignUps, type SignUpsDependencies } from './sign-ups.ts';

const dayMs = 86_400_000;
const log = createLog({ logLevel: 'silent', instanceName: 'test' });
/** A separate database: sign-ups are counted over all organisations. */
let database: Database;

before(async () => {
  database = openDatabase({ url: await testDatabaseCopyUrl(), log });
});
after(() => database.close());

const signUpOf = (email: string): SignUpInput => ({
  organizationName: 'Bank',
  persona: 'Acquirer',
  email,
  givenName: 'Ann',
  familyName: 'Carter',
  country: 'FR',
});

function open(maxPending?: number) {
  const time = { now: Date.parse('2026-03-01T10:00:00Z') };
  const clock = { now: () => time.now };
  const orders: NewJob[] = [];
  const handlers = new Map<string, JobHandler>();
  const warnings: unknown[] = [];
  const confirmed: string[] = [];
  const deletion = createSignUpDeletion({
    database,
    clock,
    ids: systemIdGenerator,
    jobs: {
      handle: (kind, handler) => void handlers.set(kind, handler),
      enqueue: async (job) => void orders.push(job),
    },
  });
  const signUps = createSignUps({
    database,
    clock,
    ids: systemIdGenerator,
    deletion,
    log: { ...log, warn: (...facts: unknown[]) => void warnings.push(facts) },
    confirmationEmails: {
      enqueue: async (_trx: unknown, id: string) => void confirmed.push(id),
      wakeJobs: () => {},
    },
    ...defined({ maxPending }),
  } as unknown as SignUpsDependencies);
  return {
    signUps,
    time,
    orders,
    warnings,
    confirmed,
    store: createSignUpStore(database),
    take: (email: string) => signUps.submit(signUpOf(email)),
    look({ kind, organizationId }: NewJob) {
      const handler = handlers.get(kind);
      assert.ok(handler !== undefined);
      return handler({
        organizationId,
        kind,
        jobId: 'x',
        payload: {},
        attempts: 0,
        dueAt: 0,
      } as Job);
    },
  };
}

const stored = async () => {
  const rows = await database.query<{ email: string }>('SELECT email FROM sign_ups ORDER BY 1');
  return rows.map(({ email }) => email);
};

test('the emails have the same texts in each language, without untranslated English texts', () => {
  assertTranslationsMatch(signUpEmailTexts);
  assertFrenchSpaces(signUpEmailTexts.fr);
});

test('the number of pending sign-ups is limited, and the response does not show it', async () => {
  await database.query('DELETE FROM sign_ups');
  const setup = open(3);
  for (const name of ['a', 'b', 'c', 'd', 'e']) await setup.take(`${name}@bank.example`);
  assert.deepEqual(await stored(), ['a@bank.example', 'b@bank.example', 'c@bank.example']);
  assert.deepEqual(
    [setup.confirmed.length, setup.orders.length],
    [3, 3],
    'no email for an ignored sign-up',
  );
  assert.equal(setup.warnings.length, 2);

  // A decision makes room for the next sign-up.
  const [first] = setup.confirmed;
  await database.transaction((trx) =>
    setup.store.updateStatus(trx, String(first), 'Rejected', setup.time.now),
  );
  await setup.take('f@bank.example');
  assert.equal((await stored()).at(-1), 'f@bank.example');
});

test('the limit of one address logs no warning', async () => {
  await database.query('DELETE FROM sign_ups');
  const setup = open();
  for (let times = 0; times < 4; times += 1) await setup.take('often@bank.example');
  assert.deepEqual([(await stored()).length, setup.warnings.length], [3, 0]);
});

test('a sign-up that is not committed yet counts for the limit of its recipient', async () => {
  await database.query('DELETE FROM sign_ups');
  const { store, time } = open();
  const limits = { maxPerRecipient: 1, recipientPeriodMs: dayMs, maxPending: 10 };
  const insert = (trx: Parameters<typeof store.insert>[0]) =>
    store.insert(
      trx,
      { ...signUpOf('once@bank.example'), organizationId: randomUUID() },
      time.now,
      limits,
    );
  let second: Promise<boolean> | undefined;
  await database.transaction(async (trx) => {
    assert.equal(await insert(trx), true);
    const concurrent = database.transaction(insert);
    second = concurrent;
    const waitsForLock = `SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    const isWaiting = async () => (await database.query(waitsForLock)).length > 0 || undefined;
    await Promise.race([concurrent, until(isWaiting, 'the lock of the recipient')]);
  });
  assert.equal(await second, false);
});

test('an address sends 60 sign-ups an hour by the API', async (t) => {
  const http = await createHttp({
    settings: {
      host: '127.0.0.1',
      port: 0,
      baseUrl: 'https://localhost',
      authUrl: 'https://localhost',
    },
    log,
    ids: systemIdGenerator,
    loadLimits: highLoadLimits,
    verifyToken: async () => assert.fail('a sign-up needs no token'),
  });
  t.after(() => http.close());
  const submitted: SignUpInput[] = [];
  const signUps = { submit: async (input: SignUpInput) => void submitted.push(input) };
  registerSignUpRoutes(http.app, signUps as unknown as SignUps);
  const send = async (remoteAddress: string) => {
    const payload = signUpOf('ann@bank.example');
    const request = {
      method: 'POST',
      url: '/onboarding/v1/sign-ups',
      payload,
      remoteAddress,
    } as const;
    return (await http.app.inject(request)).statusCode;
  };
  for (let count = 0; count < 60; count += 1) assert.equal(await send('203.0.113.7'), 202);
  assert.equal(await send('203.0.113.7'), 429);
  assert.equal(await send('203.0.113.8'), 202);
  assert.equal(submitted.length, 61);
});

test('pending and rejected sign-ups are deleted after 90 days, approved ones stay', async () => {
  await database.query('DELETE FROM sign_ups');
  const setup = open();
  const names = ['waits', 'rejected', 'approving', 'approved'];
  for (const name of names) await setup.take(`${name}@bank.example`);
  const [waits, rejected, approving, approved] = setup.orders;
  assert.ok(waits && rejected && approving && approved);
  assert.equal(waits.dueAt, setup.time.now + 90 * dayMs);
  const move = (order: NewJob, status: 'Rejected' | 'Approving' | 'Approved') =>
    database.transaction((trx) =>
      setup.store.updateStatus(trx, order.organizationId, status, setup.time.now),
    );
  setup.time.now += 30 * dayMs;
  await move(rejected, 'Rejected');
  await move(approving, 'Approving');
  await move(approved, 'Approved');

  setup.time.now += 60 * dayMs - 1;
  assert.deepEqual(await setup.look(waits), { retryAt: setup.time.now + 1, countAttempt: false });
  setup.time.now += 1;
  assert.equal(await setup.look(waits), undefined);
  // The 90 days start with the decision.
  const later = { retryAt: setup.time.now + 30 * dayMs, countAttempt: false };
  assert.deepEqual(await setup.look(rejected), later);
  assert.deepEqual(await stored(), [
    'approved@bank.example',
    'approving@bank.example',
    'rejected@bank.example',
  ]);

  setup.time.now += 1000 * dayMs;
  for (const order of setup.orders) assert.equal(await setup.look(order), undefined);
  assert.deepEqual(await stored(), ['approved@bank.example', 'approving@bank.example']);
});
