// Whole run: much is made, or waited for, before it shows.
// The reference provider as a process: usage and exit codes, a platform that comes later, its books.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { providerCallText, signCall } from '@switchyard/sdk-provider';
import { faultModes } from './fault-modes.ts';
import { paymentScripts, refundScripts } from './test-amounts.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const page = new URL('../../../../docs/reference/test-cards.md', import.meta.url);
const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const limitMs = 60_000;

function run(...args: string[]) {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' });
}

test('the command prints its help, and refuses invalid arguments', () => {
  const help = run('--help');
  assert.equal(help.status, 0);
  assert.match(help.stdout, /qr-provider serve --data DIR/);
  const wrong: [string[], RegExp][] = [
    [['serve', '--data', 'x'], /use either --platform or --for-check/],
    [
      ['serve', '--data', 'x', '--for-check', '--broken', 'none'],
      /--broken is none of the fault modes/,
    ],
    [['ledger'], /--data is missing/],
  ];
  for (const [args, says] of wrong) {
    const { status, stderr } = run(...args);
    assert.equal(status, 2, args.join(' '));
    assert.match(stderr, says);
    assert.match(stderr, /Exit codes/);
  }
});

test('the lists that it prints are those of the page', () => {
  const { stdout } = run('outcomes');
  const [, section = ''] = readFileSync(page, 'utf8').split('\n## QR provider\n');
  const [text = ''] = section.split('\n## ');
  const scripts = [...Object.entries(paymentScripts), ...Object.entries(refundScripts)];
  for (const [digits, { description: does }] of scripts) {
    assert.ok(stdout.includes(`  ${digits}  ${does}\n`), digits);
    assert.ok(text.includes(`| \`${digits}\` | ${does} |\n`), `${digits} is not on the page`);
  }
  const rows = text.match(/^\| `9\d{3}` \|/gm) ?? [];
  assert.equal(rows.length, scripts.length);
  assert.deepEqual(run('faults').stdout.trim().split('\n'), [...faultModes]);
});

test('it waits for its platform, is switched off from outside, and its books stay', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'qr-provider-main-'));
  const platform = join(directory, 'platform.json');
  const data = ['--data', directory];
  const args = [main, 'serve', ...data, '--platform', platform, '--port', '0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += String(chunk);
    });
  }
  try {
    while (!output.includes('listening')) await once(child.stdout, 'data');
    const [, url = ''] = /^listening on (http:\/\/127\.0\.0\.1:\d+)\n/m.exec(output) ?? [];
    const health = async () => {
      const text = providerCallText('GET', '/health');
      const headers = signCall({ id: 'health', at: Date.now(), text, secrets: [secret] });
      // The commands block this process, so a kept connection could end before its next use.
      const answer = await fetch(`${url}/health`, { headers: { ...headers, connection: 'close' } });
      return { status: answer.status, body: await answer.json() };
    };
    assert.deepEqual(await health(), { status: 503, body: { code: 'no_platform_yet' } });
    writeFileSync(platform, '{"signingSecrets": []}');
    assert.equal((await health()).status, 503);
    const until = Date.now() + limitMs;
    while (!output.includes('has no baseUrl') && Date.now() < until) await pause(10);
    assert.match(output, /platform\.json has no baseUrl/);
    const base = 'http://127.0.0.1:9';
    const facts = {
      signingSecrets: [secret],
      baseUrl: base,
      tokenUrl: `${base}/token`,
      clientId: 'a',
      clientSecret: 'never printed',
    };
    writeFileSync(platform, JSON.stringify(facts));
    assert.deepEqual(await health(), { status: 200, body: { status: 'Up' } });
    assert.equal(run('down', ...data).status, 0);
    assert.deepEqual((await health()).body, { status: 'Down' });
    assert.equal(run('up', ...data).status, 0);
    assert.deepEqual((await health()).body, { status: 'Up' });
    const books = run('ledger', ...data);
    assert.equal(books.status, 0);
    assert.match(books.stdout, /in balance/);
    assert.deepEqual(JSON.parse(run('ledger', ...data, '--json').stdout), {
      payments: [],
      totals: [],
      faults: [],
    });
    assert.ok(!output.includes('never printed'));
  } finally {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await exit, [0, null]);
    rmSync(directory, { recursive: true });
  }
});
