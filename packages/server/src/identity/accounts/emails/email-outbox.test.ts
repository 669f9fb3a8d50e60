// Emails are durable: stored in the transaction of the change that they report, sent despite failures, and encrypted.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import PostalMime from 'postal-mime';
import {
  migrationsFolder,
  testDatabase,
  testDatabaseCopyUrl,
} from '../../../../test/support/database/test-database.ts';
import { openTestAccounts, testPassword } from '../../../../test/support/identity/test-accounts.ts';
import { createMailRecorder } from '../../../../test/support/mail/mail-recorder.ts';
import { startSmtpTestServer } from '../../../../test/support/mail/smtp-test-server.ts';
import { eventually } from '../../../../test/support/wait-for-condition.ts';
import {
  createJobs,
  createLog,
  createMail,
  createMetrics,
  mailDirectory,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../../platform/index.ts';

const newer = 'eight tills under one roof';

test('a link arrives although the mail server fails at first, and is stored in plain text nowhere', async () => {
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  // A separate database: other tests would run these jobs.
  const database = openDatabase({ url: await testDatabaseCopyUrl(), log });
  const shared = { log, clock: systemClock, ids: systemIdGenerator };
  await migrate(database, migrationsFolder, shared);
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-post-'));
  const settings = { dataDir, mailFrom: 'no-reply@shop.example', mailTimeoutMs: 1_000 };
  const catcher = createMail({ settings, ...shared });
  const jobs = createJobs({ ...shared, database, metrics: createMetrics(), pollMs: 20 });
  let failures = 0;
  const mail = {
    async send(message: Parameters<typeof catcher.send>[0]) {
      failures += 1;
      if (failures < 2) throw new Error('the mail server is away');
      await catcher.send(message);
    },
  };
  try {
    const setup = await openTestAccounts(database, { jobs, mail });
    const user = await setup.createUser({ password: undefined, locale: 'fr' });
    await setup.accounts.emailLinks.sendInvitation(user);
    const [job] = await database.query('SELECT * FROM jobs');
    assert.equal(JSON.stringify(job).includes(user.email), false);
    jobs.start();
    const files = () => readdir(mailDirectory({ dataDir })).catch(() => []);
    await eventually('the mail is there', async () => (await files()).length === 1);
    await eventually('the job is over', async () => {
      return (await database.query('SELECT job_id FROM jobs')).length === 0;
    });
    assert.equal(failures, 2);
    const [name = ''] = await files();
    const read = await PostalMime.parse(await readFile(join(mailDirectory({ dataDir }), name)));
    assert.equal(read.subject, 'Configurez votre compte · Switchyard');
    assert.equal(read.to?.[0]?.address, user.email);
    const link = /\/links\/([\w-]{43})\s/.exec(read.text ?? '')?.[1] ?? '';
    assert.ok(read.html?.includes(`/links/${link}"`));
    assert.equal(JSON.stringify(job).includes(link), false);
    const { emailLinks: links } = setup.accounts;
    assert.ok(await links.redeem(setup.organizationId, link, testPassword));
    assert.ok((await setup.signIn(user)).ok);
  } finally {
    await jobs.stop();
    await database.close();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('an email to a removed mailbox is dropped, other emails are retried', async () => {
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  const database = openDatabase({ url: await testDatabaseCopyUrl(), log });
  const shared = { log, clock: systemClock, ids: systemIdGenerator };
  const server = await startSmtpTestServer([
    [/^RCPT TO:<gone@/, '550 5.1.1 no such mailbox'],
    [/^RCPT TO:<full@/, '452 4.2.2 full'],
  ]);
  const settings = {
    dataDir: tmpdir(),
    mailFrom: 'no-reply@shop.example',
    mailTimeoutMs: 10_000,
    smtpUrl: server.url,
  };
  const mail = createMail({ settings, ...shared });
  const jobs = createJobs({ ...shared, database, metrics: createMetrics(), pollMs: 20 });
  const remainingJobs = () =>
    database.query<{ attempts: number; kind: string; last_error: string | null }>(
      'SELECT attempts, kind, last_error FROM jobs',
    );
  try {
    const setup = await openTestAccounts(database, { jobs, mail });
    for (const email of ['gone@shop.example', 'full@shop.example']) {
      await setup.accounts.emailLinks.sendInvitation(
        await setup.createUser({ password: undefined, email }),
      );
    }
    jobs.start();
    await eventually('one is gone, and the other waits', async () => {
      const [job, ...others] = await remainingJobs();
      return others.length === 0 && job?.last_error?.includes('EENVELOPE 452') === true;
    });
    // After several days of retries.
    await database.query('UPDATE jobs SET attempts = 1000, due_at = now()');
    await eventually('this one as well', async () => (await remainingJobs()).length === 0);
  } finally {
    await jobs.stop();
    await mail.close();
    await server.close();
    await database.close();
  }
});

test('a change whose email cannot be enqueued is rolled back', async () => {
  const office = createMailRecorder();
  let isFull = false;
  const setup = await openTestAccounts(await testDatabase(), {
    jobs: {
      ...office.jobs,
      async enqueue(...asked) {
        if (isFull) throw new Error('the jobs table is full');
        await office.jobs.enqueue(...asked);
      },
    },
  });
  const user = await setup.createUser();
  isFull = true;
  const { accounts, organizationId } = setup;
  await assert.rejects(accounts.setPassword(organizationId, user.userId, newer), /is full/);
  assert.ok((await setup.signIn(user)).ok);
  assert.deepEqual(setup.endedUserIds, []);
  // A link that was not sent does not count for the limit.
  for (let index = 0; index < 12; index += 1) {
    await assert.rejects(accounts.emailLinks.sendInvitation(user), /is full/);
  }
  isFull = false;
  await accounts.emailLinks.sendInvitation(user);
});

test('a process without email configuration rejects the change and leaves no partial result', async () => {
  const setup = await openTestAccounts(await testDatabase(), { jobs: undefined, mail: undefined });
  const user = await setup.createUser();
  await assert.rejects(
    setup.accounts.emailLinks.sendInvitation(user),
    /has no email configuration/,
  );
  await assert.rejects(
    setup.accounts.setPassword(setup.organizationId, user.userId, newer),
    /has no email configuration/,
  );
  assert.ok((await setup.signIn(user)).ok);
});
