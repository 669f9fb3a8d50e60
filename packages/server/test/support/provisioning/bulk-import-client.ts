// A client for bulk imports over real sockets: it sends lines and reads the result of each line.
import assert from 'node:assert/strict';
import { type ClientRequest, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BulkImport, type BulkResult, type BulkSummary, defined } from '@switchyard/contract';
import type { Clock } from '../../../src/platform/index.ts';
import { openProvisioning, type TestProvisioning } from './test-provisioning.ts';

export type Line = {
  type?: unknown;
  operation?: unknown;
  data?: Record<string, unknown>;
};

export type Imported = {
  status: number;
  headers: Record<string, unknown>;
  /** The members of a problem; empty if the server sent result lines. */
  problem: Record<string, unknown>;
  results: BulkResult[];
  summary: BulkSummary['summary'] | undefined;
  text: string;
};

export type Sending = {
  token?: string;
  type?: string;
  key?: string;
  query?: string;
};

export type TestBulkImport = TestProvisioning & {
  /** Starts a request; the caller writes its body, and ends or aborts it. */
  open(sending: Sending): { request: ClientRequest; answered: Promise<Imported> };
  send(body: string | Buffer, sending?: Sending): Promise<Imported>;
  lines(lines: readonly Line[], sending?: Sending): Promise<Imported>;
  state(bulkId: string, token?: string): Promise<BulkImport>;
};

export const jsonLines = (lines: readonly unknown[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');

export function importedOf(
  status: number,
  headers: Record<string, unknown>,
  text: string,
): Imported {
  const isLines = String(headers['content-type']).startsWith('application/jsonl');
  const parsed = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as BulkResult | BulkSummary);
  const summaries = isLines ? parsed.filter((one) => 'summary' in one) : [];
  return {
    status,
    headers,
    text,
    problem: isLines ? {} : ((parsed[0] ?? {}) as Record<string, unknown>),
    results: isLines ? parsed.filter((one) => 'line' in one) : [],
    summary: summaries[0]?.summary,
  };
}

export async function openBulk(clock?: Clock): Promise<TestBulkImport> {
  const setup = await openProvisioning(clock);
  await setup.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = setup.app.server.address() as AddressInfo;

  const open: TestBulkImport['open'] = ({
    token = 'org',
    type = 'application/jsonl',
    key,
    query,
  }) => {
    const request = send({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: `/provisioning/v2/bulk${query === undefined ? '' : `?${query}`}`,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': type,
        ...defined({ 'idempotency-key': key }),
      },
    });
    const answered = new Promise<Imported>((resolve, reject) => {
      request.on('error', reject);
      request.on('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(parts).toString();
          resolve(importedOf(response.statusCode ?? 0, response.headers, text));
        });
      });
    });
    return { request, answered };
  };

  const bulk: TestBulkImport = {
    ...setup,
    open,
    send(body, sending = {}) {
      const { request, answered } = open(sending);
      request.end(body);
      return answered;
    },
    lines: (lines, sending) => bulk.send(jsonLines(lines), sending),
    async state(bulkId, token = 'org') {
      const answer = await setup.call(token, 'GET', `/bulk/${bulkId}`);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body as unknown as BulkImport;
    },
  };
  return bulk;
}

export const merchantLine = (externalId: string, data: Record<string, unknown> = {}): Line => ({
  type: 'merchant',
  data: {
    externalId,
    name: `Merchant ${externalId}`,
    country: 'FR',
    mcc: '5814',
    timeZone: 'Europe/Paris',
    ...data,
  },
});

export const storeLine = (merchant: string, externalId: string, data = {}): Line => ({
  type: 'store',
  data: { merchantExternalId: merchant, externalId, name: `Store ${externalId}`, ...data },
});

export const placeLine = (store: string, externalId: string, data = {}): Line => ({
  type: 'logicalDevice',
  data: { storeExternalId: store, externalId, name: `Place ${externalId}`, ...data },
});

export const hardwareLine = (
  logicalDeviceExternalId: string,
  body: Record<string, unknown>,
): Line => ({
  type: 'physicalDevice',
  data: { logicalDeviceExternalId, ...body },
});
