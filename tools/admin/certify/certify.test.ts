// Whole run: commands as users start them, against the acquirer simulator.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { runWith } from '../../../packages/cli/src/command-line/run-command.fixture.ts';
import { defined } from '../../../packages/contract/src/index.ts';
import {
  builtInHosts,
  findHostTable,
  type HostTable,
  hostTableNames,
  readHostTable,
} from '../../../packages/iso8583/src/index.ts';
import {
  createSigningKey,
  publicSigningKey,
  readSettings,
} from '../../../packages/server/src/platform/index.ts';
import { type DemoKeyName, demoKeys } from '../../../packages/server/src/vault/index.ts';
import { testDatabaseCopyUrl } from '../../../packages/server/test/support/database/test-database.ts';
import { startAcquirerHost } from '../../../packages/simulators/src/index.ts';
import { repositoryRoot } from '../../repository-root.ts';
import { serverCommands } from '../server-commands.ts';
import type { Report } from './report-document.ts';
import type { CaseResult } from './run-case.ts';

const shippedPlan = join(repositoryRoot, 'deploy/certification/acquirer-plan.yaml');
const shippedCases = 96;
const cardNumber = '4111111111111111';

/** A TPDU, and a message authentication code on every message. */
const authenticatedTable = {
  name: 'authenticated',
  base: 'iso1987-ascii',
  framing: { length: 'binary2', tpduBytes: 5, tpdu: '6000010002' },
  mac: { algorithm: 'AesCmac', place: 'Last', over: 'BeforeField', messages: 'All' },
};

const setupFile = (port: number, dialect: HostTable['name']) => ({
  operator: { name: 'North Bank' },
  link: {
    name: 'north',
    host: '127.0.0.1',
    port,
    tls: false,
    institutionId: '123456',
    dialect,
    zonePinKey: { keyRef: 'demo-zpk', format: 'ISO0' },
    zoneMasterKey: { keyRef: 'demo-zmk' },
    ...defined({ macKey: dialect === 'authenticated' ? { keyRef: 'demo-mac-aes' } : undefined }),
  },
  merchant: { name: 'Café du Port', country: 'FR', mcc: '5814', timeZone: 'Europe/Paris' },
  contract: {
    acquirerMerchantId: '100000000000001',
    terminalIdRange: { from: 'CAFE0001', to: 'CAFE0099' },
    currencies: ['EUR'],
    captureModes: ['Immediate'],
  },
  store: { name: 'Café du Port' },
  device: {
    name: 'Counter 1',
    make: 'AXIUM',
    model: 'DX8000',
    family: 'axium',
    serialNumber: '70000001',
  },
  application: { name: 'Server' },
});

const tableWithoutSignOn = {
  name: 'without-sign-on',
  base: 'iso1987-ascii',
  network: { signOnBy: 'None', echoSeconds: null },
};

/** A platform with a link to a simulator of its own, and a copy of the shipped plan with short waits. */
async function startPlatform(table: HostTable) {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-certify-'));
  const key = (name: DemoKeyName, algorithm: 'Tdes' | 'Aes' = 'Tdes') => ({
    algorithm,
    key: demoKeys(directory).key(name),
  });
  const host = await startAcquirerHost({
    host: '127.0.0.1',
    port: 0,
    ledgerDir: join(directory, 'ledger'),
    lateMs: 1500,
    slowMs: 300,
    dialect: table,
    keys: {
      zonePin: key('demo-zpk'),
      zoneMaster: key('demo-zmk'),
      mac: key('demo-mac-aes', 'Aes'),
    },
  });
  const env = {
    SWITCHYARD_DATA_DIR: directory,
    SWITCHYARD_DATABASE_URL: await testDatabaseCopyUrl(),
    SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
  };
  const run = (args: readonly string[], stopping?: AbortSignal) =>
    runWith(args, { env, serverCommands, ...defined({ stopping }) });
  await mkdir(join(directory, 'dialects'));
  for (const each of [authenticatedTable, tableWithoutSignOn])
    await writeFile(join(directory, 'dialects', `${each.name}.json`), JSON.stringify(each));
  const setup = join(directory, 'setup.yaml');
  await writeFile(setup, stringify(setupFile(host.port, table.name)));
  const { code, stderr } = await run(['admin', 'setup', '--file', setup, '--show-secrets']);
  assert.equal(code, 0, stderr);
  const plan = join(directory, 'plan.yaml');
  const shipped = await readFile(shippedPlan, 'utf8');
  const quickPlan = shipped
    .replace('timeoutSeconds: 10', 'timeoutSeconds: 1')
    .replace('echoIntervalSeconds: 5', 'echoIntervalSeconds: 1');
  await writeFile(plan, quickPlan);
  const report = join(directory, 'report');
  const certify = (options: readonly string[] = [], stopping?: AbortSignal) =>
    run(
      ['acquirer', 'certify', '--link', 'north', '--plan', plan, '--report', report, ...options],
      stopping,
    );
  const stop = async () => {
    await host.stop();
    await rm(directory, { recursive: true, force: true });
  };
  const readReport = async () =>
    JSON.parse(await readFile(join(report, 'report.json'), 'utf8')) as Report;
  return { directory, env, plan, quickPlan, report, run, certify, readReport, stop };
}

type TestPlatform = Awaited<ReturnType<typeof startPlatform>>;

const findCase = ({ cases }: Report, id: string): CaseResult =>
  cases.find((each) => each.id === id) as CaseResult;

const partOf = ({ steps }: CaseResult, direction: 'Sent' | 'Received', field: string) =>
  steps
    .flatMap(({ messages }) => messages)
    .find((message) => message.direction === direction && message.mti[1] !== '8')
    ?.parts.find((part) => part.field === field);

// Spec: ACQ-20
test('the shipped plan passes against the simulator with each table of the platform', async () => {
  await Promise.all(
    hostTableNames.map(async (name) => {
      const platform = await startPlatform(findHostTable(name) as HostTable);
      try {
        const { code, stdout, stderr } = await platform.certify(['--json']);
        assert.equal(code, 0, `${name}: ${stdout}${stderr}`);
        const { totals, hostTable, durationMs } = JSON.parse(stdout) as Report;
        assert.deepEqual(totals, { passed: shippedCases, failed: 0, skipped: 0, notRun: 0 });
        assert.equal(hostTable.name, name);
        assert.ok(durationMs > 0);
        await assertNoCardData(platform);
      } finally {
        await platform.stop();
      }
    }),
  );
});

test('cases of a sign-on or an echo test are skipped for a host without them', async (t) => {
  const platform = await startPlatform(readHostTable(tableWithoutSignOn));
  t.after(() => platform.stop());
  const { code, stdout, stderr } = await platform.certify(['--only', 'NET-0']);
  assert.equal(code, 0, stdout + stderr);
  const report = await platform.readReport();
  for (const id of ['NET-01', 'NET-04'])
    assert.match(findCase(report, id).reason ?? '', /signOnBy/);
  assert.match(findCase(report, 'NET-02').reason ?? '', /echoSeconds/);
});

test('messages with a TPDU and an authentication code pass, and the report has their bytes', async (t) => {
  const platform = await startPlatform(readHostTable(authenticatedTable));
  t.after(() => platform.stop());
  const { code, stdout, stderr } = await platform.certify(['--only', 'SALE-0']);
  assert.equal(code, 0, stdout + stderr);
  const messages = findCase(await platform.readReport(), 'SALE-01').steps.flatMap(
    (step) => step.messages,
  );
  const [signOn, sale, response] = ['0800', '0200', '0210'].map((type) =>
    messages.find(({ mti }) => mti === type),
  );
  assert.equal(signOn?.parts.at(-1)?.field, '128');
  for (const [message, tpdu] of [
    [sale, '6000010002'],
    [response, '6000020001'],
  ] as const) {
    const [header, type] = message?.parts ?? [];
    assert.ok(header?.bytes.endsWith(tpdu), header?.bytes);
    assert.equal(type?.offset, 7);
    assert.equal(message?.parts.at(-1)?.field, '64');
  }
});

/** No file of the report has a card number, a track, a security code or a PIN block, in any encoding. */
async function assertNoCardData({ report, readReport }: TestPlatform): Promise<void> {
  const hex = Buffer.from(cardNumber).toString('hex').toUpperCase();
  for (const name of ['report.json', 'report.html', 'state.json']) {
    const text = (await readFile(join(report, name), 'utf8')).replaceAll(' ', '');
    for (const secret of [cardNumber, hex, '5555555555554444', '4000000000004202'])
      assert.ok(!text.includes(secret), `${name} has a card number`);
  }
  const document = await readReport();
  assert.match(
    partOf(findCase(document, 'SALE-01'), 'Sent', '2')?.value ?? '',
    /^411111\*{6}1111$/,
  );
  assert.match(partOf(findCase(document, 'SALE-04'), 'Sent', '35')?.value ?? '', /^\*+$/);
  const pinBlock = partOf(findCase(document, 'PIN-01'), 'Sent', '52');
  assert.match(pinBlock?.value ?? '', /^\*{16}$/);
  assert.match(pinBlock?.bytes ?? '', /^\*+$/);
  const newKey = findCase(document, 'NET-06').steps.at(1)?.messages;
  const keyValues = newKey?.flatMap(({ parts }) => parts).filter(({ field }) => field === '48');
  assert.ok(keyValues?.every(({ value }) => /^\*+$/.test(value)));
  const moto = findCase(document, 'MOTO-02').steps.flatMap(({ messages }) => messages);
  const sent = moto.find(({ direction, mti }) => direction === 'Sent' && mti[1] !== '8');
  const privateData = sent?.parts.find(
    ({ field, value }) => field !== '2' && value.includes('***'),
  );
  assert.ok(['48', '49', '63', '127'].includes(privateData?.field ?? ''), privateData?.value);
  assert.match(privateData?.bytes ?? '', /^\*+$/);
}

describe('a certification run', () => {
  let platform: TestPlatform;
  before(async () => {
    platform = await startPlatform(builtInHosts['iso1993-ascii']);
  });
  after(() => platform.stop());

  test('a wrong expectation fails with the field that differs', async () => {
    const { certify, readReport, plan, quickPlan } = platform;
    const wrong = quickPlan.replace(
      "amount: 19010\n        expect: { outcome: Approved, responseCode: '10', amount: 9505,",
      "amount: 19010\n        expect: { outcome: Approved, responseCode: '00', amount: 9505,",
    );
    assert.notEqual(wrong, quickPlan);
    await writeFile(plan, wrong);
    const { code, stdout } = await certify(['--only', 'SALE-20', '--restart']);
    assert.equal(code, 10);
    assert.match(stdout, /SALE-20 +Sale 19010 +field 39 +00 +10/);
    assert.match(stdout, /^0 passed, 1 failed, 0 skipped, 95 not run; /m);
    const document = await readReport();
    const [step] = findCase(document, 'SALE-20').steps;
    assert.deepEqual(step?.differences, [{ where: 'field 39', expected: '00', received: '10' }]);
    // The bytes of the host have the action code of 1993.
    assert.equal(partOf(findCase(document, 'SALE-20'), 'Received', '39')?.value, '002');
    assert.match(partOf(findCase(document, 'SALE-20'), 'Received', '39')?.bytes ?? '', /^303032$/);
    await writeFile(plan, quickPlan);
  });

  // Spec: ACQ-20
  test('the audit key signs the report, and a changed byte is found', async () => {
    const { certify, directory, env, report, run } = platform;
    const { code } = await certify(['--only', 'SALE-01', '--restart']);
    assert.equal(code, 0);
    const keys = join(directory, 'keys.json');
    const [header = ''] = (await readFile(join(report, 'report.json.jws'), 'utf8')).split('.');
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
    const { key } = createSigningKey(readSettings(env).platformKey, 'audit checkpoints');
    assert.equal(kid, key.kid);
    await writeFile(keys, JSON.stringify({ keys: [key] }));
    const document = join(report, 'report.json');
    const verify = () => run(['audit', 'verify', '--document', document, '--keys', keys]);
    const valid = await verify();
    assert.equal(valid.code, 0, valid.stderr);
    assert.match(valid.stdout, /The signature is valid for .*report\.json, .*report\.html\./);
    for (const name of ['report.html', 'report.json']) {
      const file = join(report, name);
      const bytes = await readFile(file);
      const changed = Buffer.from(bytes);
      changed[changed.length >> 1] = (changed[changed.length >> 1] ?? 0) ^ 1;
      await writeFile(file, changed);
      const invalid = await verify();
      assert.equal(invalid.code, 6, name);
      assert.match(invalid.stderr, /was changed/);
      await writeFile(file, bytes);
    }
    await writeFile(keys, JSON.stringify({ keys: [publicSigningKey('A'.repeat(43))] }));
    assert.match((await verify()).stderr, /is signed with a key that is not in the list/);
  });

  test('an interrupted run keeps its finished cases, and the next run continues', async () => {
    const { certify, report, readReport } = platform;
    await rm(report, { recursive: true });
    const stopping = new AbortController();
    const state = join(report, 'state.json');
    const timer = setInterval(() => {
      if (existsSync(state)) stopping.abort();
    }, 1);
    const interrupted = await certify([], stopping.signal);
    clearInterval(timer);
    assert.equal(interrupted.code, 130, interrupted.stderr);
    assert.match(interrupted.stderr, /The finished cases are stored/);
    const first = await readReport();
    const finished = first.cases.filter(({ result }) => result === 'Passed');
    assert.ok(finished.length > 0 && finished.length < shippedCases);
    assert.equal(first.totals.notRun, shippedCases - finished.length);
    const { code, stderr } = await certify();
    assert.equal(code, 0, stderr);
    const second = await readReport();
    assert.equal(second.totals.passed, shippedCases);
    assert.deepEqual(findCase(second, 'NET-01'), findCase(first, 'NET-01'));
    const from = await certify(['--from', 'OFFLINE-02']);
    assert.match(from.stderr, /^ok +OFFLINE-02 .*\nok +OFFLINE-03 [^\n]*\n$/);
  });

  test('the trace numbers of a terminal never repeat', async () => {
    const { certify, readReport } = platform;
    const numbers = new Set<string>();
    for (let run = 0; run < 2; run += 1) {
      await certify(['--only', 'SALE-17']);
      const { steps } = findCase(await readReport(), 'SALE-17');
      for (const { messages } of steps)
        for (const { mti, parts } of messages)
          if (mti === '1200') numbers.add(parts.find(({ field }) => field === '11')?.value ?? '');
    }
    assert.equal(numbers.size, 4);
  });

  test('finished cases of another plan do not count', async () => {
    const { certify, plan, quickPlan } = platform;
    await certify(['--only', 'SALE-01', '--restart']);
    await writeFile(plan, quickPlan.replace('title: Keyed card', 'title: Card number'));
    const { code, stderr } = await certify();
    assert.equal(code, 2);
    assert.match(stderr, /the plan has changed since the finished cases were run\..*--restart/);
    await writeFile(plan, quickPlan);
  });

  test('a plan must not use the terminal of a contract', async () => {
    const { certify, plan, quickPlan } = platform;
    await writeFile(plan, quickPlan.replace('second: CERT0002', 'second: CAFE0007'));
    const { code, stderr } = await certify();
    assert.equal(code, 2);
    assert.match(
      stderr,
      /second of the plan, CAFE0007, is in the terminalIdRange of a contract of a link/,
    );
    await writeFile(plan, quickPlan);
  });

  test('the errors of a plan have their lines', async () => {
    const { run, directory } = platform;
    const file = join(directory, 'wrong.yaml');
    await writeFile(
      file,
      `name: wrong
merchant: { number: '1', mcc: '5411', timeZone: Mars/Phobos }
terminals: { till: CERT0001 }
currency: EUR
amount: 1000
cards:
  visa: { number: '4111111111111111', expiry: '3012' }
cases:
  - id: A
    title: first
    card: amex
    steps:
      - { do: Capture }
      - { do: Sale, final: true, withPin: true }
  - id: A
    title: second
    steps:
      - { do: Await, mti: '0800' }
      - { do: Sale, original: first }
`,
    );
    const { code, stderr } = await run(['acquirer', 'certify', '--link', 'north', '--plan', file]);
    assert.equal(code, 2);
    for (const expected of [
      /line 2: \/merchant\/timeZone is no time zone: Mars\/Phobos/,
      /line 11: \/cases\/0\/card names no card of the plan: amex/,
      /line 13: \/cases\/0\/steps\/0 Capture needs an earlier Sale/,
      /line 14: \/cases\/0\/steps\/1\/final has no effect with "do: Sale"/,
      /line 14: \/cases\/0\/steps\/1\/withPin needs this data in the card/,
      /line 15: \/cases\/1\/id repeats the id A/,
      /line 18: \/cases\/1\/steps\/0 needs from with "do: Await"/,
      /line 19: \/cases\/1\/steps\/1\/original has no effect/,
    ])
      assert.match(stderr, expected);
  });

  test('a case that needs an operator is skipped without a terminal, and the report says why', async () => {
    const { run, directory, readReport, report } = platform;
    const file = join(directory, 'operator.yaml');
    await mkdir(report, { recursive: true });
    await writeFile(
      file,
      stringify({
        name: 'operator',
        merchant: { number: '900000000000999', mcc: '5411', timeZone: 'Europe/Paris' },
        terminals: { till: 'CERT0001' },
        currency: 'EUR',
        amount: 1000,
        cards: { visa: { number: cardNumber, expiry: '3012' } },
        cases: [
          { id: 'A', title: 'asks', steps: [{ do: 'Ask', text: 'Cut the connection now.' }] },
          {
            id: 'B',
            title: 'sale',
            steps: [{ do: 'Sale', expect: { hostFields: { 39: '000' } } }],
          },
        ],
      }),
    );
    const { code, stdout } = await run([
      'acquirer',
      'certify',
      '--link',
      'north',
      '--plan',
      file,
      '--report',
      report,
      '--restart',
    ]);
    assert.equal(code, 0);
    assert.match(stdout, /^1 passed, 0 failed, 1 skipped, 0 not run; /m);
    assert.match(
      findCase(await readReport(), 'A').reason ?? '',
      /standard input is not a terminal/,
    );
  });

  test('an unknown link is refused', async () => {
    const { run, plan } = platform;
    const { code, stderr } = await run(['acquirer', 'certify', '--link', 'south', '--plan', plan]);
    assert.equal(code, 5);
    assert.match(stderr, /No approved acquirer link has the id or the name south/);
  });
});
