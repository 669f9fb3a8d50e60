import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { signedInCommandLine } from '../support/processes/switchyard-command.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

let setup: TestOrganization;
let line: Awaited<ReturnType<typeof signedInCommandLine>>;
before(async () => {
  setup = await createTestOrganization();
  line = await signedInCommandLine(setup);
  await setup.platform.audit.checkpoint(setup.organizationId);
});
after(() => line.remove());

const rows = (name: string) => readFileSync(join(line.folder, name), 'utf8').trimEnd().split('\n');

// Spec: PROV-70
test('the chain of the server and its export verify with stored checkpoints and keys', async () => {
  const online = await line.run(['audit', 'verify', '--json']);
  assert.equal(online.code, 0, online.stderr);
  assert.equal(online.json().ok, true);
  assert.equal(online.json().checkpoints, 1);
  assert.equal((await line.run(['audit', 'export', '--out', 'a.jsonl'])).code, 0);
  const points = await line.run(['api', 'GET', '/audit/v1/checkpoints']);
  const keys = await line.run(['api', 'GET', '/audit/v1/keys']);
  const storedFiles = [
    '--checkpoints',
    line.file('c.json', points.stdout),
    '--keys',
    line.file('k.json', keys.stdout),
  ];
  const offline = await line.run(['audit', 'verify', '--file', 'a.jsonl', ...storedFiles], {
    env: { SWITCHYARD_CLI_URL: '', SWITCHYARD_CLI_HOME: join(line.folder, 'nobody') },
  });
  assert.equal(offline.code, 0, offline.stderr);
  assert.match(offline.stdout, /^The audit chain is complete and valid\./);
});

// Spec: PROV-70
test('a changed, missing or truncated record ends with 6 and names the sequence', async () => {
  const whole = rows('a.jsonl');
  const verify = (lines: string[]) =>
    line.run([
      'audit',
      'verify',
      '--json',
      '--file',
      line.file('bad.jsonl', `${lines.join('\n')}\n`),
    ]);
  const changed = whole.map((row, at) =>
    at === 2 ? row.replace('"action":"', '"action":"x') : row,
  );
  for (const [lines, code, sequence] of [
    [changed, 'record_changed', 3],
    [whole.toSpliced(4, 1), 'record_missing', 5],
    [whole.slice(0, -1), 'records_truncated', whole.length],
  ] as const) {
    const ended = await verify([...lines]);
    assert.equal(ended.code, 6, ended.stderr);
    assert.deepEqual(
      [ended.json().faults[0].code, ended.json().faults[0].sequence],
      [code, sequence],
    );
    assert.match(ended.stderr, RegExp(`broken at sequence ${sequence}`));
  }
});

test('an interrupted export continues after the last complete record', async () => {
  const whole = rows('a.jsonl');
  const cut = `${whole.slice(0, 3).join('\n')}\n${whole[3]?.slice(0, 40)}`;
  line.file('part.jsonl', cut);
  const ended = await line.run(['audit', 'export', '--out', 'part.jsonl', '--continue']);
  assert.equal(ended.code, 0, ended.stderr);
  assert.deepEqual(rows('part.jsonl').slice(0, whole.length), whole);
});
