// Whole run: commands as users start them, each a process of its own.
// Packs the packages, installs them into an empty folder without a registry, and runs them: under Node of the
// repository, and under an older Node if the machine has one.
import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, posix } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { testSchemaUrl } from '../packages/server/test/support/database/test-database.ts';
import { freePorts } from '../packages/server/test/support/free-ports.ts';
import {
  createServerProcess,
  type ServerProcess,
} from '../packages/server/test/support/processes/server-process.ts';
import { startQrProvider } from '../packages/simulators/src/index.ts';
import { publishedPackages } from './pack/packages.ts';
import { runPack } from './pack/run.ts';
import { createTarball } from './pack/tarball.ts';
import { repositoryRoot } from './repository-root.ts';
import { compilerCommand } from './test-runner/static-checks.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-packed-'));
const scope = 'node_modules/@switchyard';
const stepLimitMs = 200_000;
after(() => rmSync(folder, { recursive: true, force: true }));

/** The program of the machine, not the locked copy of the repository. */
function findOnMachine(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((entry) => entry !== '' && !entry.includes('node_modules'))
    .map((entry) => join(entry, name))
    .find((file) => existsSync(file));
}

function findNodeVersions(): { version: string; node: string }[] {
  const older = findOnMachine('node');
  return [process.execPath, ...(older === undefined ? [] : [older])]
    .map((node) => ({ node, version: spawnSync(node, ['-v'], { encoding: 'utf8' }).stdout.trim() }))
    .filter(({ version }) => Number.parseInt(version.slice(1), 10) >= 20);
}

function run(node: string, args: readonly string[], cwd = folder): SpawnSyncReturns<string> {
  const env = { PATH: `${dirname(node)}${delimiter}/usr/bin${delimiter}/bin`, HOME: folder };
  return spawnSync(node, args, { cwd, env, encoding: 'utf8', timeout: stepLimitMs });
}

/** Like `run`, without blocking the servers of this process. */
function runAsync(
  node: string,
  args: readonly string[],
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const env = { PATH: dirname(node), HOME: folder };
    const child = spawn(node, args, { cwd: folder, env, timeout: stepLimitMs });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? -1, output }));
  });
}

type Packed = { files: string[]; sums: string[] };

async function packInto(out: string): Promise<Packed> {
  let output = '';
  const stdout = { write: (text: string) => (output += text) };
  assert.equal(await runPack(['--out', out], stdout, stdout), 0, output);
  const lines = output.trim().split('\n');
  return {
    files: lines.map((line) => line.slice(66)),
    sums: lines.map((line) => line.slice(0, 64)),
  };
}

let packResult: Promise<Packed> | undefined;

/** All tests share one build, which takes several seconds. */
function packOnce(): Promise<Packed> {
  packResult ??= packInto(join(folder, 'packed'));
  return packResult;
}

/** The unpacked size, as npm counts it. */
const maxBytes = {
  contract: 1_600_000,
  nexo: 400_000,
  'sdk-pos': 600_000,
  'sdk-provider': 1_100_000,
  'sdk-device': 1_100_000,
  cli: 2_900_000,
};
const diskBlock = 4096;

const libraries = publishedPackages
  .filter((name) => name !== 'cli')
  .map((name) => `@switchyard/${name}`);

/** How programs in TypeScript are compiled; `.cts` is CommonJS. Declarations are checked once. */
const compilations = [
  { module: 'nodenext', moduleResolution: 'nodenext', files: ['typed.ts', 'typed.cts'] },
  { module: 'node16', moduleResolution: 'node16', files: ['typed.ts', 'typed.cts'] },
  { module: 'preserve', moduleResolution: 'bundler', files: ['typed.ts'] },
];

/** Uses each value that the packages export: all of them have a type. */
function createUseOfEveryValue(): string {
  return libraries
    .map((name, index) => {
      const { stdout } = run(process.execPath, ['-p', `Object.keys(require('${name}')).join()`]);
      const values = stdout.trim().split(',');
      const imported = values.map((value) => `${value} as ${value}${index}`);
      const used = values.map((value) => `${value}${index}`);
      return `import { ${imported} } from '${name}';\nexport const all${index}: unknown[] = [${used}];\n`;
    })
    .join('');
}

/** Names and texts, as a reader of ustar finds them. */
function readTarball(file: string): Map<string, string> {
  const bytes = gunzipSync(readFileSync(file));
  const files = new Map<string, string>();
  const text = (from: number, length: number) =>
    bytes.toString('utf8', from, from + length).replace(/\0.*$/s, '');
  for (let at = 0; bytes[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const prefix = text(at + 345, 155);
    const name = `${prefix === '' ? '' : `${prefix}/`}${text(at, 100)}`;
    files.set(name, bytes.toString('utf8', at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

function readFileSizes(file: string): number[] {
  return [...readTarball(file).values()].map((text) => Buffer.byteLength(text));
}

const importScript = `
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { isErrorCode, providerCallText } from '@switchyard/contract';
import { createDeviceClient, openOfflineQueue } from '@switchyard/sdk-device';
import { formatDecimalAmount } from '@switchyard/nexo';
import { createPosClient, createTerminal, fileServiceStore, PosError } from '@switchyard/sdk-pos';
import { createProviderHttpHandler, signCall, verifyCall } from '@switchyard/sdk-provider';
assert.equal(formatDecimalAmount(1250, 'EUR'), '12.50');
const credentials = { fetchToken: async () => ({ token: 'a', expiresAt: Date.now() + 60_000 }) };
const client = createPosClient({ baseUrl: 'http://127.0.0.1:1', credentials });
const transport = { kind: 'cloud', client, tsn: '10000001' };
const store = fileServiceStore('tills/' + process.version + '.jsonl');
const terminal = createTerminal({ saleId: 'till-3', poiId: '10000001', transport, store });
await terminal.open();
const order = { amount: 1250, currency: 'EUR', transactionId: '4711' };
const isAway = (error) => error instanceof PosError && error.code === 'unreachable';
await assert.rejects(terminal.sale(order), isAway);
assert.deepEqual(await store.load(), [], 'nothing was sent, so nothing is stored');
client.close();
assert.ok(isErrorCode('amount_zero'));
const secrets = ['whsec_' + Buffer.alloc(32, 1).toString('base64')];
const text = providerCallText('GET', '/health');
const headers = signCall({ id: 'msg-1', at: Date.now(), text, secrets });
assert.equal(verifyCall({ headers, text, secrets }).isGenuine, true);
assert.equal(verifyCall({ headers, text: text + ' ', secrets }).isGenuine, false);
const none = () => { throw new Error('not called'); };
const provider = { create: none, find: none, cancel: none, refund: none, findRefund: none };
const server = createServer(createProviderHttpHandler({ provider, secrets }));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = 'http://127.0.0.1:' + server.address().port + '/health';
assert.equal((await fetch(url)).status, 401);
assert.equal((await fetch(url, { headers })).status, 200);
server.closeAllConnections();
server.close();
const device = createDeviceClient({ tsn: '1', registerUrl: 'ws://127.0.0.1:1/', retryDelays: { firstMs: 1 } });
const failed = new Promise((resolve) => device.on('error', resolve));
device.start();
assert.equal((await failed).code, 'unreachable');
await device.stop();
const offline = { file: 'offline/queue', key: Buffer.alloc(32, 1) };
const sale = { clientTransactionId: process.version, amount: 1, currency: 'EUR', entryMode: 'Keyed', instrument: { token: 't' } };
const queue = openOfflineQueue(offline);
queue.add(sale, { authorizationCode: '1', reason: 'NoConnection' });
queue.close();
const again = openOfflineQueue(offline);
assert.ok(again.sales.some((each) => each.clientTransactionId === process.version));
again.close();
console.log('complete');
`;

/** A terminal and a point of sale of the SDKs, both connected to the platform, pay EUR 12.50. */
const saleScript = `
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { answerTo, isMessage, readMessage, toMinorUnits, writeMessage } from '@switchyard/nexo';
import { createDeviceClient, createPaymentClient, machineTokens } from '@switchyard/sdk-device';
import { authorizedAmount, createPosClient, createTerminal, fileServiceStore } from '@switchyard/sdk-pos';
const demo = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { tsn, certFile, keyFile } = demo.devices[0];
const [ca, cert, key] = [demo.caFile, certFile, keyFile].map((file) => readFileSync(file, 'utf8'));
const { baseUrl, authUrl, deviceAuthUrl } = demo;
const tls = { ca, cert, key };
const tokens = machineTokens({ authUrl, deviceAuthUrl, tls });
const payments = createPaymentClient({ baseUrl, tokens, tls });
const number = '4'.padEnd(16, '1');
const instrument = { card: { number, expiryMonth: 12, expiryYear: 2030 } };
const device = createDeviceClient({
  tsn, tls, registerUrl: baseUrl.replace('https:', 'wss:') + '/cloud-connector/v1/device-listener',
});
device.on('message', async ({ data }) => {
  const { message } = readMessage(data.toString('utf8'));
  assert.ok(isMessage(message, 'Payment', 'Request'));
  const { SaleData, PaymentTransaction } = message.body;
  const { Currency: currency, RequestedAmount: asked } = PaymentTransaction.AmountsReq;
  const amount = toMinorUnits(asked, currency);
  const sale = { clientTransactionId: randomUUID(), amount, currency, entryMode: 'Keyed', instrument };
  const made = await payments.sell(sale);
  const POITransactionID = { TransactionID: made.transactionId, TimeStamp: made.createdAt };
  const answer = {
    Response: { Result: made.approved ? 'Success' : 'Failure' },
    SaleData, POIData: { POITransactionID },
    PaymentResult: { PaymentType: 'Normal', AmountsResp: { Currency: currency, AuthorizedAmount: asked } },
  };
  await device.send(writeMessage(answerTo(message, answer)));
});
device.start();
const { clientId, clientSecret } = demo.applications.cloud;
const client = createPosClient({
  baseUrl, posId: 'till-3', tls: { ca },
  credentials: { tokenUrl: authUrl + '/oauth2/v1/' + demo.userDomainId + '/token', clientId, clientSecret },
});
const store = fileServiceStore('tills/sale-' + process.version + '.jsonl');
const transport = { kind: 'cloud', client, tsn, waitSeconds: 30 };
const terminal = createTerminal({ saleId: 'till-3', poiId: tsn, transport, store });
assert.deepEqual(await terminal.open(), []);
const answer = await terminal.sale({ amount: 1250, currency: 'EUR', transactionId: '4711' });
assert.equal(answer.result, 'Success');
assert.equal(authorizedAmount(answer.message, 'EUR'), 1250);
const { TransactionID } = answer.message.body.POIData.POITransactionID;
const { state, capturedAmount, currency } = await payments.find(TransactionID);
await terminal.close();
client.close();
await device.stop();
payments.close();
tokens.close();
store.close();
console.log(state, capturedAmount, currency);
`;

/** The same program for a CommonJS project. */
const requireScript = `(async () => {${importScript.replaceAll(/^import (.+) from (.+);$/gm, 'const $1 = require($2);')}})();`;

/** `require` and `import` load the same values, so a class has one identity in a program. */
const consumerScript = `
const assert = require('node:assert/strict');
(async () => {
  for (const name of process.argv.slice(2)) {
    const required = require(name);
    const imported = await import(name);
    assert.deepEqual(Object.keys(imported), Object.keys(required).toSorted(), name);
    for (const key of Object.keys(required)) assert.equal(imported[key], required[key], key);
  }
  console.log('same');
})();
`;

const typedProgram = `
import type { Problem } from '@switchyard/contract';
import { type QrProvider, signCall } from '@switchyard/sdk-provider';
export const headers: Record<string, string> = signCall({ id: 'a', at: 1, text: '', secrets: [] });
export const findNothing: QrProvider['find'] = () => undefined;
export const codeOf = ({ code }: Problem): string => code;
// @ts-expect-error: a call has an id
signCall({ at: 1, text: '', secrets: [] });
import { createTerminal, type PosError, type TerminalResponse, type TerminalSettings } from '@switchyard/sdk-pos';
export const isOpen = ({ outcome }: PosError): boolean => outcome === 'Unknown';
export const paid = ({ message }: TerminalResponse<'Payment'>): number | undefined =>
  message.body.PaymentResult?.AmountsResp?.AuthorizedAmount;
export const made = (settings: TerminalSettings) => createTerminal({ ...settings, saleId: 'till-3' });
// @ts-expect-error: a till has a store
createTerminal({ saleId: 'a', poiId: 'b', transport: { kind: 'local', url: 'https://a/nexo' } });
import { createDeviceClient, type DeviceError, type OfflineQueue } from '@switchyard/sdk-device';
export const waiting = ({ sales }: OfflineQueue): number => sales.length;
export const isSafe = ({ kind }: DeviceError): boolean => kind === 'NotSent';
// @ts-expect-error: a terminal has a name
createDeviceClient({ registerUrl: 'wss://pay.example/' });
`;

// Spec: QRPROV-46
describe('the packed packages', () => {
  let files: string[];
  before(async () => {
    ({ files } = await packOnce());
  });

  test('the same sources make the same bytes', async () => {
    const { sums } = await packInto(join(folder, 'again'));
    assert.deepEqual(sums, (await packOnce()).sums);
    assert.equal(new Set(sums).size, publishedPackages.length);
  });

  test('each tarball contains JavaScript, declarations and all its dependencies, and no path of this machine', () => {
    for (const file of files) {
      const content = readTarball(file);
      const names = [...content.keys()];
      const packedNames = names.filter((name) => !/node_modules\/(?!@switchyard\/)/.test(name));
      assert.ok(
        packedNames.includes('package/LICENSE') && packedNames.includes('package/package.json'),
      );
      assert.deepEqual(
        packedNames.filter((name) => /(?<!\.d)\.ts$|\.test\./.test(name)),
        [],
      );
      for (const name of packedNames) {
        const text = content.get(name) ?? '';
        assert.ok(!text.includes(repositoryRoot), `${name} names ${repositoryRoot}`);
        if (!/\.(?:js|d\.ts)$/.test(name)) continue;
        assert.doesNotMatch(text, /from '\.[^']*\.ts'/, name);
        for (const [, specifier = ''] of text.matchAll(/\bfrom '(\.[^']*)'/g)) {
          const path = name.endsWith('.d.ts') ? specifier.replace(/\.js$/, '.d.ts') : specifier;
          assert.ok(content.has(posix.join(dirname(name), path)), `${name} needs ${specifier}`);
        }
      }
      const manifest = JSON.parse(content.get('package/package.json') ?? '');
      assert.deepEqual(manifest.engines, { node: '>=20.3.0' });
      const dependencies = Object.keys(manifest.dependencies ?? {});
      assert.deepEqual(dependencies, manifest.bundleDependencies ?? []);
      for (const name of dependencies) {
        assert.ok(content.has(`package/node_modules/${name}/package.json`), `${file}: ${name}`);
      }
    }
  });

  // Spec: QRPROV-47
  test('no package is larger than its limit, and sdk-pos takes less than 1 MB of a disk', () => {
    const limits = Object.values(maxBytes);
    assert.deepEqual(Object.keys(maxBytes), [...publishedPackages]);
    for (const [index, file] of files.entries()) {
      const bytes = readFileSizes(file).reduce((sum, size) => sum + size, 0);
      assert.ok(bytes <= (limits[index] ?? 0), `${file}: ${bytes} bytes`);
    }
    const sdkPosFile = files.find((file) => file.includes('sdk-pos')) ?? '';
    const blocks = readFileSizes(sdkPosFile).reduce(
      (sum, size) => sum + Math.ceil(size / diskBlock),
      0,
    );
    assert.ok(blocks * diskBlock < 1_000_000, `${blocks * diskBlock} bytes on a disk`);
  });

  test('a package contains the TypeBox license exactly if it contains TypeBox code or types', () => {
    for (const file of files) {
      const content = readTarball(file);
      const containsTypeBox = [...content].some(
        ([name, text]) =>
          name.includes('/types/typebox/') || text.includes('node_modules/typebox/'),
      );
      const license = content.get('package/THIRD-PARTY-LICENSES.txt');
      assert.equal(license !== undefined, containsTypeBox, file);
      if (containsTypeBox)
        assert.match(license ?? '', /typebox 1\.\d+\.\d+[\s\S]*Permission is hereby granted/);
    }
  });

  test('a name that is too long for a tarball is refused, and a long one is cut at a slash', () => {
    const bytes = Buffer.from('x');
    const long = `${'d'.repeat(90)}/${'e'.repeat(50)}/${'f'.repeat(90)}`;
    const file = join(folder, 'long.tgz');
    writeFileSync(file, createTarball([{ path: long, bytes }]));
    assert.deepEqual([...readTarball(file)], [[`package/${long}`, 'x']]);
    assert.throws(() => createTarball([{ path: 'g'.repeat(101), bytes }]), RangeError);
  });

  test('an unknown option ends with 2 and prints the usage', async () => {
    let text = '';
    const output = { write: (part: string) => (text += part) };
    assert.equal(await runPack(['--where', 'x'], output, output), 2);
    assert.match(text, /--out <folder>/);
  });
});

const skipWithoutNpm = { skip: findOnMachine('npm') === undefined && 'no npm' };

/** The machine's own npm, as its users start it: without the variables of the npm that runs this test. */
function runNpm(cwd: string, ...args: string[]): SpawnSyncReturns<string> {
  const { PATH } = process.env;
  const env = { PATH: `${dirname(findOnMachine('npm') ?? '')}${delimiter}${PATH}`, HOME: folder };
  return spawnSync(findOnMachine('npm') ?? '', args, {
    cwd,
    env,
    encoding: 'utf8',
    timeout: stepLimitMs,
  });
}

function installInto(cwd: string, type: 'module' | 'commonjs', files: readonly string[]): void {
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ private: true, type }));
  const flags = '--offline --no-audit --no-fund --ignore-scripts --loglevel=error'.split(' ');
  // No server listens there, so a request to a registry fails.
  const unusedRegistry = ['--registry', 'http://127.0.0.1:1', '--cache', join(folder, 'cache')];
  const { status, stderr } = runNpm(cwd, 'install', ...flags, ...unusedRegistry, ...files);
  assert.equal(status, 0, stderr);
}

test('npm 8, which packs the folder of a package, packs no sources', () => {
  for (const name of publishedPackages) {
    const manifest = JSON.parse(
      readFileSync(join(repositoryRoot, 'packages', name, 'package.json'), 'utf8'),
    );
    assert.deepEqual(manifest.files, [], name);
  }
});

describe('npm pack in the folder of a package', skipWithoutNpm, () => {
  for (const name of publishedPackages) {
    // Spec: QRPROV-48
    test(`npm pack is refused and names npm run pack: ${name}`, () => {
      const cwd = join(repositoryRoot, 'packages', name);
      const { status, stderr } = runNpm(cwd, 'pack', '--pack-destination', folder);
      assert.notEqual(status, 0);
      assert.match(stderr, /Run `npm run pack` in the root of the repository/);
      assert.ok(!existsSync(join(folder, `switchyard-${name}-0.1.0.tgz`)));
    });
  }
});

describe('installed without a registry', skipWithoutNpm, () => {
  before(async () => installInto(folder, 'module', (await packOnce()).files));

  // Spec: QRPROV-47
  test('sdk-pos alone, in an empty folder, is used by import and by require', async () => {
    const alone = mkdtempSync(join(folder, 'alone-'));
    const { files } = await packOnce();
    installInto(
      alone,
      'commonjs',
      files.filter((file) => file.includes('sdk-pos')),
    );
    writeFileSync(join(alone, 'both.js'), consumerScript);
    for (const { node, version } of findNodeVersions()) {
      const { stdout, stderr } = run(node, ['both.js', '@switchyard/sdk-pos'], alone);
      assert.equal(stdout, 'same\n', `${version}: ${stderr}`);
    }
  });

  for (const { node, version } of findNodeVersions()) {
    test(`the command and the SDKs run under Node ${version}`, async () => {
      const bin = join(folder, scope, 'cli/bin/switchyard.cjs');
      const result = run(node, [bin, '--version']);
      assert.equal(result.status, 0, result.stderr);
      assert.equal(result.stdout, '0.1.0\n');
      const helped = run(node, [bin, '--help']);
      assert.match(helped.stdout, /acquirer/);
      const unsigned = run(node, [bin, '--json', 'audit', 'list']);
      assert.equal(unsigned.status, 3, unsigned.stderr);
      writeFileSync(join(folder, 'sdk.js'), importScript);
      const sdk = run(node, ['sdk.js']);
      assert.equal(sdk.stdout, 'complete\n', sdk.stderr);
    });

    test(`the SDKs run in a CommonJS program under Node ${version}`, () => {
      const program = mkdtempSync(join(folder, 'commonjs-'));
      writeFileSync(join(program, 'sdk.cjs'), requireScript);
      const sdk = run(node, ['sdk.cjs'], program);
      assert.equal(sdk.stdout, 'complete\n', sdk.stderr);
      writeFileSync(join(program, 'both.cjs'), consumerScript);
      const { stdout, stderr } = run(node, ['both.cjs', ...libraries], program);
      assert.equal(stdout, 'same\n', stderr);
    });
  }

  for (const { node, version } of findNodeVersions()) {
    test(`a provider is checked by the command under Node ${version}`, async () => {
      const dataDir = mkdtempSync(join(folder, 'provider-'));
      const provider = await startQrProvider({
        host: '127.0.0.1',
        port: 0,
        platform: 'check',
        path: '/spi',
        dataDir,
        stepMs: 5,
        retryMs: [20],
      });
      try {
        const bin = join(folder, scope, 'cli/bin/switchyard.cjs');
        const secret = ['--secret-file', join(dataDir, 'signing-secret')];
        const times = ['--settle', '1', '--retry-wait', '5', '--wait', '10'];
        const amounts = ['--paid-amount', '1000', '--pending-amount', '9009'];
        const args = [bin, 'provider', 'conformance', provider.url, ...secret, ...times];
        const { code, output } = await runAsync(node, [...args, ...amounts]);
        assert.equal(code, 0, output);
        assert.match(output, /(\d+) of \1 checks passed/);
      } finally {
        await provider.stop();
      }
    });
  }

  describe('with a running platform', () => {
    let platform: ServerProcess;
    before(async () => {
      const ports = (await freePorts(4)).map(String);
      const [SWITCHYARD_PORT = '', SWITCHYARD_DEVICE_PORT = '', ...more] = ports;
      const [SWITCHYARD_METRICS_PORT = '', SWITCHYARD_ACQUIRER_PORT = ''] = more;
      platform = createServerProcess({
        SWITCHYARD_DATA_DIR: join(folder, 'platform'),
        SWITCHYARD_DATABASE_URL: await testSchemaUrl(),
        SWITCHYARD_PORT,
        SWITCHYARD_DEVICE_PORT,
        SWITCHYARD_METRICS_PORT,
        SWITCHYARD_ACQUIRER_PORT,
        SWITCHYARD_LOG_LEVEL: 'warn',
      });
      await platform.start();
    });
    after(() => platform.stop());

    for (const { node, version } of findNodeVersions()) {
      // Spec: NEXO-40
      test(`a terminal and a point of sale of the SDKs pay EUR 12.50 under Node ${version}`, async () => {
        writeFileSync(join(folder, 'sale.js'), saleScript);
        const facts = join(folder, 'platform/demo.json');
        const { code, output } = await runAsync(node, ['sale.js', facts]);
        assert.equal(code, 0, output);
        assert.equal(output, 'Captured 1250 EUR\n');
      });
    }
  });

  for (const { module, moduleResolution, files } of compilations) {
    test(`programs in TypeScript see the types: ${moduleResolution}, ${files.join(' and ')}`, () => {
      for (const file of files)
        writeFileSync(join(folder, file), typedProgram + createUseOfEveryValue());
      const compilerOptions = {
        module,
        moduleResolution,
        target: 'es2023',
        strict: true,
        noEmit: true,
        skipLibCheck: moduleResolution !== 'nodenext',
        types: ['node'],
        typeRoots: [join(repositoryRoot, 'node_modules/@types')],
      };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
      const [script, ...args] = compilerCommand;
      const ended = run(process.execPath, [join(repositoryRoot, script), ...args, '-p', folder]);
      assert.equal(ended.status, 0, ended.stdout);
    });
  }
});
