// The sign-in history: each attempt with outcome and origin, retained for a year.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  migrationsFolder,
  testDatabase,
  testDatabaseCopyUrl,
} from '../../../../test/support/database/test-database.ts';
import {
  newOtpSecret,
  openTestAccounts,
  otpCode,
  type TestAccounts,
  testOrigin,
} from '../../../../test/support/identity/test-accounts.ts';
import {
  createLog,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../../platform/index.ts';
import { signInRecordRetentionMs } from '../delete-expired.ts';

const wrong = { password: 'nine tills under one roof' };

describe('the sign-in history', () => {
  let setup: TestAccounts;

  before(async () => {
    setup = await openTestAccounts(await testDatabase());
  });

  test('lists every attempt, newest first', async () => {
    const otpSecret = newOtpSecret();
    const user = await setup.createUser({ otpSecret });
    const otp = () => otpCode(otpSecret, setup.clock.now());
    await setup.signIn(user, wrong);
    await setup.signIn(user, { kind: 'password-grant' });
    await setup.signIn(user, { otp: '000000' });
    await setup.signIn(user, { otp: otp() });
    await setup.accounts.setStatus(setup.organizationId, user.userId, 'Disabled');
    await setup.signIn(user, { otp: otp(), kind: 'device' });
    const records = await setup.accounts.signInHistory.list(user, { limit: 10 });
    assert.deepEqual(
      records.map(({ kind, outcome, methods }) => [kind, outcome, methods.join(' ')]),
      [
        ['device', 'Disabled', 'pwd'],
        ['page', 'Success', 'pwd otp'],
        ['page', 'WrongCode', 'pwd'],
        ['password-grant', 'MissingCode', 'pwd'],
        ['page', 'WrongPassword', ''],
      ],
    );
    const [{ recordId: _id, ...newest } = {}] = records;
    assert.deepEqual(newest, {
      attemptedAt: setup.clock.now(),
      kind: 'device',
      outcome: 'Disabled',
      methods: ['pwd'],
      ...testOrigin,
    });
  });

  test('is returned in pages', async () => {
    const user = await setup.createUser();
    for (let index = 0; index < 5; index += 1) await setup.signIn(user);
    const { list } = setup.accounts.signInHistory;
    const first = await list(user, { limit: 2 });
    const second = await list(user, { limit: 2, after: first.at(-1)?.recordId });
    const third = await list(user, { limit: 2, after: second.at(-1)?.recordId });
    const ids = [...first, ...second, ...third].map(({ recordId }) => recordId);
    assert.equal(new Set(ids).size, 5);
    assert.deepEqual(ids, ids.toSorted().reverse());
    const other = await setup.createUser();
    assert.deepEqual(await list(other, { limit: 2 }), []);
  });

  test('contains texts of the client, shortened', async () => {
    const user = await setup.createUser();
    const odd = {
      address: '2001:db8::1',
      userAgent: `a\0b\r\n${'x'.repeat(500)}😀`,
      requestId: '\ud800',
      clientId: 'y'.repeat(1_000),
    };
    assert.ok((await setup.signIn(user, { origin: odd })).ok);
    const [record] = await setup.accounts.signInHistory.list(user, { limit: 1 });
    assert.equal(record?.userAgent?.length, 200);
    assert.ok(record?.userAgent?.startsWith('a b  xx'));
    assert.equal(record?.clientId?.length, 128);
    assert.equal(record?.requestId, '\ufffd');
  });
});

test('sign-in records are deleted after 13 months, expired links and challenges earlier', async (t) => {
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  // A separate database: this clean-up runs with a future date and deletes everything.
  const database = openDatabase({ url: await testDatabaseCopyUrl(), log });
  t.after(() => database.close());
  await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
  const setup = await openTestAccounts(database);
  const user = await setup.createUser({ password: undefined });
  await setup.signIn(user);
  await setup.accounts.emailLinks.sendInvitation(user);
  const rp = { id: 'localhost', name: 'Switchyard', origin: 'https://localhost' };
  await setup.accounts.passkeys.registrationOptions(user, rp);
  const count = async (table: string) => {
    const [row] = await database.query<{ n: number }>(
      `SELECT count(*) AS n FROM ${table} WHERE organization_id = $1 AND user_id = $2`,
      [setup.organizationId, user.userId],
    );
    return row?.n;
  };
  const counts = async () => [
    await count('sign_in_records'),
    await count('user_links'),
    await count('user_challenges'),
  ];
  const sweep = async (at: number) => {
    while ((await setup.accounts.deleteExpired(at, 50)) >= 50);
  };
  const now = setup.clock.now();
  await sweep(now);
  assert.deepEqual(await counts(), [1, 1, 1]);
  await sweep(now + 300_001);
  assert.deepEqual(await counts(), [1, 1, 0]);
  await sweep(now + 8 * 86_400_000 + 1);
  assert.deepEqual(await counts(), [1, 0, 0]);
  await sweep(now + signInRecordRetentionMs);
  assert.deepEqual(await counts(), [1, 0, 0]);
  await sweep(now + signInRecordRetentionMs + 1);
  assert.deepEqual(await counts(), [0, 0, 0]);
});
