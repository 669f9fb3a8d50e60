// Shared by the tests of offline sales: uploads, the relay before the host, and the report of gaps.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { defined } from '@switchyard/contract';
import { type AcquirerRelay, startAcquirerRelay } from '../../support/acquirers/acquirer-relay.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { testPlatform } from '../../support/test-platform.ts';
import { until } from '../../support/wait-for-result.ts';

export const transactionsPath = '/payment/v1/transactions';
export const hourMs = 3_600_000;

export type RequestFields = Record<string, unknown>;
export type OrganizationBehindRelay = TestOrganization & { relay: AcquirerRelay };

type CreateOrganization = (
  terms: RequestFields,
  setup: { acquirerPort: number },
) => Promise<TestOrganization>;

/** A scene whose link passes through its own relay. */
export async function createOrganizationBehindRelay(
  t: TestContext,
  createOrganization: CreateOrganization,
  terms: RequestFields = {},
): Promise<OrganizationBehindRelay> {
  const relay = await startAcquirerRelay((await testPlatform()).host.port);
  t.after(relay.close);
  return { ...(await createOrganization(terms, { acquirerPort: relay.port })), relay };
}

export function call(
  setup: TestOrganization,
  method: string,
  path: string,
  body?: unknown,
): Promise<HttpResponse> {
  const options = { token: setup.merchant.token, ...defined({ body }) };
  return setup.client.call(method, transactionsPath + path, options);
}

export const timeAgo = (ms: number) => new Date(Date.now() - ms).toISOString();

export const offlineData = (members: RequestFields = {}) => ({
  authorizedAt: timeAgo(hourMs),
  authorizationCode: '9A01B2',
  terminalSequence: 1,
  reason: 'NoConnection',
  ...members,
});

/** @param offlineFields members of offlineData */
export const offlineSale = (
  setup: TestOrganization,
  offlineFields: RequestFields = {},
  members: RequestFields = {},
) =>
  keyedSale({
    deviceId: setup.merchant.deviceIds[0],
    offlineTransaction: true,
    offlineData: offlineData(offlineFields),
    ...members,
  });

export const upload = (
  setup: TestOrganization,
  offlineFields: RequestFields = {},
  members: RequestFields = {},
) => call(setup, 'POST', '/process', offlineSale(setup, offlineFields, members));

export async function uploadStored(
  setup: TestOrganization,
  offlineFields: RequestFields = {},
  members: RequestFields = {},
) {
  const answer = await upload(setup, offlineFields, members);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers['idempotent-replayed'], undefined);
  return answer.body;
}

export const waitForState = (setup: TestOrganization, id: string, state: string) =>
  until(async () => {
    const { body } = await call(setup, 'GET', `/${id}`);
    return body.state === state ? body : undefined;
  }, `${id} to be ${state}`);

export const eventTypesOf = ({ events }: { events: { type: string }[] }) =>
  events.map(({ type }) => type.replace('transaction.', ''));

export function originalsOf(setup: TestOrganization, rrn: string) {
  const { originals } = setup.host.ledger();
  return originals.filter(
    (each) => each.rrn === rrn && each.merchant === setup.merchant.merchantNumber,
  );
}

export async function listGaps(setup: TestOrganization, query = '', token = setup.merchant.token) {
  const { status, body, text } = await setup.client.call(
    'GET',
    `/payment/v1/offline-gaps${query}`,
    {
      token,
    },
  );
  assert.equal(status, 200, text);
  return body as { items: RequestFields[]; nextCursor: string | null };
}

export const listMissingNumbers = async (setup: TestOrganization, query = '') =>
  (await listGaps(setup, query)).items
    .map(({ firstMissing, lastMissing }) => [Number(firstMissing), Number(lastMissing)])
    .sort(([a = 0], [b = 0]) => a - b);

export async function takeLinkDown(setup: OrganizationBehindRelay): Promise<void> {
  await setup.relay.close();
  await until(async () => {
    const { body } = await call(setup, 'GET', '/technical/isAvailable');
    return body.available === false ? true : undefined;
  }, 'the link to be down');
}
