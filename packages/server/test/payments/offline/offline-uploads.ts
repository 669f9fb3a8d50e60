// Shared by the tests of offline sales: uploads, the relay before the host, and the report of gaps.
import assert from 'node:assert/strict';
import { keyedSale } from '../../support/keyed-sale.ts';
import {
  call,
  type OrganizationBehindRelay,
  type RequestFields,
} from '../../support/payment-calls.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';

export const hourMs = 3_600_000;

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
