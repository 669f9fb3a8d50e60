// Tills that sell and refund until their server is killed, and the assertions about the result.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { AcquirerHost } from '@switchyard/simulators';
import type { Client, HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import type { ServerProcess } from '../support/processes/server-process.ts';
import { until } from '../support/wait-for-result.ts';
import { sizeOfRun } from './fault-size.ts';

export const transactionsPath = '/payment/v1/transactions';

/** A small generator with a seed, so that a failure can be repeated. */
export function createRandom(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

export type Sale = { clientId: string; response?: HttpResponse; refundResponse?: HttpResponse };

export async function tokenOf(server: ServerProcess, client: Client): Promise<string> {
  const { userDomainId, applications } = await server.demoFacts();
  const merchant = applications['merchant'];
  assert.ok(merchant);
  return client.token(userDomainId, merchant.clientId, merchant.clientSecret);
}

export const waitForLink = (client: Client, token: string) =>
  until(async () => {
    const path = `${transactionsPath}/technical/isAvailable`;
    const { body } = await client.call('GET', path, { token });
    return body.available === true ? true : undefined;
  }, 'the link');

type SellingTerminal = {
  server: ServerProcess;
  client: Client;
  token: string;
  sales: Sale[];
  next: () => number;
  /** Sometimes sends a sale that the host does not answer, with a card whose reversals it loses. */
  sendsUnanswered?: boolean;
  /**
   * Continues after errors until this returns false; default: stops at the first lost connection.
   */
  continues?: () => boolean;
};

/** Values of the simulator's published table. */
const unanswered = {
  amount: 9091,
  instrument: { card: { number: '4000000000004202', expiryMonth: 12, expiryYear: 2030 } },
};
const oneUnansweredIn = 40;
/** A till waits before it repeats a request that was refused for overload. */
const busyPauseMs = 50;
/**
 * A link sends in order and waits seconds for each missing response, so many kills cause a long
 * queue. A retry that five processes died over runs a minute after the last lease.
 */
const endLimitMs = sizeOfRun({ small: 100_000, full: 600_000 });

/** Sends sales, and sometimes refunds. */
export async function sellUntilStopped(terminal: SellingTerminal): Promise<void> {
  const { server, client, token, sales, next, continues, sendsUnanswered = false } = terminal;
  const { devices } = await server.demoFacts();
  do {
    const sale: Sale = { clientId: randomUUID() };
    sales.push(sale);
    try {
      const device = devices[Math.floor(next() * 2)];
      sale.response = await client.call('POST', `${transactionsPath}/process`, {
        token,
        body: keyedSale({
          clientTransactionId: sale.clientId,
          amount: 1000 + Math.floor(next() * 5000),
          deviceId: device?.logicalDeviceId,
          ...(sendsUnanswered && next() < 1 / oneUnansweredIn ? unanswered : {}),
        }),
      });
      if (sale.response.status === 503) await pause(busyPauseMs);
      if (sale.response.body?.state === 'Captured' && next() < 0.2) {
        sale.refundResponse = await client.call(
          'POST',
          `${transactionsPath}/${sale.clientId}/refund`,
          {
            token,
            body: { amount: 100, clientOperationId: sale.clientId },
          },
        );
      }
    } catch {
      if (continues === undefined) return;
    }
  } while (continues === undefined || continues());
}

/** The sale when no work on it is in progress; `Unknown` if the server never stored it. */
export async function waitUntilSettled(
  client: Client,
  token: string,
  sale: Pick<Sale, 'clientId'>,
) {
  let last = '';
  const readSale = async () => {
    const { status, body, text } = await client.call(
      'GET',
      `${transactionsPath}/${sale.clientId}`,
      { token },
    );
    if (status === 404) return { state: 'Unknown' } as Record<string, unknown>;
    assert.equal(status, 200, text);
    last = text;
    const pending = body.operations.some((each: { status: string }) => each.status === 'Pending');
    return ['Received', 'Reversing'].includes(body.state) || pending ? undefined : body;
  };
  return until(readSale, `the end of ${sale.clientId}`, endLimitMs).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${last}`, { cause: error });
  });
}

/** The allowed final states of a sale, by the state in its response. */
const allowedFinalStates: Readonly<Record<string, readonly string[]>> = {
  Captured: ['Captured', 'PartiallyRefunded'],
  Declined: ['Declined'],
  Failed: ['Failed'],
  Reversing: ['Reversed'],
  Reversed: ['Reversed'],
};
/** The final states of a sale without a response: captured, reversed, or never stored. */
const finalStatesWithoutResponse = ['Captured', 'Reversed', 'Unknown'];

type SaleChecks = {
  client: Client;
  token: string;
  sales: readonly Sale[];
  /** A sale that waits for the database until its deadline is not sent and fails. */
  mayFail?: boolean;
};

/**
 * Asserts that each acknowledged sale is stored once as acknowledged, and that all others have
 * ended.
 */
export async function assertFinalStates({ client, token, sales, mayFail = false }: SaleChecks) {
  const counts: Record<string, number> = {};
  const sums = { captured: 0, refunded: 0 };
  const withoutResponse = mayFail
    ? [...finalStatesWithoutResponse, 'Failed']
    : finalStatesWithoutResponse;
  for (const sale of sales) {
    const { clientId, response, refundResponse } = sale;
    const now = await waitUntilSettled(client, token, sale);
    const state = String(now['state']);
    counts[state] = (counts[state] ?? 0) + 1;
    const captured = Number(now['capturedAmount'] ?? 0);
    sums.captured += captured;
    sums.refunded += Number(now['refundedAmount'] ?? 0);
    const acknowledged = response?.status === 200 ? response.body : undefined;
    const ends =
      acknowledged === undefined ? withoutResponse : allowedFinalStates[acknowledged.state];
    assert.ok(
      ends?.includes(state),
      `${clientId}: ${acknowledged?.state ?? 'no answer'}, then ${state}`,
    );
    if (acknowledged !== undefined) {
      assert.equal(now['transactionId'], acknowledged.transactionId, 'an answered sale is there');
      assert.equal(now['answeredState'], acknowledged.state);
      const stays = acknowledged.state === 'Captured' ? acknowledged.capturedAmount : 0;
      assert.equal(captured, stays, `${clientId} was answered ${acknowledged.state}`);
    }
    if (refundResponse?.status === 200) assert.equal(now['refundedAmount'], 100);
  }
  return { counts, ...sums };
}

/** Asserts that the totals of the host equal the sums of all sales. */
export async function assertNothingLost(checks: SaleChecks & { host: AcquirerHost }) {
  const { counts, captured, refunded } = await assertFinalStates(checks);
  const { totals } = checks.host.ledger();
  const sum = (name: 'captured' | 'refunded' | 'openHolds') =>
    totals.reduce((all, each) => all + each[name], 0);
  assert.equal(captured, sum('captured'), `captured ${JSON.stringify(counts)}`);
  assert.equal(refunded, sum('refunded'), 'refunded');
  assert.equal(sum('openHolds'), 0);
  return counts;
}
