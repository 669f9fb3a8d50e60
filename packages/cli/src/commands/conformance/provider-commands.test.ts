// Whole run: commands as users start them, each a process of its own.
// The conformance command in this process: against the reference provider, and against one that is wrong in each way.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { type BrokenMode, brokenModes, startQrProvider } from '@switchyard/simulators';
import { run } from '../../command-line/run-command.fixture.ts';
import { providerChecks } from '../../conformance/provider/provider-checks.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-provider-'));
after(() => rmSync(folder, { recursive: true }));

const amounts = ['--paid-amount', '1000', '--pending-amount', '9009', '--declined-amount', '9005'];
const times = ['--settle', '1', '--retry-wait', '5', '--wait', '10'];
const scanned = ['--scanned', '134567890123456789'];

/** The reference provider while `use` runs; its files are its own. */
async function providing<Result>(
  broken: BrokenMode | undefined,
  use: (
    check: (...more: string[]) => ReturnType<typeof run>,
    at: { url: string; secret: string[] },
  ) => Promise<Result>,
): Promise<Result> {
  const dataDir = mkdtempSync(join(folder, 'data-'));
  const provider = await startQrProvider({
    host: '127.0.0.1',
    port: 0,
    platform: 'check',
    path: '/spi',
    dataDir,
    stepMs: 5,
    retryMs: [20],
    lateMs: 1300,
    ...defined({ broken }),
  });
  const secret = ['--secret-file', join(dataDir, 'signing-secret')];
  try {
    const check = (...more: string[]) =>
      run('--json', 'provider', 'check', provider.url, ...secret, ...times, ...more);
    return await use(check, { url: provider.url, secret });
  } finally {
    await provider.stop();
  }
}

type Check = { check: string; fault: string; ok: boolean; detail?: string };
const checksIn = (stdout: string) => (JSON.parse(stdout) as { checks: Check[] }).checks;

test('the reference provider conforms: every check holds', async () => {
  const ended = await providing(undefined, (check) => check(...amounts, ...scanned));
  assert.equal(ended.code, 0, ended.stdout + ended.stderr);
  assert.equal(checksIn(ended.stdout).length, providerChecks.length);
  assert.equal(ended.stderr, '');
});

test('what needs an amount that is not named is left out, and said', async () => {
  const ended = await providing(undefined, (check) => check('--pending-amount', '9009'));
  assert.equal(ended.code, 0, ended.stdout + ended.stderr);
  const needless = providerChecks.filter(({ needs }) => needs === undefined);
  assert.equal(checksIn(ended.stdout).length, needless.length);
  const paid = providerChecks.filter(({ needs }) => needs === 'paidAmount');
  assert.deepEqual(ended.stderr.trimEnd().split('\n'), [
    'Left out without --declined-amount: 1 check of payments',
    'Left out without --scanned: 1 check of payments',
    `Left out without --paid-amount: ${paid.length} checks of cancels, refunds, events`,
  ]);
});

/** What never comes is not waited for as long as what comes late. */
const limitsOf: Partial<Record<BrokenMode, string[]>> = {
  'too-slow': ['--answer-within', '1'],
  'sends-no-events': ['--wait', '2'],
  'gives-up': ['--retry-wait', '2'],
  // Once more is at once: whoever looks for it need not be as quick.
  'repeats-acknowledged': ['--settle', '20'],
};

for (const mode of brokenModes) {
  test(`a provider that is wrong is told so: ${mode}`, async () => {
    const limits = limitsOf[mode] ?? [];
    const ended = await providing(mode, (check) =>
      check(...amounts, ...limits, '--only', ` ${mode} `),
    );
    assert.equal(ended.code, 10, ended.stdout + ended.stderr);
    const [found, ...others] = checksIn(ended.stdout);
    assert.deepEqual(others, []);
    assert.equal(found?.fault, mode);
    assert.equal(found?.ok, false);
    assert.ok((found?.detail ?? '').length > 10, JSON.stringify(found));
  });
}

test('each fault has a provider that has it, but for those that only others can have', () => {
  const modes: readonly string[] = brokenModes;
  const without = providerChecks
    .map(({ fault }) => fault)
    .filter((fault) => !modes.includes(fault));
  assert.deepEqual(without, ['tells-scanned-code', 'accepts-other-refund']);
  assert.equal(new Set(providerChecks.map(({ fault }) => fault)).size, providerChecks.length);
});

async function serving<Result>(
  listener: RequestListener,
  use: (url: string) => Promise<Result>,
): Promise<Result> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/spi`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

type Bend = (asked: Record<string, unknown>, status: number) => object | undefined;

/** Hands calls on to a provider that is right, and bends what it answers. */
function bending(target: string, bend: Bend): RequestListener {
  async function handOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const { method = 'GET', url = '', headers } = request;
    const body = Buffer.concat(parts);
    const { connection: _c, host: _h, 'content-length': _l, ...sent } = headers;
    const answer = await fetch(new URL(url, target), {
      method,
      headers: sent as Record<string, string>,
      ...(method === 'POST' ? { body } : {}),
    });
    const text = await answer.text();
    const bent = bend(method === 'POST' ? JSON.parse(String(body)) : {}, answer.status);
    const status = bent === undefined ? answer.status : 200;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(bent === undefined ? text : JSON.stringify({ ...JSON.parse(text), ...bent }));
  }
  return (request, response) => {
    handOn(request, response).catch(() => request.socket.destroy());
  };
}

test('what was scanned and stands in an answer is found, and a refund that becomes another', async () => {
  const found = (fault: string, bend: Bend) =>
    providing(undefined, (_check, { url, secret }) =>
      serving(bending(url, bend), async (bent) => {
        const args = [bent, ...secret, ...times, ...amounts, ...scanned, '--only', fault];
        const ended = await run('--json', 'provider', 'check', ...args);
        assert.equal(ended.code, 10, ended.stdout + ended.stderr);
        return checksIn(ended.stdout).map((each) => each.fault);
      }),
    );
  const tells: Bend = ({ scannedPaymentId }) =>
    typeof scannedPaymentId === 'string' ? { wallet: scannedPaymentId } : undefined;
  assert.deepEqual(await found('tells-scanned-code', tells), ['tells-scanned-code']);
  const takes: Bend = ({ refundId }, status) =>
    refundId !== undefined && status === 409 ? { refundId, status: 'Completed' } : undefined;
  assert.deepEqual(await found('accepts-other-refund', takes), ['accepts-other-refund']);
});

const secretFile = join(folder, 'secret');
writeFileSync(secretFile, `whsec_${Buffer.alloc(32, 5).toString('base64')}\n`);

test('a secret is made once, for its owner alone', async () => {
  const made = join(folder, 'made');
  const told = await run('provider', 'secret', made);
  assert.equal(told.code, 0, told.stderr);
  assert.match(readFileSync(made, 'utf8'), /^whsec_[A-Za-z0-9+/]{43}=\n$/);
  assert.equal(statSync(made).mode & 0o777, 0o600);
  assert.doesNotMatch(told.stdout + told.stderr, /whsec_/);
  assert.equal((await run('provider', 'secret', made)).code, 2);
});

test('one that says yes to everything is told what it lacks', async () => {
  const asked: string[] = [];
  const ended = await serving(
    (request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(200, { 'content-type': 'application/json' });
      const answer = { providerTransactionId: 'P-1', status: 'Pending', refundId: 'x' };
      response.end(JSON.stringify(request.url === '/spi/health' ? { status: 'Up' } : answer));
    },
    (url) => run('--json', 'provider', 'check', url, '--secret-file', secretFile, '--settle', '1'),
  );
  assert.equal(ended.code, 10, ended.stderr);
  const failed = checksIn(ended.stdout)
    .filter(({ ok }) => !ok)
    .map(({ fault }) => fault);
  for (const fault of ['accepts-unsigned', 'accepts-garbage', 'bad-display', 'knows-everything']) {
    assert.ok(failed.includes(fault), `${fault}: ${failed.join(' ')}`);
  }
  assert.ok(!failed.includes('no-health') && !failed.includes('wrong-shape'));
  assert.ok(asked.every((line) => /^(?:GET|POST) \/spi/.test(line)));
});

test('a wrong path of a provider is no finding, and --help says what is needed', async () => {
  await providing(undefined, async (_check, { url, secret }) => {
    for (const wrong of [`${url}/typo`, url.replace('/spi', '/spies')]) {
      const ended = await run('provider', 'check', wrong, ...secret);
      assert.equal(ended.code, 5, ended.stdout + ended.stderr);
      assert.match(ended.stderr, /There is no server of the provider SPI at/);
    }
  });
  const { stdout } = await run('provider', 'check', '--help');
  assert.match(stdout.replace(/\s+/g, ' '), /--secret-file <file> .*? \(required\)/);
});

test('nobody there, something else there, and words that are wrong, are no findings', async () => {
  const check = (url: string, ...more: string[]) =>
    run('provider', 'check', url, '--secret-file', secretFile, ...more);
  const away = await check('http://127.0.0.1:1/spi');
  assert.equal(away.code, 7, away.stderr);
  assert.equal(away.stdout, '');
  const other = await serving((_request, response) => response.writeHead(404).end(), check);
  const taken = await serving(
    () => assert.fail('nobody is asked'),
    (url) => check('http://127.0.0.1:1', '--listen', new URL(url).host),
  );
  assert.equal(taken.code, 2, taken.stderr);
  assert.match(taken.stderr, /is in use: name another one with --listen/);
  assert.equal(other.code, 5, other.stderr);
  assert.match(other.stderr, /no server of the provider SPI at .*spi/);
  const badSecret = join(folder, 'bad');
  writeFileSync(badSecret, 'whsec_short');
  for (const args of [
    ['http://127.0.0.1:1', '--secret-file', badSecret],
    ['http://127.0.0.1:1', '--secret-file', join(folder, 'missing')],
    ['nowhere', '--secret-file', secretFile],
    ['http://127.0.0.1:1', '--secret-file', secretFile, '--only', 'no such check'],
    ['http://127.0.0.1:1', '--secret-file', secretFile, '--only', 'gives-up'],
    ['http://127.0.0.1:1', '--secret-file', secretFile, '--amount', '5'],
    ['http://127.0.0.1:1', '--secret-file', secretFile, '--events-url', 'ftp://x'],
  ]) {
    const ended = await run('provider', 'check', ...args);
    assert.equal(ended.code, 2, `${args.join(' ')}: ${ended.stdout}${ended.stderr}`);
  }
  for (const more of [
    ['--listen', 'here'],
    ['--listen', '127.0.0.1:70000'],
    ['--wait', '0'],
  ]) {
    await assert.rejects(check('http://127.0.0.1:1', ...more), /is invalid/, more.join(' '));
  }
  await assert.rejects(run('provider', 'check', 'http://127.0.0.1:1'), /secret-file/);
});
