import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from './free-ports.ts';

const file = fileURLToPath(new URL('./free-ports.ts', import.meta.url));

test('no port is returned twice before a server listens at it', async () => {
  const groups = await Promise.all(Array.from({ length: 20 }, () => freePorts(5)));
  const later = await freePorts(10);
  const all = [...groups.flat(), ...later];
  assert.equal(new Set(all).size, 110);
  assert.ok(all.every((port) => port > 12_000 && port < 32_000));
});

test('processes that run at the same time get different ports', async () => {
  const [ownPort = 0] = await freePorts(1);
  // The other process gets the same process id, so it tries the port range of this process first.
  const script = `
    const { freePorts } = await import(${JSON.stringify(file)});
    Object.defineProperty(process, 'pid', { value: ${process.pid} });
    console.log(JSON.stringify(await freePorts(20)));`;
  const args = ['--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const otherPorts = JSON.parse(stdout) as number[];
  assert.equal(otherPorts.length, 20);
  const shareOf = (port: number) => Math.floor((port - 12_000) / 400);
  assert.ok(otherPorts.every((port) => shareOf(port) !== shareOf(ownPort)));
});
