// The servers around a platform in QR tests: a webhook receiver, and the reference provider as a
// process.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { inheritedEnvironment } from '../support/processes/server-process.ts';
import { eventually } from '../support/wait-for-condition.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of many shapes
export type Json = Record<string, any>;

const providerMain = fileURLToPath(
  new URL('../../../simulators/src/qr-provider/main.ts', import.meta.url),
);
export const startLimitMs = 120_000;

/** A received webhook, with the result of the signature check. */
export type Received = { id: string; body: string; event: Json; verified: boolean };

export type Receiver = {
  url: string;
  received: Received[];
  /** The `whsec_…` secret, set after the endpoint is created. */
  secret: string;
  close(): Promise<void>;
};

/** Verifies signatures with the public package, as any receiver would. */
export async function openReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString();
      const headers = request.headers as Record<string, string>;
      let verified = true;
      try {
        new Webhook(receiver.secret).verify(body, headers);
      } catch {
        verified = false;
      }
      received.push({ id: headers['webhook-id'] ?? '', body, event: JSON.parse(body), verified });
      response.statusCode = 204;
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    secret: '',
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

/** The reference provider as a process that a test can kill; it keeps its folder and port. */
export type ProviderProcess = {
  readonly url: string;
  readonly dataDir: string;
  start(): Promise<void>;
  kill(): Promise<void>;
};

export const waitForExit = (child: ChildProcess) =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise<void>((resolve) => child.once('exit', () => resolve()));

export function providerProcess(folder: string, port: number, stepMs: number): ProviderProcess {
  const dataDir = join(folder, 'provider');
  let child: ChildProcess | undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    dataDir,
    async start() {
      const options = ['--data', dataDir, '--platform', join(folder, 'platform.json')];
      const times = ['--step-ms', String(stepMs), '--late-ms', '12000', '--retry-ms', '100'];
      const started = spawn(
        process.execPath,
        [providerMain, 'serve', ...options, '--port', String(port), ...times],
        // Its output is ignored, because it reports every event that waits for a killed platform.
        { env: inheritedEnvironment(), stdio: ['ignore', 'pipe', 'ignore'] },
      );
      child = started;
      let output = '';
      started.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
      await eventually(
        'the provider listens',
        () => {
          assert.equal(started.exitCode, null, 'the provider has ended');
          return output.includes('listening on');
        },
        startLimitMs,
      );
    },
    async kill() {
      if (child === undefined) return;
      child.kill('SIGKILL');
      await waitForExit(child);
    },
  };
}
