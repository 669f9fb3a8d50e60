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
import { type FaultMode, faultModes, startQrProvider } from '@switchyard/simulators';
import { run } from '../../command-line/run-command.fixture.ts';
import { providerChecks } from '../../conformance/provider/provider-checks.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-provider-'));
after(() => rmSync(folder, { recursive: true }));

const amounts = ['--paid-amount', '1000', '--pending-amount', '9009', '--declined-amount', '9005'];
const times = ['--settle', '1', '--retry-wait', '5', '--wait', '10'];
const scanned = ['--scanned', '134567890123456789'];

/** The reference provider while `use` runs; its files are its own. */
async function withProvider<Result>(
  broken: FaultMode | undefined,
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
      run('--json', 'provider', 'conformance', provider.url, ...secret, ...times, ...more);
    return await use(check, { url: provider.url, secret });
  } finally {
    await provider.stop();
  }
}

type Check = { check: string; fault: string; ok: boolean; detail?: string };
const checksIn = (stdout: string) => (JSON.parse(stdout) as { checks: Check[] }).checks;

// Spec: SVC-5 QRPROV-10
test('the reference provider passes every check', async () => {
  const ended = await withProvider(undefined, (check) => check(...amounts, ...scanned));
  assert.equal(ended.code, 0, ended.stdout + ended.stderr);
  assert.equal(checksIn(ended.stdout).length, providerChecks.length);
  assert.equal(ended.stderr, '');
});

test('checks without their option are skipped and listed', async () => {
  const ended = await withProvider(undefined, (check) => check('--pending-amount', '9009'));
  assert.equal(ended.code, 0, ended.stdout + ended.stderr);
  const independent = providerChecks.filter(({ requires }) => requires === undefined);
  assert.equal(checksIn(ended.stdout).length, independent.length);
  const paid = providerChecks.filter(({ requires }) => requires === 'paidAmount');
  assert.deepEqual(ended.stderr.trimEnd().split('\n'), [
    'Skipped without --declined-amount: 1 check of payments',
    'Skipped without --scanned: 1 check of payments',
    `Skipped without --paid-amount: ${paid.length} checks of cancels, refunds, events`,
  ]);
});

/** Short limits for events that never come. */
const limitsOf: Partial<Record<FaultMode, string[]>> = {
  'too-slow': ['--answer-within', '1'],
  'sends-no-events': ['--wait', '2'],
  'gives-up': ['--retry-wait', '2'],
  // The repetition comes at once, so a long limit costs no time.
  'repeats-acknowledged': ['--settle', '20'],
};

for (const mode of faultModes) {
  test(`a provider with this fault fails the check: ${mode}`, async () => {
    const limits = limitsOf[mode] ?? [];
    const ended = await withProvider(mode, (check) =>
      check(...amounts, ...limits, '--only', ` ${mode} `),
    );
    assert.equal(ended.code, 10, ended.stdout + ended.stderr);
    const [check, ...others] = checksIn(ended.stdout);
    assert.deepEqual(others, []);
    assert.equal(check?.fault, mode);
    assert.equal(check?.ok, false);
    assert.ok((check?.detail ?? '').length > 10, JSON.stringify(check));
  });
}

test('the reference provider can show every fault except two', () => {
  const modes: readonly string[] = faultModes;
  const without = providerChecks
    .map(({ fault }) => fault)
    .filter((fault) => !modes.includes(fault));
  assert.deepEqual(without, ['tells-scanned-code', 'accepts-other-refund']);
  assert.equal(new Set(providerChecks.map(({ fault }) => fault)).size, providerChecks.length);
});

async function withServer<Result>(
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

type ChangeResponse = (request: Record<string, unknown>, status: number) => object | undefined;

/** Forwards calls to a correct provider and changes its responses. */
function changedResponses(target: string, changeResponse: ChangeResponse): RequestListener {
  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
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
    const changed = changeResponse(
      method === 'POST' ? JSON.parse(String(body)) : {},
      answer.status,
    );
    const status = changed === undefined ? answer.status : 200;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(
      changed === undefined ? text : JSON.stringify({ ...JSON.parse(text), ...changed }),
    );
  }
  return (request, response) => {
    forward(request, response).catch(() => request.socket.destroy());
  };
}

test('a scanned code in a response and a changed refund are found', async () => {
  const failedChecks = (fault: string, changeResponse: ChangeResponse) =>
    withProvider(undefined, (_check, { url, secret }) =>
      withServer(changedResponses(url, changeResponse), async (changed) => {
        const args = [changed, ...secret, ...times, ...amounts, ...scanned, '--only', fault];
        const ended = await run('--json', 'provider', 'conformance', ...args);
        assert.equal(ended.code, 10, ended.stdout + ended.stderr);
        return checksIn(ended.stdout).map((each) => each.fault);
      }),
    );
  const revealsCode: ChangeResponse = ({ scannedPaymentId }) =>
    typeof scannedPaymentId === 'string' ? { wallet: scannedPaymentId } : undefined;
  assert.deepEqual(await failedChecks('tells-scanned-code', revealsCode), ['tells-scanned-code']);
  const acceptsRefund: ChangeResponse = ({ refundId }, status) =>
    refundId !== undefined && status === 409 ? { refundId, status: 'Completed' } : undefined;
  assert.deepEqual(await failedChecks('accepts-other-refund', acceptsRefund), [
    'accepts-other-refund',
  ]);
});

test('a refund in another currency that is accepted is found', async () => {
  const ended = await withProvider(undefined, (_check, { url, secret }) => {
    const acceptsCurrency = changedResponses(url, ({ refundId, amount }) => {
      const { currency } = (amount ?? {}) as { currency?: string };
      return refundId !== undefined && currency !== 'EUR'
        ? { refundId, status: 'Completed' }
        : undefined;
    });
    return withServer(acceptsCurrency, (changed) => {
      const args = [changed, ...secret, ...times, ...amounts, '--only', 'refunds-too-much'];
      return run('--json', 'provider', 'conformance', ...args);
    });
  });
  assert.equal(ended.code, 10, ended.stdout + ended.stderr);
  assert.match(String(checksIn(ended.stdout)[0]?.detail), /a refund in another currency/);
});

test('the checks end when the server stops, and name the check at which it stopped', async () => {
  const ended = await withProvider(undefined, async (_check, { url, secret }) => {
    const correct = changedResponses(url, () => undefined);
    const server = createServer((request, response) => {
      const isGarbage = request.headers['content-length'] === String('{"platform'.length);
      if (!isGarbage) return correct(request, response);
      server.close();
      server.closeAllConnections();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const changed = `http://127.0.0.1:${(server.address() as AddressInfo).port}/spi`;
    return run('--json', 'provider', 'conformance', changed, ...secret, ...times, ...amounts);
  });
  assert.equal(ended.code, 10, ended.stdout + ended.stderr);
  const failed = checksIn(ended.stdout).filter(({ ok }) => !ok);
  assert.deepEqual(
    failed.map(({ fault }) => fault),
    ['accepts-garbage'],
  );
  assert.match(ended.stderr, /stopped at or after “a body that is not JSON is refused”/);
});

const secretFile = join(folder, 'secret');
writeFileSync(secretFile, `whsec_${Buffer.alloc(32, 5).toString('base64')}\n`);

test('a secret file is created once and only its owner can read it', async () => {
  const made = join(folder, 'made');
  const created = await run('provider', 'secret', made);
  assert.equal(created.code, 0, created.stderr);
  assert.match(readFileSync(made, 'utf8'), /^whsec_[A-Za-z0-9+/]{43}=\n$/);
  assert.equal(statSync(made).mode & 0o777, 0o600);
  assert.doesNotMatch(created.stdout + created.stderr, /whsec_/);
  assert.equal((await run('provider', 'secret', made)).code, 2);
});

// Spec: QRPROV-10
test('a provider that accepts everything fails the checks', async () => {
  const requests: string[] = [];
  const ended = await withServer(
    (request, response) => {
      requests.push(`${request.method} ${request.url}`);
      response.writeHead(200, { 'content-type': 'application/json' });
      const answer = { providerTransactionId: 'P-1', status: 'Pending', refundId: 'x' };
      response.end(JSON.stringify(request.url === '/spi/health' ? { status: 'Up' } : answer));
    },
    (url) =>
      run('--json', 'provider', 'conformance', url, '--secret-file', secretFile, '--settle', '1'),
  );
  assert.equal(ended.code, 10, ended.stderr);
  const failed = checksIn(ended.stdout)
    .filter(({ ok }) => !ok)
    .map(({ fault }) => fault);
  for (const fault of ['accepts-unsigned', 'accepts-garbage', 'bad-display', 'knows-everything']) {
    assert.ok(failed.includes(fault), `${fault}: ${failed.join(' ')}`);
  }
  assert.ok(!failed.includes('no-health') && !failed.includes('wrong-shape'));
  assert.ok(requests.every((line) => /^(?:GET|POST) \/spi/.test(line)));
});

test('a wrong path is an error and not a failed check, and --help marks required options', async () => {
  await withProvider(undefined, async (_check, { url, secret }) => {
    for (const wrong of [`${url}/typo`, url.replace('/spi', '/spies')]) {
      const ended = await run('provider', 'conformance', wrong, ...secret);
      assert.equal(ended.code, 5, ended.stdout + ended.stderr);
      assert.match(ended.stderr, /There is no server of the provider SPI at/);
    }
  });
  const { stdout } = await run('provider', 'conformance', '--help');
  assert.match(stdout.replace(/\s+/g, ' '), /--secret-file <file> .*? \(required\)/);
});

test('an unreachable server, another server and invalid options are errors and not failed checks', async () => {
  const check = (url: string, ...more: string[]) =>
    run('provider', 'conformance', url, '--secret-file', secretFile, ...more);
  const unreachable = await check('http://127.0.0.1:1/spi');
  assert.equal(unreachable.code, 7, unreachable.stderr);
  assert.equal(unreachable.stdout, '');
  const other = await withServer((_request, response) => response.writeHead(404).end(), check);
  const portInUse = await withServer(
    () => assert.fail('the server gets no request'),
    (url) => check('http://127.0.0.1:1', '--listen', new URL(url).host),
  );
  assert.equal(portInUse.code, 2, portInUse.stderr);
  assert.match(portInUse.stderr, /is in use: name another one with --listen/);
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
    const ended = await run('provider', 'conformance', ...args);
    assert.equal(ended.code, 2, `${args.join(' ')}: ${ended.stdout}${ended.stderr}`);
  }
  for (const more of [
    ['--listen', 'here'],
    ['--listen', '127.0.0.1:70000'],
    ['--wait', '0'],
  ]) {
    const ended = await check('http://127.0.0.1:1', ...more);
    assert.equal(ended.code, 2, more.join(' '));
    assert.match(ended.stderr, /is invalid/);
  }
  const withoutSecret = await run('provider', 'conformance', 'http://127.0.0.1:1');
  assert.equal(withoutSecret.code, 2);
  assert.match(withoutSecret.stderr, /secret-file/);
});
