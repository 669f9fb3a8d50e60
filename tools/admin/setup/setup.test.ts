import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { testDatabaseCopyUrl } from '../../../packages/server/test/support/database/test-database.ts';
import { runAdminCommand } from '../run-admin-command.fixture.ts';
import type { StepResult } from './setup-steps.ts';

const answersOfOneOrganization = `Small Bank



127.0.0.1
8583
nein
no
123456

Café du Port
FR
5814
Europe/Paris
100000000000001
CAFE0001
CAFE0099


yes


AXIUM
DX8000
axium
70000001
`.split('\n');

async function createSetup(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-setup-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'setup.yaml');
  const variables = {
    SWITCHYARD_DATA_DIR: directory,
    SWITCHYARD_DATABASE_URL: await testDatabaseCopyUrl(),
    SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
  };
  const run = (options: readonly string[], answers: readonly string[] = []) =>
    runAdminCommand(['setup', '--file', file, ...options], variables, answers);
  return { file, run };
}

test('the command asks for the values of a missing file, saves them, and sets up an operator that is the acquirer', async (t) => {
  const { file, run } = await createSetup(t);
  const { code, stdout, stderr } = await run(['--show-secrets'], answersOfOneOrganization);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^STEP +RESULT +NAME +ID/i);
  const document = parse(await readFile(file, 'utf8'));
  assert.equal(document.acquirer, undefined);
  assert.deepEqual(document.link, {
    name: 'host',
    host: '127.0.0.1',
    port: 8583,
    tls: false,
    institutionId: '123456',
    dialect: 'iso1987-binary',
  });
  assert.equal(document.store.name, 'Café du Port');
  const secrets = stderr.split('\n').filter((line) => line.startsWith('{'));
  assert.deepEqual(
    secrets.map((line) => JSON.parse(line).resource),
    ['operator', 'application'],
  );
  // Now it leads to another port than the approved link, and the file of the secrets was readable.
  const changed = { operator: { name: 'Bank' }, link: { ...document.link, port: 8584 } };
  await writeFile(file, stringify({ ...document, ...changed }));
  const secretsFile = `${file}.secrets`;
  await writeFile(secretsFile, '', { mode: 0o644 });
  const again = await run(['--secrets-out', secretsFile, '--json']);
  assert.equal(again.code, 0, again.stderr);
  assert.equal((await stat(secretsFile)).mode & 0o777, 0o600);
  const { steps } = JSON.parse(again.stdout) as { steps: StepResult[] };
  assert.ok(steps.every(({ result }) => result === 'exists'));
  const approval = steps.find(({ step }) => step === 'approval of the link');
  assert.equal(approval?.name, '127.0.0.1:8583');
  assert.match(again.stderr, /The operator exists with other values of name; it was not changed\./);
  assert.match(again.stderr, /The link exists with other values of port; it was not changed\./);
  assert.match(again.stderr, /The platform connects to 127\.0\.0\.1:8583 within ten seconds/);
  const otherTerminal = { device: { ...document.device, serialNumber: '70000002' } };
  await writeFile(file, stringify({ ...document, ...otherTerminal }));
  const { stderr: notes } = await run(['--show-secrets']);
  assert.match(notes, /The terminal of the device exists with other values of physicalDeviceIds;/);
  assert.match(notes, /contract: the number of the merchant and of its terminals at the acquirer/);
  const otherLink = { link: { ...document.link, name: 'other', dialect: 'absent' } };
  await writeFile(file, stringify({ ...document, ...otherLink }));
  const failed = await run(['--show-secrets']);
  assert.notEqual(failed.code, 0);
  assert.match(failed.stderr, /dialect must be one of/);
  assert.match(failed.stderr, /The step "link" failed\. The steps before it are done\./);
});

test('without all answers the command writes no file and changes nothing', async (t) => {
  const { file, run } = await createSetup(t);
  const { code, stderr } = await run(['--show-secrets'], answersOfOneOrganization.slice(0, -2));
  assert.equal(code, 2);
  assert.match(stderr, /the input ended before the last answer/);
  assert.equal(existsSync(file), false);
});

test('the command names all errors of the file with their lines', async (t) => {
  const { file, run } = await createSetup(t);
  await writeFile(file, 'operator:\n  name: Bank\n  colour: blue\nlink:\n  port: many\n');
  const { code, stderr } = await run(['--show-secrets']);
  assert.equal(code, 2);
  assert.match(stderr, /line 3: \/operator\/colour is an unknown member/);
  assert.match(stderr, /line 5: \/link\/port must be integer/);
  assert.match(stderr, /must have required properties .*merchant/);
});

test('the command requires a place for the secrets', async (t) => {
  const { run } = await createSetup(t);
  const { code, stderr } = await run([]);
  assert.equal(code, 2);
  assert.match(stderr, /Name a file with --secrets-out/);
});
