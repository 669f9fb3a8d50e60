// Whole run: commands as users start them, each a process of its own.
// "Enrol a device", word for word, with openssl and curl as clients that are not ours.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import { createServerProcess } from '../../packages/server/test/support/processes/server-process.ts';
import { shellBlocks } from './quickstart.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const limitMs = 150_000;
const absent = ['openssl', 'curl', 'bash'].filter(
  (tool) => spawnSync(tool, [tool === 'openssl' ? 'version' : '--version']).status !== 0,
);

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

test('every command of “Enrol a device” has the output that the page shows', {
  timeout: 300_000,
  skip: absent.length > 0 && `there is no ${absent.join(', no ')}`,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-enrol-'));
  const dataDir = join(directory, 'data');
  const [port, devicePort, metricsPort, acquirerPort] = (await freePorts(4)).map(String);
  const server = createServerProcess({
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_PORT: port ?? '',
    SWITCHYARD_DEVICE_PORT: devicePort ?? '',
    SWITCHYARD_METRICS_PORT: metricsPort ?? '',
    SWITCHYARD_ACQUIRER_PORT: acquirerPort ?? '',
  });
  try {
    await server.start();
    const page = await readFile(
      join(root, 'docs/how-to/terminal-vendors/enrol-a-device.md'),
      'utf8',
    );
    const blocks = shellBlocks(page, 'Enrol a device');
    assert.ok(blocks.length >= 8, 'the page has its commands');
    const script = ['set -euo pipefail', ...blocks, 'echo —', overOpenssl].join('\n');
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      cwd: directory,
      timeout: limitMs,
      env: {
        HOME: directory,
        PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
        SWITCHYARD_DATA_DIR: dataDir,
      },
    });
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
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
});
