// The conformance command in this process: against the reference acquirer, and one that approves all.
import assert from 'node:assert/strict';
import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { signSpiMessage } from '@switchyard/contract';
import { readLedger, startHttpAcquirer } from '@switchyard/simulators';
import { run } from '../../command-line/run-command.fixture.ts';
import { acquirerChecks } from '../../conformance/acquirer/acquirer-checks.ts';
import { keyIdOf } from '../../conformance/acquirer/signing-keys.ts';
import { systemClock } from '../../runtime/clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-conformance-'));
after(() => rmSync(folder, { recursive: true }));

async function makeKey(name: string): Promise<{ file: string; x: string }> {
  const file = join(folder, name);
  const made = await run('--json', 'acquirer', 'key', file);
  assert.equal(made.code, 0, made.stderr);
  return { file, x: JSON.parse(made.stdout).x };
}

// Spec: PROV-58
test('the reference acquirer passes every check, and its ledger is consistent', async () => {
  const key = await makeKey('platform.pem');
  const ledgerDir = join(folder, 'acquirer');
  const acquirer = await startHttpAcquirer({
    host: '127.0.0.1',
    port: 0,
    ledgerDir,
    platformKeys: [key.x],
    path: '/bank',
    lateMs: 1000,
    slowMs: 100,
  });
  try {
    const url = `http://127.0.0.1:${acquirer.port}/bank`;
    const keyOptions = ['--key', key.file, '--acquirer-key', acquirer.publicKey];
    const all = [...keyOptions, '--declined-amount', '9051'];
    const ended = await run('acquirer', 'conformance', url, ...all);
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    assert.match(
      ended.stdout,
      new RegExp(`${acquirerChecks.length} of ${acquirerChecks.length} checks passed`),
    );
    const few = await run(
      '--json',
      'acquirer',
      'conformance',
      url,
      ...keyOptions,
      '--only',
      'echo',
    );
    assert.deepEqual(JSON.parse(few.stdout).passed, 1);
  } finally {
    await acquirer.stop();
  }
  assert.deepEqual(readLedger(ledgerDir).faults, []);
});

/** A server that approves every message with a valid signature. */
async function startApprovingServer() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const text = Buffer.concat(parts).toString();
      const message = text.endsWith('}') ? JSON.parse(text) : {};
      const { messageId, amount, currency } = message as Record<string, unknown>;
      const approval = { messageId, outcome: 'Approved', responseCode: '00', amount, currency };
      const isEcho = request.url === '/v1/echo';
      const body = JSON.stringify(isEcho ? { status: 'Ready' } : approval);
      const requestSignature = String(request.headers['signature']).replace('spi=', '');
      const { headers } = signSpiMessage(
        { status: 200, requestSignature, sha256: hash('sha256', body, 'base64') },
        { created: Math.floor(systemClock.now() / 1000), keyId: keyIdOf(x) },
        (text) => sign(null, Buffer.from(text), privateKey).toString('base64'),
      );
      response.writeHead(200, headers);
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { url: `http://127.0.0.1:${port}`, x, stop };
}

// Spec: PROV-58
test('a server that approves everything fails the checks, and the exit code is 10', async () => {
  const key = await makeKey('other.pem');
  const server = await startApprovingServer();
  try {
    const keyOptions = ['--key', key.file, '--acquirer-key', server.x];
    const ended = await run('--json', 'acquirer', 'conformance', server.url, ...keyOptions);
    assert.equal(ended.code, 10, ended.stderr);
    const report = JSON.parse(ended.stdout) as {
      checks: { check: string; ok: boolean; detail?: string }[];
    };
    const failed = report.checks.filter(({ ok }) => !ok).map(({ check }) => check);
    for (const check of acquirerChecks.filter(
      ({ group }) => group === 'money' || group === 'messages',
    )) {
      const isTakenByAll = check.name === 'unknown members are ignored';
      assert.equal(failed.includes(check.name), !isTakenByAll, check.name);
    }
    assert.ok(failed.includes('a request without a signature is refused'));
    assert.ok(failed.includes('another message with a used messageId is refused'));
    assert.ok(!failed.includes('an echo is answered Ready, signed'));
    assert.ok(report.checks.every(({ ok, detail }) => ok === (detail === undefined)));
  } finally {
    await server.stop();
  }
});

test('an unreachable server or an invalid key is one error and not a failed check', async () => {
  const key = await makeKey('third.pem');
  const other = createServer((_request, response) => response.writeHead(404).end());
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const at = (url: string, acquirerKey = key.x) =>
    run('acquirer', 'conformance', url, '--key', key.file, '--acquirer-key', acquirerKey);
  try {
    for (const [url, code, message] of [
      ['http://127.0.0.1:1', 7, /could not be reached/],
      [`http://127.0.0.1:${port}/elsewhere`, 5, /no server of the acquirer SPI at .*elsewhere/],
      ['http://acquirer.example', 2, /is not an https address/],
    ] as const) {
      const ended = await at(url);
      assert.equal(ended.code, code, ended.stderr);
      assert.match(ended.stderr, message);
      assert.equal(ended.stdout, '');
    }
  } finally {
    other.close();
  }
  const readAsQuiet = '-qXDFzwE9shvniTJNKTfZEkGW_bzAbNVLn81lpElVEA';
  assert.equal((await at('http://127.0.0.1:1', readAsQuiet)).code, 7);
  assert.equal((await at('http://127.0.0.1:1', 'short')).code, 2);
  assert.equal((await run('acquirer', 'key', key.file)).code, 2);
});
