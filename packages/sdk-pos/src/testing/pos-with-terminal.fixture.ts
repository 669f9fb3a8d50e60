// A till, a connector and a terminal: the start of most service tests.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type SteppedClock, steppedClock } from '@switchyard/sdk-core/testing';
import {
  createPosClient,
  createTerminal,
  memoryServiceStore,
  type PosClient,
  PosError,
  type ServiceStore,
  type Terminal,
  type TerminalSettings,
} from '../index.ts';
import { type FakeConnector, startFakeConnector } from './fake-connector.fixture.ts';
import { createFakeTerminal, type FakeTerminal } from './fake-terminal.fixture.ts';

export const poiId = 'AXIUM_DX8000-10000001';
export const saleId = 'till-3';
export const order = { amount: 1250, currency: 'EUR', transactionId: '4711' };

export type PosWithTerminal = {
  readonly connector: FakeConnector;
  readonly client: PosClient;
  readonly fakeTerminal: FakeTerminal;
  readonly clock: SteppedClock;
  readonly store: ServiceStore;
  readonly errors: PosError[];
  /** Makes a till as after a process start. */
  createTerminal(settings?: Partial<TerminalSettings>): Terminal;
};

export async function createPosWithTerminal(
  t: TestContext,
  fakeTerminal: FakeTerminal = createFakeTerminal(poiId),
): Promise<PosWithTerminal> {
  const connector = await startFakeConnector();
  connector.terminal = (text, send) => fakeTerminal.receive(text, send);
  const clock = steppedClock();
  const store = memoryServiceStore();
  const errors: PosError[] = [];
  const { baseUrl, tokenUrl } = connector;
  const credentials = { tokenUrl, clientId: 'till-3', clientSecret: 'secret' };
  const client = createPosClient({ baseUrl, credentials, clock, random: () => 0.5 });
  t.after(async () => {
    client.close();
    await connector.stop();
  });
  return {
    connector,
    client,
    fakeTerminal,
    clock,
    store,
    errors,
    createTerminal: (settings = {}) =>
      createTerminal({
        saleId,
        poiId,
        store,
        clock,
        transport: { kind: 'cloud', client, tsn: poiId },
        onError: (error) => errors.push(error),
        ...settings,
      }),
  };
}

export const isPosError =
  (kind: string, code: string, outcome: string) =>
  (error: unknown): boolean =>
    error instanceof PosError &&
    error.kind === kind &&
    error.code === code &&
    error.outcome === outcome;

/** A terminal in the local network: one answer for each POST. */
export async function startLocalTerminal(t: TestContext, fakeTerminal: FakeTerminal) {
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      const emptyAnswer = setImmediate(() => response.writeHead(200).end());
      fakeTerminal.receive(text, (answer) => {
        clearImmediate(emptyAnswer);
        response.end(answer);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  t.after(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/nexo`, stop };
}
