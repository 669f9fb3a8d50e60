// Requests of a till for card payments, and what tests read back: states, events, the host's books.
import type { TestContext } from 'node:test';
import { defined } from '@switchyard/contract';
import { type AcquirerRelay, startAcquirerRelay } from './acquirers/acquirer-relay.ts';
import type { HttpResponse } from './https-client.ts';
import { createTestOrganization, type TestOrganization } from './test-organization.ts';
import { testPlatform } from './test-platform.ts';
import { until } from './wait-for-result.ts';

export const transactionsPath = '/payment/v1/transactions';
export type RequestFields = Record<string, unknown>;
export type OrganizationBehindRelay = TestOrganization & { relay: AcquirerRelay };

type CreateOrganization = (
  terms: RequestFields,
  setup: { acquirerPort: number },
) => Promise<TestOrganization>;

/** An organisation whose link passes through its own relay. */
export async function createOrganizationBehindRelay(
  t: TestContext,
  createOrganization: CreateOrganization = createTestOrganization,
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

/** GET without a body, POST with one. */
export const getOrPost = (setup: TestOrganization, path: string, body?: RequestFields) =>
  call(setup, body === undefined ? 'GET' : 'POST', path, body);

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
