// Shared by the tests of clearing files: a till that captures by file, and calls of the back
// office.
import assert from 'node:assert/strict';
import { defined } from '@switchyard/contract';
import { keyedSale } from '../../support/keyed-sale.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';

const transactionsPath = '/payment/v1/transactions';
export const clearingFilesPath = '/payment/v1/clearing-files';
export const fileCaptureTerms = { captureTransport: 'File' };

export const callAsMerchant = (
  setup: TestOrganization,
  method: string,
  path: string,
  body?: unknown,
) =>
  setup.client.call(method, transactionsPath + path, {
    token: setup.merchant.token,
    ...defined({ body }),
  });

export const callAsAcquirer = (
  setup: TestOrganization,
  method: string,
  path: string,
  body?: unknown,
) =>
  setup.client.call(method, clearingFilesPath + path, {
    token: setup.acquirerToken,
    ...defined({ body }),
  });

export async function authorize(setup: TestOrganization, amount = 1000): Promise<string> {
  const sale = keyedSale({ amount, captureMode: 'Deferred' });
  const { body, text } = await callAsMerchant(setup, 'POST', '/process', sale);
  assert.equal(body.state, 'Authorized', text);
  return body.transactionId;
}

export async function createClearingFile(setup: TestOrganization) {
  const request = { acquirerLink: setup.linkId, openDays: true };
  const made = await callAsAcquirer(setup, 'POST', '', request);
  assert.equal(made.status, 201, made.text);
  return made.body;
}

export const readFileContent = async (setup: TestOrganization, id: string) =>
  (await callAsAcquirer(setup, 'GET', `/${id}/content`)).text;

export const acknowledge = (setup: TestOrganization, id: string, text: string) =>
  setup.client.call('PUT', `${clearingFilesPath}/${id}/acknowledgement`, {
    token: setup.acquirerToken,
    raw: text,
    headers: { 'content-type': 'text/plain' },
  });

export const waitUntilSettled = (setup: TestOrganization, id: string) =>
  until(async () => {
    const { body } = await callAsAcquirer(setup, 'GET', `/${id}`);
    return body.state === 'Settled' ? body : undefined;
  }, 'the file to be settled');

export function capturesAtHost(setup: TestOrganization): number {
  const merchantTotals = setup.host
    .ledger()
    .totals.filter(({ merchant }) => merchant === setup.merchant.merchantNumber);
  return merchantTotals.reduce((sum, { captures }) => sum + captures, 0);
}
