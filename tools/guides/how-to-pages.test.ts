// Whole run: commands as users start them, each a process of its own.
// The commands of how-to pages, word for word, at a demo platform.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import {
  createDemoServer,
  type DemoServer,
} from '../../packages/server/test/support/processes/demo-server.ts';
import { absentTools, runShell, shellBlocks, shellEnvironment } from './shell-blocks.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

async function blocksOf(page: string, title: string, least: number): Promise<string[]> {
  const text = await readFile(join(root, 'docs', `${page}.md`), 'utf8');
  const blocks = shellBlocks(text, title);
  assert.ok(blocks.length >= least, 'the page has its commands');
  return blocks;
}

const environmentOf = ({ directory, dataDir }: DemoServer) =>
  shellEnvironment(directory, { SWITCHYARD_DATA_DIR: dataDir });

test('every command in the guide for a new acquirer does what the page says', {
  timeout: 300_000,
  skip: absentTools('openssl', 'curl', 'bash'),
}, async () => {
  const settings = { SWITCHYARD_ACQUIRER_TIMEOUT_MS: '5000' };
  const demo = await createDemoServer('toy-bank', settings);
  const [toyPort] = await freePorts(1);
  const env = { ...environmentOf(demo), TOY_BANK_PORT: String(toyPort) };
  try {
    const blocks = await blocksOf(
      'tutorials/connect-an-acquirer-host',
      'Connect an acquirer host',
      8,
    );
    const started = blocks.findIndex((block) => block.includes('acquirer-host serve'));
    assert.ok(started > 0);
    // The story is one shell; `npm start` comes in the middle of it, in another window.
    const before = [...blocks.slice(0, started), 'echo "$whole" > "$data/whole"'];
    const output = await runShell(before, root, env);
    assert.match(
      output,
      /The host table toy-bank is valid\.\nreversal, \d+ bytes\n +0 {2}0\d \d\d 60 00 01 00 00 +Length and header/,
    );
    assert.match(output, /toy-bank-mac is complete: check value [0-9A-F]{6}/);
    await demo.server.start();
    const after = [blocks[0] ?? '', 'whole=$(cat "$data/whole")', ...blocks.slice(started)];
    const [listening = '', ...lines] = (await runShell(after, root, env)).trimEnd().split('\n');
    assert.match(listening, /^listening on 127\.0\.0\.1:\d+$/);
    assert.deepEqual(
      lines.map((line) => line.trim()),
      [
        'TOYS00000000001',
        'available: true,',
        'Captured',
        'Reversed',
        '1250 1250 kept',
        '9091 0 4021',
        // The page has removed its entities.
        'simulator',
      ],
    );
  } finally {
    await demo.close();
  }
});

// Spec: EVT-4
test('every command of “Take a QR payment” has the output that the page shows', {
  timeout: 300_000,
  skip: absentTools('curl', 'bash'),
}, async () => {
  const demo = await createDemoServer('qr-page');
  try {
    await demo.server.start();
    const blocks = await blocksOf(
      'how-to/merchant-developers/take-a-qr-payment',
      'Take a QR payment',
      6,
    );
    const stdout = await runShell(blocks, demo.directory, environmentOf(demo));
    const [status, type, ...rest] = stdout.trimEnd().split('\n');
    assert.deepEqual([status, type], ['Pending', 'image/png']);
    const ended = rest.slice(-4);
    assert.deepEqual(ended, ['Succeeded', 'Succeeded', 'Completed', 'Cancelled']);
    const events = rest.slice(0, -4).filter((line) => line !== '');
    assert.deepEqual(events, ['qr.scanned', 'qr.completed']);
  } finally {
    await demo.close();
  }
});

/** Of one device of the demo, spoken by openssl alone: first a new session, then the same again. */
const overOpenssl = String.raw`
set +e +o pipefail
request='GET /oauth2-mtls/v1/merchants-credentials HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
speak() { # speak [OPTIONS OF S_CLIENT]
  printf "$request" | openssl s_client -connect "$(demo deviceAuthUrl | sed 's|https://||')" \
    -CAfile "$(demo caFile)" -ign_eof "$@" 2>&1
}
identity=(-cert "$(demo 'devices[0].certFile')" -key "$(demo 'devices[0].keyFile')")
for version in -tls1_2 -tls1_3; do
  speak $version "${'$'}{identity[@]}" -sess_out session.pem | grep -E '^New,|clientSecret' | cut -c1-20
  speak $version "${'$'}{identity[@]}" -sess_in session.pem | grep -E '^Reused,|clientSecret' | cut -c1-20
  speak $version | grep -oE 'certificate_required' | head -1
done
speak -tls1_1 | grep -oE 'alert protocol version' | head -1
`;

// Spec: TERM-3 TERM-4
test('every command of “Enrol a device” has the output that the page shows', {
  timeout: 300_000,
  skip: absentTools('openssl', 'curl', 'bash'),
}, async () => {
  const demo = await createDemoServer('enrol');
  try {
    await demo.server.start();
    const blocks = await blocksOf('how-to/terminal-vendors/enrol-a-device', 'Enrol a device', 8);
    const script = [...blocks, 'echo —', overOpenssl];
    const stdout = await runShell(script, demo.directory, environmentOf(demo));
    const [screenText = '', spoken = ''] = stdout.split('—\n');
    const [subject = '', notAfter, ...rest] = screenText.trimEnd().split('\n');
    assert.match(subject, /serialNumber ?= ?\d+, CN ?= ?AXIUM_DX8000-\d+/);
    assert.match(notAfter ?? '', /^notAfter=/);
    const [tokenType, withoutCertificate, deviceId = '', ...ended] = rest;
    assert.deepEqual([tokenType, withoutCertificate], ['Bearer', 'token_invalid']);
    assert.match(deviceId, /^[0-9a-f-]{36}$/);
    assert.deepEqual(ended, ['Revoked', 'certificate_revoked', 'KeyCompromise']);
    const perVersion = ['New', 'secret', 'Reused', 'secret', 'certificate_required'];
    const lines = spoken
      .trimEnd()
      .split('\n')
      .map((line) => (line.startsWith('[{') ? 'secret' : (line.split(',')[0] ?? '')));
    assert.deepEqual(lines, [...perVersion, ...perVersion, 'alert protocol version']);
  } finally {
    await demo.close();
  }
});
