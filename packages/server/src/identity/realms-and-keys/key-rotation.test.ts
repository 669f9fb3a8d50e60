// Tests the rotation of signing keys: by the job, by command, and at once after a theft.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decodeProtectedHeader } from 'jose';
import { testDatabase, testDatabaseCopyUrl } from '../../../test/support/database/test-database.ts';
import {
  type MovableClock,
  movableClock,
  openTestRealm,
  type TestRealm,
} from '../../../test/support/identity/test-realm.ts';
import {
  createJobs,
  createLog,
  createMetrics,
  type Database,
  type Job,
  type JobHandler,
  type Jobs,
  migrate,
  openDatabase,
  type Reschedule,
  systemClock,
  systemIdGenerator,
} from '../../platform/index.ts';
import { publishedBeforeUseMs, retiredKeyRecordRetentionMs } from './key-rotation.ts';
import { realmCacheTtlMs } from './realms.ts';

const dayMs = 86_400_000;
const masterKey = randomBytes(32);
const kidOf = (token: string) => String(decodeProtectedHeader(token).kid);

async function publishedIds({ app, userDomainId }: TestRealm, of = userDomainId) {
  const { statusCode, body } = await app.inject({
    url: `/auth/realms/${of}/protocol/openid-connect/certs`,
  });
  assert.equal(statusCode, 200, body);
  return (JSON.parse(body).keys as { kid: string }[]).map(({ kid }) => kid);
}

describe('the job that rotates keys', () => {
  let clock: MovableClock;
  let database: Database;
  let realm: TestRealm;
  const jobs: Job[] = [];
  let handler: JobHandler = async () => {};

  /** Records the jobs, so that the test can run them. */
  const noted = {
    handle(kind: string, jobHandler: JobHandler) {
      if (kind === 'rotate-realm-keys') handler = jobHandler;
    },
    async enqueue(job: { organizationId: string; jobId?: string; dueAt?: number }) {
      jobs.push({ attempts: 0, kind: '', payload: {}, jobId: '', dueAt: 0, ...job });
    },
    wake() {},
  };

  before(async () => {
    clock = movableClock();
    database = await testDatabase();
    realm = await openTestRealm({ database, clock, masterKey, jobs: noted });
  });
  after(() => realm.close());

  async function runJob(job = jobs[0]): Promise<Reschedule> {
    assert.ok(job);
    const later = await handler(job);
    assert.ok(later, 'the job never ends');
    assert.equal(later.countAttempt, false, 'looking is no failed try');
    return later;
  }

  test('exists once for each realm, even if the realm is created repeatedly', async () => {
    const { identity, userDomainId, organizationId } = realm;
    await identity.createUserDomain({ userDomainId, organizationId });
    assert.equal(jobs.length, 2);
    assert.equal(jobs[0]?.jobId, jobs[1]?.jobId);
    assert.match(String(jobs[0]?.jobId), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-/);
    const other = { userDomainId: `realm-${randomUUID()}`, organizationId: randomUUID() };
    await identity.createUserDomain(other);
    assert.notEqual(jobs[2]?.jobId, jobs[0]?.jobId);
  });

  test('does not replace new keys, and runs again within a day', async () => {
    const before = await publishedIds(realm);
    assert.deepEqual(await runJob(), { retryAt: clock.now() + dayMs, countAttempt: false });
    assert.deepEqual(await publishedIds(realm), before);
  });

  // Spec: IDENT-17
  test('publishes new keys, signs with them after an hour, and deletes the old ones later', async () => {
    const client = await realm.createApplication({ accessTokenSeconds: 86_400 });
    const before = await publishedIds(realm);
    clock.advance(90 * dayMs - 1000);
    assert.deepEqual(await runJob(), { retryAt: clock.now() + 60_000, countAttempt: false });
    assert.deepEqual(await publishedIds(realm), before);

    clock.advance(1000);
    await runJob();
    const keyIds = await publishedIds(realm);
    assert.equal(keyIds.length, 4);
    await runJob();
    assert.deepEqual(await publishedIds(realm), keyIds, 'done once, also when the job is repeated');
    const states = (await realm.identity.signingKeys.list(realm.userDomainId)).map(
      ({ state }) => state,
    );
    assert.deepEqual(states, ['Published', 'Published', 'Signing', 'Signing']);
    clock.advance(publishedBeforeUseMs - 1000);
    assert.ok(before.includes(kidOf(await realm.getToken(client))), 'still the old ones sign');

    clock.advance(1000 + realmCacheTtlMs);
    const newToken = await realm.getToken(client);
    assert.ok(!before.includes(kidOf(newToken)) && keyIds.includes(kidOf(newToken)));

    clock.advance(dayMs);
    const young = keyIds.filter((kid) => !before.includes(kid));
    assert.deepEqual(new Set(await publishedIds(realm)), new Set(young));
    await realm.identity.verifyToken(await realm.getToken(client));
    const rows = async () =>
      (
        await database.query('SELECT 1 FROM realm_keys WHERE organization_id = $1', [
          realm.organizationId,
        ])
      ).length;
    await runJob();
    assert.equal(await rows(), 4, 'kept for a while');
    clock.advance(retiredKeyRecordRetentionMs + 1000);
    await runJob();
    assert.equal(await rows(), 2);
  });

  test('rotates once if two processes run at the same time', async () => {
    const first = handler;
    const other = await openTestRealm({ database, clock, masterKey, jobs: noted });
    const second = handler;
    const [job] = jobs;
    assert.ok(job);
    clock.advance(91 * dayMs);
    await Promise.all([first(job), second(job)]);
    assert.equal((await realm.identity.signingKeys.list(realm.userDomainId)).length, 4);
    await other.close();
  });

  test('waits a minute if it is due by the clock of the jobs, but not by its own', async () => {
    const [own, first] = [movableClock(), handler];
    const behind = await openTestRealm({ database, clock: own, masterKey, jobs: noted });
    const job = jobs.at(-1);
    assert.ok(job);
    own.advance(90 * dayMs - 5000);
    // The clock of the jobs is five seconds ahead; the next run must be in its future.
    const { retryAt } = (await handler(job)) as Reschedule;
    assert.ok(retryAt >= own.now() + 60_000, `${retryAt - own.now()}`);
    assert.equal((await behind.identity.signingKeys.list(behind.userDomainId)).length, 2);
    handler = first;
    await behind.close();
  });

  test('ends with its realm', async () => {
    const orphanedJob = { ...jobs[0], organizationId: randomUUID() } as Job;
    assert.equal(await handler(orphanedJob), undefined);
  });
});

/** The jobs, and how many of them this process ran at the same time. */
function counted(jobs: Jobs): { jobs: Jobs; atOnce(): number } {
  let running = 0;
  let atOnce = 0;
  const handle: Jobs['handle'] = (kind, handler, options) =>
    jobs.handle(
      kind,
      async (job) => {
        running += 1;
        atOnce = Math.max(atOnce, running);
        return handler(job).finally(() => {
          running -= 1;
        });
      },
      options,
    );
  return { jobs: { ...jobs, handle }, atOnce: () => atOnce };
}

test('rotation jobs are enqueued with their realm and run one at a time', async (t) => {
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  // A separate database: with this clock, the keys of every realm would be due.
  const database = openDatabase({ url: await testDatabaseCopyUrl(), log });
  const migrations = fileURLToPath(new URL('../../../migrations', import.meta.url));
  await migrate(database, migrations, { log, clock: systemClock, ids: systemIdGenerator });
  const clock = movableClock(Date.now());
  const metrics = createMetrics({ processMetrics: false });
  const all = createJobs({ database, clock, ids: systemIdGenerator, log, metrics, pollMs: 20 });
  const { jobs, atOnce } = counted(all);
  t.after(async () => {
    await jobs.stop();
    await database.close();
  });
  const realm = await openTestRealm({ database, clock, masterKey, jobs });
  const names = [realm.userDomainId, `realm-${randomUUID()}`, `realm-${randomUUID()}`];
  for (const userDomainId of names.slice(1)) {
    await realm.identity.createUserDomain({ userDomainId, organizationId: randomUUID() });
  }
  jobs.start();
  const rows = () =>
    database.query<{ kind: string; due_at: Date }>('SELECT kind, due_at FROM jobs');
  const counts = async () =>
    (await Promise.all(names.map((name) => realm.identity.signingKeys.list(name)))).map(
      ({ length }) => length,
    );
  assert.deepEqual(new Set((await rows()).map(({ kind }) => kind)), new Set(['rotate-realm-keys']));
  assert.deepEqual(await counts(), [2, 2, 2]);
  clock.advance(90 * dayMs);
  const limit = Date.now() + 30_000;
  const isArmed = ({ due_at }: { due_at: Date }) => due_at.getTime() > clock.now() + dayMs / 2;
  while (!(await rows()).every(isArmed)) {
    assert.ok(Date.now() < limit, 'the keys were not rotated');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.deepEqual(await counts(), [4, 4, 4]);
  assert.equal((await rows()).length, 3, 'armed again');
  assert.equal(atOnce(), 1);
  await realm.close();
});

describe('by command', () => {
  test('keys rotate once until the new keys sign; other processes see them within the cache time', async () => {
    const clock = movableClock();
    const database = await testDatabase();
    const realm = await openTestRealm({ database, clock, masterKey });
    const other = await openTestRealm({ database, clock, masterKey });
    const { identity, userDomainId } = realm;
    const client = await realm.createApplication();
    const before = await publishedIds(other, userDomainId);
    const token = await realm.getToken(client);
    assert.equal(await identity.signingKeys.rotate(userDomainId), true);
    assert.equal(await identity.signingKeys.rotate(userDomainId), false, 'under way already');
    assert.equal((await publishedIds(realm)).length, 4);
    assert.deepEqual(await publishedIds(other, userDomainId), before, 'not read again yet');
    clock.advance(realmCacheTtlMs + 1);
    assert.equal((await publishedIds(other, userDomainId)).length, 4);
    clock.advance(publishedBeforeUseMs);
    const young = await realm.getToken(client);
    assert.ok(!before.includes(kidOf(young)));
    await other.identity.verifyToken(young);
    await assert.rejects(identity.verifyToken(token), /token_expired/, 'its own hour is over');
    assert.equal(await identity.signingKeys.rotate(userDomainId), true, 'and once more');
    await assert.rejects(identity.signingKeys.rotate('no-such-realm'), /resource_not_found/);
    await other.close();
    await realm.close();
  });

  test('a stolen key is replaced at once: its tokens are refused, new ones accepted', async () => {
    const clock = movableClock();
    const database = await testDatabase();
    const realm = await openTestRealm({ database, clock, masterKey });
    const other = await openTestRealm({ database, clock, masterKey });
    const { identity, userDomainId } = realm;
    const client = await realm.createApplication();
    await identity.signingKeys.rotate(userDomainId);
    const token = await realm.getToken(client);
    await identity.verifyToken(token);
    await other.identity.verifyToken(token);
    const before = await publishedIds(realm);

    await identity.signingKeys.replaceAtOnce(userDomainId);
    await assert.rejects(identity.verifyToken(token), /token_invalid/);
    const after = await publishedIds(realm);
    assert.equal(after.length, 2, 'those that waited for their hour are gone too');
    assert.ok(after.every((kid) => !before.includes(kid)));
    const young = await realm.getToken(client);
    assert.ok(after.includes(kidOf(young)));
    await identity.verifyToken(young);
    clock.advance(60_000);
    await assert.rejects(
      other.identity.verifyToken(token),
      /token_invalid/,
      'within a minute there',
    );
    await other.identity.verifyToken(young);
    await other.close();
    await realm.close();
  });
});
