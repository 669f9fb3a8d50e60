// Whole run: commands as users start them, each a process of its own.
// "Write a provider in Node.js", word for word: the pieces of the page are one program, and every check holds.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import { absentTools, runShell, shellBlocks, shellEnvironment } from './shell-blocks.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = join(root, 'docs/tutorials/write-a-qr-provider.md');
const command = join(root, 'packages/cli/bin/switchyard.cjs');

/** The pieces of a program in the order of the page. */
const programIn = (text: string): string =>
  [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, piece = '']) => piece).join('\n');

// Spec: QRPROV-8
test('the provider of “Write a provider” passes every check, as the page says', {
  timeout: 300_000,
  skip: absentTools('bash'),
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-write-a-provider-'));
  try {
    const text = await readFile(page, 'utf8');
    await writeFile(join(directory, 'provider.mjs'), programIn(text));
    await mkdir(join(directory, 'node_modules', '@switchyard'), { recursive: true });
    const sdk = join(directory, 'node_modules', '@switchyard', 'sdk-provider');
    await symlink(join(root, 'packages/sdk-provider'), sdk);
    const [port = 0, listenPort = 0] = await freePorts(2);
    const [block = ''] = shellBlocks(text, 'Check the provider');
    assert.match(block, /provider conformance/);
    const script = block
      .replaceAll('npx switchyard', `"${process.execPath}" "${command}"`)
      .replaceAll('8590', String(port))
      .replaceAll('8591', String(listenPort))
      .replace('provider conformance', '--json provider conformance')
      .replace(/(--listen \S+)/, '$1 > checks.json || true');
    await runShell([script], directory, shellEnvironment(directory, { PORT: String(port) }));
    const report = await readFile(join(directory, 'checks.json'), 'utf8');
    const { passed, failed, checks } = JSON.parse(report);
    const wrong = checks.filter(({ ok }: { ok: boolean }) => !ok);
    assert.deepEqual(wrong, []);
    assert.equal(failed, 0);
    assert.ok(passed >= 40, `${passed} checks held`);
    const log = await readFile(join(directory, 'provider.log'), 'utf8');
    assert.match(log, /switched on for/);
    assert.match(log, /event [0-9a-f-]{36} Acknowledged/);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
