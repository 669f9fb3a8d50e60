import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { createLog } from '../observability/log.ts';
import { createLifecycle } from './lifecycle.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);

async function runScript(script: string, act?: (pid: number) => void) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
    if (String(chunk).includes('ready')) act?.(child.pid ?? 0);
  });
  const [code, signal] = await once(child, 'close');
  return { code, signal, output };
}

describe('lifecycle', () => {
  test('steps run in reverse order, also after a failure or a time-out', async () => {
    const lifecycle = createLifecycle({ log });
    const closed: string[] = [];
    lifecycle.onStop('database', () => closed.push('database'));
    lifecycle.onStop('hanging', () => new Promise(() => {}), 20);
    lifecycle.onStop('failing', () => Promise.reject(new Error('x')));
    lifecycle.onStop('listener', async () => closed.push('listener'));
    const [first, second] = await Promise.all([lifecycle.stop('test'), lifecycle.stop('again')]);
    assert.deepEqual(closed, ['listener', 'database']);
    assert.equal(first, false);
    assert.equal(second, false);
  });

  test('a signal stops in order and ends the process with 0', async () => {
    const script = `import { createLifecycle } from ${module('./lifecycle.ts')};
      const log = { info() {}, debug() {}, error() {} };
      const lifecycle = createLifecycle({ log });
      lifecycle.onStop('one', () => console.log('closed'));
      lifecycle.stopOnSignals();
      setInterval(() => {}, 1000);
      console.log('ready');`;
    const { code, output } = await runScript(script, (pid) => process.kill(pid, 'SIGTERM'));
    assert.equal(code, 0);
    assert.match(output, /ready\nclosed/);
  });

  const slowStop = (ms: number) => `import { createLifecycle } from ${module('./lifecycle.ts')};
    const log = { info() {}, debug() {}, error() {} };
    const lifecycle = createLifecycle({ log });
    lifecycle.onStop('slow', () => new Promise((resolve) => setTimeout(() => {
      console.log('closed');
      resolve();
    }, ${ms})));
    lifecycle.stopOnSignals();
    setInterval(() => {}, 1000);
    console.log('ready');`;

  test('a duplicate signal at the same moment does not interrupt the stop', async () => {
    const { code, output } = await runScript(slowStop(200), (pid) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal);
    });
    assert.equal(code, 0);
    assert.match(output, /ready\nclosed/);
  });

  test('a later second signal ends the process at once', async () => {
    let asking: NodeJS.Timeout | undefined;
    const { code, output } = await runScript(slowStop(15_000), (pid) => {
      process.kill(pid, 'SIGINT');
      asking = setInterval(() => process.kill(pid, 'SIGINT'), 100);
    }).finally(() => clearInterval(asking));
    assert.equal(code, 1);
    assert.doesNotMatch(output, /closed/);
  });
});

describe('fail points', () => {
  test('only the chosen point kills the process', async () => {
    const script = `import { createFailPoints } from ${module('./fail-points.ts')};
      createFailPoints().hit('after-send');
      const points = createFailPoints('after-intent');
      points.hit('after-send');
      console.log('ready');
      points.hit('after-intent');
      console.log('never');`;
    const { signal, output } = await runScript(script);
    assert.equal(signal, 'SIGKILL');
    assert.doesNotMatch(output, /never/);
  });
});
