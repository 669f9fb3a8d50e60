// Shared by the tests of clearing files: a till that captures by file, and calls of the back
// office.
import assert from 'node:assert/strict';
import { defined } from '@switchyard/contract';
import { keyedSale } from '../../support/keyed-sale.ts';
import type { Scene } from '../../support/test-merchant.ts';
import { until } from '../../support/wait-for-result.ts';

const base = '/payment/v1/transactions';
export const files = '/payment/v1/clearing-files';
export const terms = { captureTransport: 'File' };

export const till = (on: Scene, method: string, path: string, body?: unknown) =>
  on.client.call(method, base + path, {
    token: on.shop.token,
    ...defined({ body }),
  });

export const office = (on: Scene, method: string, path: string, body?: unknown) =>
  on.client.call(method, files + path, {
    token: on.acquirerToken,
    ...defined({ body }),
  });

export async function authorize(on: Scene, amount = 1000): Promise<string> {
  const sale = keyedSale({ amount, captureMode: 'Deferred' });
  const { body, text } = await till(on, 'POST', '/process', sale);
  assert.equal(body.state, 'Authorized', text);
  return body.transactionId;
}

export async function makeFile(on: Scene) {
  const request = { acquirerLink: on.linkId, openDays: true };
  const made = await office(on, 'POST', '', request);
  assert.equal(made.status, 201, made.text);
  return made.body;
}

export const contentOf = async (on: Scene, id: string) =>
  (await office(on, 'GET', `/${id}/content`)).text;

export const acknowledge = (on: Scene, id: string, text: string) =>
  on.client.call('PUT', `${files}/${id}/acknowledgement`, {
    token: on.acquirerToken,
    raw: text,
    headers: { 'content-type': 'text/plain' },
  });

export const settled = (on: Scene, id: string) =>
  until(async () => {
    const { body } = await office(on, 'GET', `/${id}`);
    return body.state === 'Settled' ? body : undefined;
  }, 'the file to be settled');

export function capturesAtHost(on: Scene): number {
  const own = on.host.ledger().totals.filter(({ merchant }) => merchant === on.shop.merchantNumber);
  return own.reduce((sum, { captures }) => sum + captures, 0);
}
