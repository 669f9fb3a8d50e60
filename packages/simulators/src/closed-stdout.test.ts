// Whole run: commands as users start them, each a process of its own.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

test('each simulator command ends with 0 if the reader closes standard output', async () => {
  for (const name of ['acquirer-host', 'http-acquirer', 'qr-provider']) {
    const main = fileURLToPath(new URL(`./${name}/main.ts`, import.meta.url));
    const child = spawn(process.execPath, [main, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const errors = child.stderr.setEncoding('utf8').toArray();
    const [code] = (await once(child, 'exit')) as [number | null];
    assert.deepEqual({ name, code, errors: await errors }, { name, code: 0, errors: [] });
  }
});
