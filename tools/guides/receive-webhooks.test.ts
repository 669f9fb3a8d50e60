// "Receive webhooks": its receivers are run as they stand on the page, against what the platform signs.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import {
  createWebhookHeaders,
  createWebhookKeyPair,
  formatWebhookSecret,
} from '../../packages/server/src/platform/index.ts';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';

const page = fileURLToPath(
  new URL('../../docs/how-to/merchant-developers/receive-webhooks.md', import.meta.url),
);
const [key, otherKey] = [Buffer.alloc(32, 5), Buffer.alloc(32, 6)];
const pair = createWebhookKeyPair(Buffer.alloc(32, 8));
const python = spawnSync('python3', ['--version']).status === 0;

/** With letters outside ASCII, since it is bytes that are signed. */
const body =
  '{"type":"transaction.captured","timestamp":"2026-03-01T00:00:00.000Z","data":{"transactionId":"t-1","note":"Zürich ☂"}}';
const now = () => Date.now();

function signed(id: string, at = now(), keys = [key]): Record<string, string> {
  return createWebhookHeaders({ id, sentAt: at, body, keys, privateKeys: [pair.privateKey] });
}

// Spec: QRPROV-32
describe('the examples of “Receive webhooks”', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-receive-'));
    const text = await readFile(page, 'utf8');
    const blocks = [
      ...text.matchAll(/^```(?:js|python)\n(?:\/\/|#) ([\w.-]+)[^\n]*\n([\s\S]*?)^```/gm),
    ];
    assert.deepEqual(
      blocks.map(([, name]) => name),
      ['receiver.mjs', 'verify.py', 'verify-by-key.mjs'],
    );
    for (const [, name = '', code = ''] of blocks) await writeFile(join(directory, name), code);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  test('the receiver accepts genuine events once, and nothing else', async () => {
    const [port = 0] = await freePorts(1);
    const child = spawn(process.execPath, ['receiver.mjs', String(port)], {
      cwd: directory,
      env: { PATH: process.env['PATH'], WEBHOOK_SECRET: formatWebhookSecret(key) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    try {
      await new Promise<void>((resolve, reject) => {
        child.once('exit', () => reject(new Error('the receiver has ended')));
        child.stdout.on('data', (chunk: Buffer) => {
          output += chunk.toString();
          if (output.includes('listening')) resolve();
        });
      });
      const post = async (headers: Record<string, string>, text = body) =>
        (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: text })).status;
      assert.equal(await post(signed('one')), 204);
      assert.equal(await post(signed('one')), 204, 'the same again');
      assert.equal(await post(signed('two', now(), [otherKey, key])), 204, 'one of two fits');
      assert.equal(await post(signed('three'), body.replace('t-1', 't-2')), 401, 'bent');
      assert.equal(await post({ ...signed('three'), 'webhook-id': 'four' }), 401);
      assert.equal(await post(signed('five', now() - 301_000)), 401, 'too old');
      assert.equal(await post(signed('six', now() + 360_000)), 401, 'from the future');
      assert.equal(await post(signed('seven', now(), [otherKey])), 401, 'another key');
      assert.equal(await post({}), 401);
      assert.equal(output.match(/transaction\.captured t-1/g)?.length, 2);
    } finally {
      child.kill('SIGKILL');
    }
  });

  test('a signature can be verified with the public key only', async () => {
    const { isGenuineByKey } = await import(
      pathToFileURL(join(directory, 'verify-by-key.mjs')).href
    );
    const bytes = Buffer.from(body);
    assert.equal(isGenuineByKey(pair.publicKey, signed('one'), bytes), true);
    assert.equal(isGenuineByKey(pair.publicKey, signed('one'), Buffer.from(`${body} `)), false);
    const other = createWebhookKeyPair(Buffer.alloc(32, 9)).publicKey;
    assert.equal(isGenuineByKey(other, signed('one'), bytes), false);
    const late = signed('one', now() - 301_000);
    assert.equal(isGenuineByKey(pair.publicKey, late, bytes), false, 'too old');
    assert.equal(isGenuineByKey(pair.publicKey, {}, bytes), false, 'no headers');
  });

  test('the Python example verifies signatures', {
    skip: !python && 'there is no python3',
  }, async () => {
    const script = `import json, sys
from verify import is_genuine
cases = json.loads(sys.argv[1])
print(json.dumps([is_genuine(c["secret"], c["headers"], c["body"].encode()) for c in cases]))`;
    const secret = formatWebhookSecret(key);
    const cases = [
      { secret, body, headers: signed('one') },
      { secret, body, headers: signed('two', now(), [otherKey, key]) },
      { secret, body: `${body} `, headers: signed('three') },
      { secret, body, headers: signed('four', now() - 301_000) },
      { secret: formatWebhookSecret(otherKey), body, headers: signed('five') },
      { secret, body, headers: {} },
      { secret, body, headers: { ...signed('six'), 'webhook-signature': 'v1' } },
    ];
    const { stdout } = await promisify(execFile)('python3', ['-c', script, JSON.stringify(cases)], {
      cwd: directory,
    });
    assert.deepEqual(JSON.parse(stdout), [true, true, false, false, false, false, false]);
  });
});
