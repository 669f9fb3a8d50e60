import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  createLog,
  openDatabase,
  systemClock,
} from '../../../packages/server/src/platform/index.ts';
import { testDatabaseCopyUrl } from '../../../packages/server/test/support/database/test-database.ts';
import { freePorts } from '../../../packages/server/test/support/free-ports.ts';
import { startSmtpTestServer } from '../../../packages/server/test/support/mail/smtp-test-server.ts';
import {
  createNatsServer,
  natsPassword,
  natsUser,
} from '../../../packages/server/test/support/processes/nats-server.ts';
import { makeCertificateUntil } from '../../../packages/server/test/support/test-certificates.ts';
import { runAdminCommand } from '../run-admin-command.fixture.ts';
import { type Finding, runChecks } from './check.ts';
import { checkReplicationState, checkVersionNumber, databaseChecks } from './database-checks.ts';

type Variables = Readonly<Record<string, string>>;

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

async function createFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-doctor-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The settings of a demo with its own migrated database, which `database` changes. */
async function createInstallation(t: TestContext) {
  const [folder, url] = await Promise.all([createFolder(t), testDatabaseCopyUrl()]);
  const [metricsPort] = await freePorts(1);
  const database = openDatabase({ url, log, connections: 1 });
  t.after(() => database.close());
  const variables: Variables = {
    SWITCHYARD_DATA_DIR: folder,
    SWITCHYARD_DATABASE_URL: url,
    SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
    SWITCHYARD_METRICS_PORT: String(metricsPort),
  };
  return { folder, url, database, variables };
}

async function writeCertificate(folder: string, notAfter: string): Promise<Variables> {
  const { cert, key } = await makeCertificateUntil('localhost', notAfter);
  const files = [join(folder, 'tls.pem'), join(folder, 'tls-key.pem')] as const;
  await Promise.all([writeFile(files[0], cert), writeFile(files[1], key)]);
  return { SWITCHYARD_TLS_CERT_FILE: files[0], SWITCHYARD_TLS_KEY_FILE: files[1] };
}

type Report = { readonly needsAttention: boolean; readonly findings: readonly Finding[] };

async function diagnose(variables: Variables, ...options: string[]) {
  const { code, stdout, stderr } = await runAdminCommand(
    ['doctor', '--json', ...options],
    variables,
  );
  const report: Report = JSON.parse(stdout);
  assert.equal(code, report.needsAttention ? 1 : 0, stderr);
  // The disk of the machine that runs the tests may be nearly full.
  const findings = report.findings.filter(({ check }) => check !== 'disk');
  const faults = findings.filter(({ status }) => status === 'Attention');
  for (const { finding, advice } of faults) assert.ok(advice, finding);
  return { findings, faults: faults.map(({ check, finding }) => `${check}: ${finding}`), stderr };
}

test('a healthy installation needs no attention', async (t) => {
  const { folder, variables } = await createInstallation(t);
  const [port = 0] = await freePorts(1);
  const nats = createNatsServer(port);
  await nats.start();
  t.after(() => nats.kill());
  const mail = await startSmtpTestServer();
  t.after(() => mail.close());
  const { findings, faults } = await diagnose({
    ...variables,
    ...(await writeCertificate(folder, '2120-01-01T00:00:00Z')),
    SWITCHYARD_NATS_URL: `nats://${natsUser}:${natsPassword}@127.0.0.1:${port}`,
    SWITCHYARD_SMTP_URL: mail.url,
    SWITCHYARD_MAIL_FROM: 'no-reply@pay.example',
  });
  assert.deepEqual(faults, []);
  assert.deepEqual(
    findings.map(({ check, status }) => `${check}: ${status}`),
    [
      'settings: Ok',
      'certificates: Ok',
      'database: Ok',
      'database version: Ok',
      'database schema: Ok',
      'privileges: Ok',
      'indexes: Ok',
      'replication: Ok',
      'clock: Ok',
      'processes: Skipped',
      'DNS: Ok',
      'mail server: Ok',
      'NATS: Ok',
      'HSM: Ok',
      'trace collector: Skipped',
      'acquirer links: Skipped',
    ],
  );
});

test('the certificate, the name and the connection of the trace collector are checked', async (t) => {
  const { folder, variables } = await createInstallation(t);
  const { SWITCHYARD_TLS_CERT_FILE: file = '' } = await writeCertificate(
    folder,
    '2021-01-01T00:00:00Z',
  );
  const { faults } = await diagnose({
    ...variables,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.doctor.invalid:4318',
    OTEL_EXPORTER_OTLP_CERTIFICATE: file,
  });
  const [certificate = '', dns = '', collector = ''] = faults;
  assert.equal(faults.length, 3, faults.join('\n'));
  assert.match(certificate, /^certificates: OTEL_EXPORTER_OTLP_CERTIFICATE: .* expired on 2021/);
  assert.match(dns, /^DNS: OTEL_EXPORTER_OTLP_ENDPOINT: .* collector\.doctor\.invalid has no/);
  assert.match(collector, /^trace collector: the trace collector is not reachable \(/);
});

test('faults of the machine and of the network are found together', async (t) => {
  const { folder, variables } = await createInstallation(t);
  const [port] = await freePorts(1);
  const { findings, faults } = await diagnose({
    ...variables,
    ...(await writeCertificate(folder, '2021-01-01T00:00:00Z')),
    SWITCHYARD_NATS_URL: `nats://127.0.0.1:${port}`,
    SWITCHYARD_SMTP_URL: 'smtps://mail.doctor.invalid',
    SWITCHYARD_MAIL_FROM: 'no-reply@pay.example',
    SWITCHYARD_LOG_LEVLE: 'info',
  });
  const [unknown = '', expired = '', certificate = '', dns = '', mail = '', nats = ''] = faults;
  assert.equal(faults.length, 6, faults.join('\n'));
  assert.match(unknown, /^settings: SWITCHYARD_LOG_LEVLE is not a known setting/);
  assert.match(expired, /^settings: SWITCHYARD_TLS_CERT_FILE contains a certificate that expired/);
  assert.match(certificate, /^certificates: SWITCHYARD_TLS_CERT_FILE: .* expired on 2021-01-01$/);
  // A fault of another setting does not hide the HSM.
  assert.equal(findings.find(({ check }) => check === 'HSM')?.status, 'Ok');
  assert.match(dns, /^DNS: SMTP_URL: the name mail\.doctor\.invalid has no address/);
  assert.match(mail, /^mail server: the mail server did not accept the connection/);
  assert.equal(nats, 'NATS: NATS does not accept a connection');
});

test('only a process with the role jobs connects to the mail server', async (t) => {
  const { variables } = await createInstallation(t);
  const [port] = await freePorts(1);
  const { findings, faults } = await diagnose({
    ...variables,
    SWITCHYARD_ROLES: 'identity',
    SWITCHYARD_SMTP_URL: `smtp://127.0.0.1:${port}`,
    SWITCHYARD_MAIL_FROM: 'no-reply@pay.example',
  });
  assert.deepEqual(faults, []);
  const mail = findings.find(({ check }) => check === 'mail server');
  assert.equal(mail?.finding, 'this process has no role jobs');
});

test('an HSM that does not answer is found', async (t) => {
  const { folder, variables } = await createInstallation(t);
  const [port] = await freePorts(1);
  const key = { name: 'zpk', usage: 'ZonePin', algorithm: 'Tdes', checkValue: '08D7B4' };
  const keysFile = join(folder, 'hsm-keys.json');
  await writeFile(
    keysFile,
    JSON.stringify({ keys: [{ ...key, reference: `U${'0'.repeat(32)}` }] }),
  );
  const { faults } = await diagnose({
    ...variables,
    SWITCHYARD_HSM: 'payshield',
    SWITCHYARD_HSM_KEYS_FILE: keysFile,
    SWITCHYARD_HSM_ADDRESSES: `tcp://127.0.0.1:${port}`,
  });
  assert.equal(faults.length, 1, faults.join('\n'));
  assert.match(faults[0] ?? '', /^HSM: the HSM \(payshield\)/);
});

test('an invalid index, an interrupted migration, a process of another version and unusable links are found', async (t) => {
  const { url, database, variables } = await createInstallation(t);
  await database.query(
    `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'device_presence_came'::regclass`,
  );
  await database.query('UPDATE schema_migrations SET finished_at = NULL');
  // Without the check of its foreign keys, a link needs no organisation.
  await database.query('ALTER TABLE acquirer_links DISABLE TRIGGER ALL');
  const [port = 0] = await freePorts(1);
  const insertLink = (name: string, approval: string) =>
    database.query(
      `INSERT INTO acquirer_links (organization_id, acquirer_link_id, adapter, host, port, tls,
         institution_id, approval, name, status, labels, version, created_at, updated_at)
       VALUES (gen_random_uuid(), gen_random_uuid(), 'iso8583-host', '127.0.0.1', $1, false,
         '1', $2, $3, 'Enabled', '{}', 1, now(), now())`,
      [port, approval, name],
    );
  await insertLink('North', 'Approved');
  await insertLink('South', 'PendingApproval');
  const applicationName = 'switchyard pay-9 cards+identity 0.0.9';
  const old = openDatabase({ url, log, connections: 1, applicationName });
  t.after(() => old.close());
  await old.query('SELECT 1');
  const { faults } = await diagnose(variables);
  const inPortal = await diagnose({ ...variables, SWITCHYARD_ROLES: 'portal' });
  assert.deepEqual(
    inPortal.findings
      .filter(({ check }) => check === 'acquirer links')
      .map(({ status, finding }) => `${status}: ${finding}`),
    [
      'Skipped: North: this process has no role cards',
      'Attention: South: the link waits for the approval of the operator',
    ],
  );
  assert.deepEqual(faults, [
    'database schema: the migrations 1 are not applied',
    'indexes: the index device_presence_came is invalid, so queries do not use it',
    'processes: pay-9 has version 0.0.9, this installation has 0.1.0',
    'processes: no process has the role jobs: webhooks, mails and reversals wait',
    `acquirer links: North: 127.0.0.1:${port} is not reachable (connect ECONNREFUSED 127.0.0.1:${port})`,
    'acquirer links: South: the link waits for the approval of the operator',
  ]);
});

test('missing privileges of the account are found', async (t) => {
  const { url, database, variables } = await createInstallation(t);
  const role = `doctor_${randomBytes(6).toString('hex')}`;
  await database.query(`CREATE ROLE ${role} LOGIN`);
  try {
    await database.query(`GRANT USAGE ON SCHEMA public TO ${role}`);
    await database.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
    const address = new URL(url);
    address.searchParams.set('user', role);
    const { faults } = await diagnose({ ...variables, SWITCHYARD_DATABASE_URL: address.href });
    const [create = '', tables = ''] = faults;
    assert.equal(faults.length, 2, faults.join('\n'));
    assert.match(create, /^privileges: doctor_\w+ may not create tables in the schema public/);
    assert.match(tables, /^privileges: doctor_\w+ may not read and write .* and \d+ more$/);
  } finally {
    await database.query(`DROP OWNED BY ${role}`);
    await database.query(`DROP ROLE ${role}`);
  }
});

test('an unreachable database is a finding, and the other checks still run', async (t) => {
  const { variables } = await createInstallation(t);
  const [port] = await freePorts(1);
  const address = `postgresql://switchyard:key-word-of-db@127.0.0.1:${port}/switchyard`;
  const { findings, faults } = await diagnose({ ...variables, SWITCHYARD_DATABASE_URL: address });
  assert.equal(faults.length, 1, faults.join('\n'));
  assert.match(faults[0] ?? '', /^database: .*127\.0\.0\.1:\d+ is not available/);
  assert.ok(!JSON.stringify(findings).includes('key-word-of-db'));
  assert.ok(findings.some(({ check }) => check === 'DNS'));
  const links = findings.find(({ check }) => check === 'acquirer links');
  assert.equal(links?.finding, 'the database is not available');
});

test('a data directory that the account cannot use is found', async (t) => {
  const { folder, variables } = await createInstallation(t);
  // Without an execute bit, also root is refused.
  const file = join(folder, 'data');
  await writeFile(file, '', { mode: 0o600 });
  const { stdout } = await runAdminCommand(['doctor', '--json'], {
    ...variables,
    SWITCHYARD_DATA_DIR: file,
    SWITCHYARD_VAULT_KEY: randomBytes(32).toString('base64'),
  });
  const { findings }: Report = JSON.parse(stdout);
  const disk = findings.find(({ check }) => check === 'disk');
  assert.equal(disk?.finding, `this account cannot read and write ${file} (EACCES)`);
});

test('a clock that differs from the clock of the database is found', async (t) => {
  const { database } = await createInstallation(t);
  const clock = { now: () => systemClock.now() - 45_000 };
  const findings = await runChecks(databaseChecks(database, clock));
  const [fault = ''] = findings
    .filter(({ status }) => status === 'Attention')
    .map(({ check, finding }) => `${check}: ${finding}`);
  assert.match(
    fault,
    /^clock: the clock of this machine is 4[45]\.\d seconds behind the clock of the database$/,
  );
});

test('an old PostgreSQL, a standby and its replication faults are found', () => {
  assert.equal(checkVersionNumber(130_014).finding, 'PostgreSQL 13.14 is too old');
  assert.equal(checkVersionNumber(140_000).status, 'Ok');
  const healthy = {
    isStandby: false,
    synchronousNames: 'ANY 1 (*)',
    standbys: 1,
    lagSeconds: 2,
    inactiveSlots: [],
  };
  assert.deepEqual(checkReplicationState(healthy), [{ status: 'Ok', finding: 'standbys: 1' }]);
  const faulty = { isStandby: true, standbys: 0, lagSeconds: 90, inactiveSlots: ['old_standby'] };
  assert.deepEqual(
    checkReplicationState({ ...healthy, ...faulty }).map(({ finding }) => finding),
    [
      'the database is a standby and accepts no writes',
      'synchronous_standby_names is ANY 1 (*), but no standby is connected: every commit waits',
      'a standby is 90 seconds behind',
      'the replication slot old_standby is not in use, so the server keeps its write-ahead log',
    ],
  );
});

test('a check that does not answer in time or throws becomes a finding', async () => {
  const findings = await runChecks(
    [
      { name: 'slow', run: () => new Promise(() => {}) },
      {
        name: 'broken',
        run() {
          throw new Error('password=key-word');
        },
      },
    ],
    20,
  );
  assert.deepEqual(
    findings.map(({ check, status, finding }) => [check, status, finding]),
    [
      ['slow', 'Attention', 'no answer within 0.02 seconds'],
      ['broken', 'Attention', 'the check failed: password=[redacted]'],
    ],
  );
});

test('the support bundle has versions, settings and log lines, but no secret and no card data', async (t) => {
  const { folder, variables } = await createInstallation(t);
  const pan = `4${'1'.repeat(15)}`;
  const logFile = join(folder, 'switchyard.log');
  const lines = [
    JSON.stringify({ level: 'info', msg: 'ready' }),
    JSON.stringify({ level: 'warn', msg: `card ${pan}`, pin: '1234567' }),
    `{"track": ";${pan}=30122010000000000000?`,
    'merchant demo@demo 9667j-3mv67',
  ];
  await writeFile(logFile, `${lines.join('\n')}\n`);
  const bundle = join(folder, 'bundle.json');
  const url = new URL(variables['SWITCHYARD_DATABASE_URL'] ?? '');
  url.searchParams.set('password', 'key-word-of-db');
  const settings = {
    ...variables,
    SWITCHYARD_DATABASE_URL: url.href,
    SWITCHYARD_LOG_LEVEL: 'warn',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=key-word-of-collector',
  };
  const { stderr } = await diagnose(settings, '--bundle', bundle, '--log-file', logFile);
  assert.match(stderr, /The support bundle is in/);
  const text = await readFile(bundle, 'utf8');
  const secrets = [
    pan,
    '1234567',
    '9667j-3mv67',
    'key-word-of-db',
    'key-word-of-collector',
    variables['SWITCHYARD_PLATFORM_KEY'] ?? '',
  ];
  for (const secret of secrets) assert.ok(!text.includes(secret), secret);
  const parsed = JSON.parse(text);
  assert.equal(parsed.versions.version, '0.1.0');
  assert.equal(parsed.settings.SWITCHYARD_LOG_LEVEL, 'warn');
  assert.equal(parsed.settings.SWITCHYARD_PLATFORM_KEY, '[redacted]');
  assert.equal(parsed.settings.OTEL_EXPORTER_OTLP_ENDPOINT, 'http://127.0.0.1:4318');
  assert.equal(parsed.settings.OTEL_EXPORTER_OTLP_HEADERS, '[redacted]');
  assert.equal(parsed.log.length, 3);
  assert.match(parsed.log[0], /"msg":"ready"/);
  assert.ok(parsed.findings.length > 10);
  assert.equal((await stat(bundle)).mode & 0o777, 0o600);
  // An existing file is never replaced.
  const again = await runAdminCommand(['doctor', '--bundle', bundle], settings);
  assert.equal(again.code, 2);
  assert.match(again.stderr, /exists: name a new file/);
  const other = join(folder, 'other.json');
  const missingLog = ['doctor', '--bundle', other, '--log-file', join(folder, 'missing.log')];
  const withoutLog = await runAdminCommand(missingLog, settings);
  assert.equal(withoutLog.code, 2);
  assert.match(withoutLog.stderr, /missing\.log cannot be read/);
  const withoutBundle = await runAdminCommand(['doctor', '--log-file', logFile], settings);
  assert.equal(withoutBundle.code, 2);
  assert.match(withoutBundle.stderr, /--log-file needs --bundle/);
});

test('the table shows findings with advice, and an unknown option is wrong usage', async (t) => {
  const { database, variables } = await createInstallation(t);
  await database.query('UPDATE schema_migrations SET finished_at = NULL');
  const { code, stdout } = await runAdminCommand(['doctor'], variables);
  assert.equal(code, 1);
  assert.match(stdout, /^CHECK +STATUS +FINDING +ADVICE$/m);
  assert.match(
    stdout,
    /^database schema +Attention +the migrations 1 are not applied +Start a process/m,
  );
  assert.equal((await runAdminCommand(['doctor', '--bundel', 'x'], variables)).code, 2);
});
