// Shared by the tests of clearing files: a till that captures by file, and calls of the back
// office.
import assert from 'node:assert/strict';
import { defined } from '@switchyard/contract';
import { keyedSale } from '../../support/keyed-sale.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';

const base = '/payment/v1/transactions';
export const files = '/payment/v1/clearing-files';
export const terms = { captureTransport: 'File' };

export const till = (on: TestOrganization, method: string, path: string, body?: unknown) =>
  on.client.call(method, base + path, {
    token: on.merchant.token,
    ...defined({ body }),
  });

export const office = (on: TestOrganization, method: string, path: string, body?: unknown) =>
  on.client.call(method, files + path, {
    token: on.acquirerToken,
    ...defined({ body }),
  });

export async function authorize(on: TestOrganization, amount = 1000): Promise<string> {
  const sale = keyedSale({ amount, captureMode: 'Deferred' });
  const { body, text } = await till(on, 'POST', '/process', sale);
  assert.equal(body.state, 'Authorized', text);
  return body.transactionId;
}

export async function makeFile(on: TestOrganization) {
  const request = { acquirerLink: on.linkId, openDays: true };
  const made = await office(on, 'POST', '', request);
  assert.equal(made.status, 201, made.text);
  return made.body;
}

export const contentOf = async (on: TestOrganization, id: string) =>
  (await office(on, 'GET', `/${id}/content`)).text;

export const acknowledge = (on: TestOrganization, id: string, text: string) =>
  on.client.call('PUT', `${files}/${id}/acknowledgement`, {
    token: on.acquirerToken,
    raw: text,
    headers: { 'content-type': 'text/plain' },
  });

export const settled = (on: TestOrganization, id: string) =>
  until(async () => {
    const { body } = await office(on, 'GET', `/${id}`);
    return body.state === 'Settled' ? body : undefined;
  }, 'the file to be settled');

export function capturesAtHost(on: TestOrganization): number {
  const own = on.host
    .ledger()
    .totals.filter(({ merchant }) => merchant === on.merchant.merchantNumber);
  return own.reduce((sum, { captures }) => sum + captures, 0);
}
