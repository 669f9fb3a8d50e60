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

export const base = '/payment/v1/transactions';
export const hourMs = 3_600_000;

export type Members = Record<string, unknown>;
export type Tapped = TestOrganization & { tap: AcquirerRelay };

type MakeScene = (terms: Members, on: { acquirerPort: number }) => Promise<TestOrganization>;

/** A scene whose link passes through its own relay. */
export async function tapped(
  t: TestContext,
  scene: MakeScene,
  terms: Members = {},
): Promise<Tapped> {
  const tap = await startAcquirerRelay((await testPlatform()).host.port);
  t.after(tap.close);
  return { ...(await scene(terms, { acquirerPort: tap.port })), tap };
}

export function call(
  on: TestOrganization,
  method: string,
  path: string,
  body?: unknown,
): Promise<HttpResponse> {
  const options = { token: on.merchant.token, ...defined({ body }) };
  return on.client.call(method, base + path, options);
}

export const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

export const offlineData = (members: Members = {}) => ({
  authorizedAt: ago(hourMs),
  authorizationCode: '9A01B2',
  terminalSequence: 1,
  reason: 'NoConnection',
  ...members,
});

/** @param of members of offlineData */
export const offlineSale = (on: TestOrganization, of: Members = {}, members: Members = {}) =>
  keyedSale({
    deviceId: on.merchant.deviceIds[0],
    offlineTransaction: true,
    offlineData: offlineData(of),
    ...members,
  });

export const upload = (on: TestOrganization, of: Members = {}, members: Members = {}) =>
  call(on, 'POST', '/process', offlineSale(on, of, members));

export async function stored(on: TestOrganization, of: Members = {}, members: Members = {}) {
  const answer = await upload(on, of, members);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers['idempotent-replayed'], undefined);
  return answer.body;
}

export const inState = (on: TestOrganization, id: string, state: string) =>
  until(async () => {
    const { body } = await call(on, 'GET', `/${id}`);
    return body.state === state ? body : undefined;
  }, `${id} to be ${state}`);

export const typesOf = ({ events }: { events: { type: string }[] }) =>
  events.map(({ type }) => type.replace('transaction.', ''));

export function originalsOf(on: TestOrganization, rrn: string) {
  const { originals } = on.host.ledger();
  return originals.filter(
    (each) => each.rrn === rrn && each.merchant === on.merchant.merchantNumber,
  );
}

export async function gapsOf(on: TestOrganization, query = '', token = on.merchant.token) {
  const { status, body, text } = await on.client.call('GET', `/payment/v1/offline-gaps${query}`, {
    token,
  });
  assert.equal(status, 200, text);
  return body as { items: Members[]; nextCursor: string | null };
}

export const missingOf = async (on: TestOrganization, query = '') =>
  (await gapsOf(on, query)).items
    .map(({ firstMissing, lastMissing }) => [Number(firstMissing), Number(lastMissing)])
    .sort(([a = 0], [b = 0]) => a - b);

export async function linkDown(on: Tapped): Promise<void> {
  await on.tap.close();
  await until(async () => {
    const { body } = await call(on, 'GET', '/technical/isAvailable');
    return body.available === false ? true : undefined;
  }, 'the link to be down');
}
