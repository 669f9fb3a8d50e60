// A till, a connector and a terminal: the start of most service tests.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
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
import { type TestConnector, testConnector } from './fake-connector.fixture.ts';
import { type TestPoi, testPoi } from './fake-terminal.fixture.ts';
import { type SteppedClock, steppedClock } from './stepped-clock.fixture.ts';

export const poiId = 'AXIUM_DX8000-10000001';
export const saleId = 'till-3';
export const order = { amount: 1250, currency: 'EUR', transactionId: '4711' };

export type Scene = {
  readonly connector: TestConnector;
  readonly client: PosClient;
  readonly poi: TestPoi;
  readonly clock: SteppedClock;
  readonly store: ServiceStore;
  readonly faults: PosError[];
  /** Makes a till as after a process start. */
  till(settings?: Partial<TerminalSettings>): Terminal;
};

export async function scene(t: TestContext, poi: TestPoi = testPoi(poiId)): Promise<Scene> {
  const connector = await testConnector();
  connector.terminal = (text, say) => poi.hear(text, say);
  const clock = steppedClock();
  const store = memoryServiceStore();
  const faults: PosError[] = [];
  const { baseUrl, tokenUrl } = connector;
  const credentials = { tokenUrl, clientId: 'till-3', clientSecret: 'secret' };
  const client = createPosClient({ baseUrl, credentials, clock, chance: () => 0.5 });
  t.after(async () => {
    client.close();
    await connector.stop();
  });
  return {
    connector,
    client,
    poi,
    clock,
    store,
    faults,
    till: (settings = {}) =>
      createTerminal({
        saleId,
        poiId,
        store,
        clock,
        transport: { kind: 'cloud', client, tsn: poiId },
        onFault: (error) => faults.push(error),
        ...settings,
      }),
  };
}

export const isFault =
  (kind: string, code: string, outcome: string) =>
  (error: unknown): boolean =>
    error instanceof PosError &&
    error.kind === kind &&
    error.code === code &&
    error.outcome === outcome;

/** A terminal in the local network: one answer for each POST. */
export async function localPoi(t: TestContext, poi: TestPoi) {
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      const held = setImmediate(() => response.writeHead(200).end());
      poi.hear(text, (answer) => {
        clearImmediate(held);
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
