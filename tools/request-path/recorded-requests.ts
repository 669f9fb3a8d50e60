// The requests whose paths are measured, sent to a demo platform over HTTPS.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, createClient } from '../../packages/server/test/support/https-client.ts';
import { keyedSale } from '../../packages/server/test/support/keyed-sale.ts';
import type { CalledFunctions, CallRecorder } from './function-call-recorder.ts';

type DemoFile = {
  baseUrl: string;
  caFile: string;
  userDomainId: string;
  applications: Record<'merchant', { clientId: string; clientSecret: string }>;
  devices: { logicalDeviceId: string }[];
};

export type DemoClient = {
  process(members?: Record<string, unknown>): Promise<{ transactionId: string }>;
  refund(transactionId: string, amount: number): Promise<void>;
  /** @throws Error if the transaction is in another state */
  requireState(transactionId: string, state: string): Promise<void>;
  deviceId: string;
  close(): void;
};

/** The amount to which the acquirer simulator sends no response. */
const amountWithoutResponse = 9091;
/** The acquirer's time-out of the measured platform. */
export const acquirerTimeoutMs = 1000;
const base = '/payment/v1/transactions';

export async function createDemoClient(demo: DemoFile): Promise<DemoClient> {
  const client: Client = createClient(demo.baseUrl, readFileSync(demo.caFile, 'utf8'));
  const { clientId, clientSecret } = demo.applications.merchant;
  const token = await client.token(demo.userDomainId, clientId, clientSecret);

  async function call(method: string, path: string, body?: unknown) {
    const response = await client.call(method, base + path, { token, body });
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.text}`);
    return response.body as { transactionId: string; state: string };
  }

  return {
    process: (members) => call('POST', '/process', keyedSale(members)),
    async refund(transactionId, amount) {
      await call('POST', `/${transactionId}/refund`, {
        clientOperationId: randomUUID(),
        amount,
        currency: 'EUR',
      });
    },
    async requireState(transactionId, state) {
      const current = (await call('GET', `/${transactionId}`)).state;
      if (current !== state) throw new Error(`the transaction is ${current}, not ${state}`);
    },
    deviceId: demo.devices[0]?.logicalDeviceId ?? '',
    close: client.close,
  };
}

/** Prepares what the request needs, records its calls, and checks how it ended. */
type MeasureRequest = (client: DemoClient, recorder: CallRecorder) => Promise<CalledFunctions>;

/** Time for the messages that follow a response. Reading the transaction would add calls. */
const followUpMs = 4000;

let terminalSequence = 0;

export const requestPaths: Readonly<Record<string, MeasureRequest>> = {
  sale: (client, recorder) => recorder.record(() => client.process()),
  async refund(client, recorder) {
    const { transactionId } = await client.process();
    return recorder.record(() => client.refund(transactionId, 100));
  },
  async timeout(client, recorder) {
    const called = await recorder.start();
    const { transactionId } = await client.process({ amount: amountWithoutResponse });
    await pause(followUpMs);
    const calls = await called();
    await client.requireState(transactionId, 'Reversed');
    return calls;
  },
  async reversal(client, recorder) {
    const sale = client.process({ amount: amountWithoutResponse });
    // The sale waits for the acquirer; later calls belong to its reversal.
    await pause(acquirerTimeoutMs / 2);
    const called = await recorder.start();
    const { transactionId } = await sale;
    await pause(followUpMs);
    const calls = await called();
    await client.requireState(transactionId, 'Reversed');
    return calls;
  },
  async offline(client, recorder) {
    terminalSequence += 1;
    const called = await recorder.start();
    const { transactionId } = await client.process({
      deviceId: client.deviceId,
      offlineTransaction: true,
      offlineData: {
        authorizedAt: new Date(Date.now() - 60_000).toISOString(),
        authorizationCode: '9A01B2',
        terminalSequence,
        reason: 'NoConnection',
      },
    });
    await pause(followUpMs);
    const calls = await called();
    await client.requireState(transactionId, 'Captured');
    return calls;
  },
};
