// Whole run: much is made, or waited for, before it shows.
// Imports on the complete platform: points of sale with tokens, parent organisations, and deletion
// of old imports.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { BulkResult } from '@switchyard/contract';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  type Imported,
  importedOf,
  jsonLines,
  type Line,
  merchantLine,
  storeLine,
} from '../support/provisioning/bulk-import-client.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

describe('a bulk import over HTTPS', () => {
  let setup: TestOrganization;
  before(async () => {
    setup = await createTestOrganization();
  });

  async function send(lines: readonly Line[], key: string, query = ''): Promise<Imported> {
    const headers = { 'content-type': 'application/jsonl', 'idempotency-key': key };
    const call = { token: setup.acquirerToken, raw: jsonLines(lines), headers };
    const answer = await setup.client.call('POST', `/provisioning/v2/bulk${query}`, call);
    return importedOf(answer.status, answer.headers, answer.text);
  }

  const tokenOf = ({ clientId = '', clientSecret = '' }: BulkResult) =>
    setup.client.token(setup.realm, clientId, clientSecret);

  const till = (externalId: string, data: Record<string, unknown> = {}): Line => ({
    type: 'pointOfSale',
    data: { storeId: setup.merchant.storeId, externalId, name: externalId, ...data },
  });
  const withoutSecret = ({ clientSecret: _secret, ...result }: BulkResult) => result;

  // Spec: PROV-30
  test('points of sale get credentials, which are shown once and sell in their store', async () => {
    const lines = [till('a-1'), till('a-2', { storeId: setup.otherMerchant.storeId })];
    const made = await send(lines, 'a');
    assert.deepEqual(
      made.results.map(({ status }) => status),
      ['created', 'created'],
      made.text,
    );
    const [first, second] = made.results as [BulkResult, BulkResult];
    const token = await tokenOf(first);
    const [deviceId] = setup.merchant.deviceIds;
    const { storeId } = setup.merchant;
    const sold = await setup.client.call('POST', '/payment/v1/transactions/process', {
      token,
      body: keyedSale({ storeId, deviceId }),
    });
    assert.equal(sold.status, 200, sold.text);
    assert.equal(sold.body.approved, true);
    assert.notEqual(first.clientSecret, second.clientSecret);

    const again = await send(lines, 'a');
    assert.deepEqual(again.results, made.results.map(withoutSecret));
    const storedResults = await setup.client.call('GET', '/provisioning/v2/bulk/a/results', {
      token: setup.acquirerToken,
    });
    assert.deepEqual(storedResults.body.items, made.results.map(withoutSecret));
    const rows = await setup.platform.provisioning.search(
      { organizationId: setup.organizationId },
      { externalId: 'a-1' },
      { limit: 10 },
    );
    assert.equal(rows.items.length, 1);

    const changed = await send([till('a-1', { status: 'Disabled' }), till('a-2')], 'a-again');
    assert.deepEqual(
      changed.results.map(({ status, error }) => error?.errors?.[0]?.pointer ?? status),
      ['replaced', 'created'],
      changed.text,
    );
    await assert.rejects(tokenOf(first), /401|invalid_client/);
    const removed = await send(
      [{ type: 'pointOfSale', operation: 'delete', data: { pointOfSaleId: second.id } }],
      'a-end',
    );
    assert.equal(removed.results[0]?.status, 'deleted', removed.text);
    await assert.rejects(tokenOf(second), /401|invalid_client/);
    const tried = await send([till('a-3')], 'a-try', '?dryRun=true');
    assert.deepEqual(Object.keys(tried.results[0] ?? {}), ['line', 'status', 'type', 'externalId']);
  });

  test('an organisation above imports into one below it', async () => {
    const below = await setup.client.call('POST', '/provisioning/v2/organizations', {
      token: setup.acquirerToken,
      body: { name: 'Below' },
    });
    assert.equal(below.status, 201, below.text);
    const at = `?organizationId=${below.body.organizationId}`;
    const imported = await send([merchantLine('b-M'), storeLine('b-M', 'b-S')], 'b', at);
    assert.equal(imported.summary?.created, 2, imported.text);
    const state = await setup.client.call('GET', `/provisioning/v2/bulk/b${at}`, {
      token: setup.acquirerToken,
    });
    assert.equal(state.body.state, 'Completed');
    const missingBatch = await setup.client.call('GET', '/provisioning/v2/bulk/b', {
      token: setup.acquirerToken,
    });
    assert.deepEqual([missingBatch.status, missingBatch.body.code], [404, 'batch_not_found']);
    const merchants = await setup.client.call(
      'GET',
      `/provisioning/v2/merchants${at}&externalId=b-M`,
      { token: setup.acquirerToken },
    );
    assert.equal(merchants.body.items.length, 1);
  });
});
