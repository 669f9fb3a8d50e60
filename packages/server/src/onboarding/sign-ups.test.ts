// Limits of pending sign-ups, and the deletion of sign-ups that were not approved.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defined, type SignUpInput } from '@switchyard/contract';
import { testDatabaseCopyUrl } from '../../test/support/database/test-database.ts';
import {
  assertFrenchSpaces,
  assertTranslationsMatch,
} from '../../test/support/translation-checks.ts';
import {
  createLog,
  type Database,
  type Job,
  type JobHandler,
  type NewJob,
  openDatabase,
  systemIds,
} from '../platform/index.ts';
import { createSignUpDeletion } from './delete-expired-sign-ups.ts';
import { signUpEmailTexts } from './sign-up-emails.ts';
import { createSignUpStore } from './sign-up-sql.ts';
import { createSignUps, type SignUpsDependencies } from './sign-ups.ts';

const dayMs = 86_400_000;
const log = createLog({ logLevel: 'silent', instanceName: 'test' });
/** A separate database: sign-ups are counted over all organisations. */
let database: Database;

before(async () => {
  database = openDatabase({ url: await testDatabaseCopyUrl(), log });
});
after(() => database.close());

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
    ids: systemIds,
    jobs: {
      handle: (kind, handler) => void handlers.set(kind, handler),
      enqueue: async (job) => void orders.push(job),
    },
  });
  const signUps = createSignUps({
    database,
    clock,
    ids: systemIds,
    deletion,
    log: { ...log, warn: (...facts: unknown[]) => void warnings.push(facts) },
    confirmationEmails: {
      enqueue: async (_trx: unknown, id: string) => void confirmed.push(id),
      poke: () => {},
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
    take: (email: string) =>
      signUps.submit({
        organizationName: 'Bank',
        persona: 'Acquirer',
        email,
        givenName: 'Ann',
        familyName: 'Carter',
        country: 'FR',
      } as SignUpInput),
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

test('the emails have the same texts in each language, and none is left in English', () => {
  assertTranslationsMatch(signUpEmailTexts);
  assertFrenchSpaces(signUpEmailTexts.fr);
});

test('the number of pending sign-ups is limited, and the response does not show it', async () => {
  await database.query('DELETE FROM sign_ups');
  const scene = open(3);
  for (const name of ['a', 'b', 'c', 'd', 'e']) await scene.take(`${name}@bank.example`);
  assert.deepEqual(await stored(), ['a@bank.example', 'b@bank.example', 'c@bank.example']);
  assert.deepEqual(
    [scene.confirmed.length, scene.orders.length],
    [3, 3],
    'no email for an ignored sign-up',
  );
  assert.equal(scene.warnings.length, 2);

  // A decision makes room for the next sign-up.
  const [first] = scene.confirmed;
  await database.transaction((trx) =>
    scene.store.updateStatus(trx, String(first), 'Rejected', scene.time.now),
  );
  await scene.take('f@bank.example');
  assert.equal((await stored()).at(-1), 'f@bank.example');
});

test('the limit of one address logs no warning', async () => {
  await database.query('DELETE FROM sign_ups');
  const scene = open();
  for (let times = 0; times < 4; times += 1) await scene.take('often@bank.example');
  assert.deepEqual([(await stored()).length, scene.warnings.length], [3, 0]);
});

test('pending and rejected sign-ups are deleted after 90 days, approved ones stay', async () => {
  await database.query('DELETE FROM sign_ups');
  const scene = open();
  const names = ['waits', 'rejected', 'approving', 'approved'];
  for (const name of names) await scene.take(`${name}@bank.example`);
  const [waits, rejected, approving, approved] = scene.orders;
  assert.ok(waits && rejected && approving && approved);
  assert.equal(waits.dueAt, scene.time.now + 90 * dayMs);
  const move = (order: NewJob, status: 'Rejected' | 'Approving' | 'Approved') =>
    database.transaction((trx) =>
      scene.store.updateStatus(trx, order.organizationId, status, scene.time.now),
    );
  scene.time.now += 30 * dayMs;
  await move(rejected, 'Rejected');
  await move(approving, 'Approving');
  await move(approved, 'Approved');

  scene.time.now += 60 * dayMs - 1;
  assert.deepEqual(await scene.look(waits), { retryAt: scene.time.now + 1, countAttempt: false });
  scene.time.now += 1;
  assert.equal(await scene.look(waits), undefined);
  // The 90 days start with the decision.
  const later = { retryAt: scene.time.now + 30 * dayMs, countAttempt: false };
  assert.deepEqual(await scene.look(rejected), later);
  assert.deepEqual(await stored(), [
    'approved@bank.example',
    'approving@bank.example',
    'rejected@bank.example',
  ]);

  scene.time.now += 1000 * dayMs;
  for (const order of scene.orders) assert.equal(await scene.look(order), undefined);
  assert.deepEqual(await stored(), ['approved@bank.example', 'approving@bank.example']);
});
