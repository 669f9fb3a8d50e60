// Whole run: much is made, or waited for, before it shows.
// Generated bodies, valid and damaged: never a 5xx, and always a documented code.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import {
  CancelRequest,
  CaptureAllRequest,
  CaptureRequest,
  ProcessRequest,
  RefundByWebRequest,
  RefundRequest,
} from '@switchyard/contract';
import fc from 'fast-check';
import { assertAnyProblem } from '../support/assert-problem-response.ts';
import {
  type DocumentedErrorCodes,
  readDocumentedErrorCodes,
} from '../support/documented-error-codes.ts';
import type { HttpResponse, RequestOptions } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { garbledBodies, mutatedBodies, validBodies } from './generated-bodies.ts';

const base = '/payment/v1/transactions';
const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
/** The requests of one run are sent together. */
const together = 16;

describe(`generated input (seed ${seed})`, () => {
  let setup: TestOrganization;
  let documents: DocumentedErrorCodes;
  let targets: string[];

  before(async () => {
    setup = await createTestOrganization();
    documents = await readDocumentedErrorCodes(setup.client);
    const sales = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        call('POST', '/process', {
          body: keyedSale({ captureMode: index % 2 === 0 ? 'Deferred' : 'Immediate' }),
        }),
      ),
    );
    targets = sales.map(({ body }) => String(body.transactionId));
  });

  const call = (
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<HttpResponse> =>
    setup.client.call(method, base + path, { token: setup.merchant.token, ...options });

  async function fair(
    method: string,
    path: string,
    options: RequestOptions,
  ): Promise<HttpResponse> {
    const answer = await call(method, path, options);
    if (answer.status >= 200 && answer.status < 300) return answer;
    const requestText = String(options.raw ?? JSON.stringify(options.body)).slice(0, 1500);
    assertAnyProblem(answer, `${method} ${path} ${requestText}`);
    documents.assertCode(method, base + path, answer);
    return answer;
  }

  function assertHolds<T>(
    cases: fc.Arbitrary<T>,
    numRuns: number,
    sendCase: (each: T) => Promise<HttpResponse>,
  ) {
    return fc.assert(
      fc.asyncProperty(
        fc.array(cases, { minLength: together, maxLength: together }),
        async (list) => {
          await Promise.all(list.map(sendCase));
        },
      ),
      { seed, numRuns, endOnFailure: true },
    );
  }

  const payable = fc
    .tuple(validBodies(ProcessRequest), fc.constantFrom('EUR', 'USD', 'JPY'))
    .map(([body, currency]) => ({
      ...(body as object),
      // Without it the Idempotency-Key header identifies the sale, which other tests cover.
      clientTransactionId:
        (body as { clientTransactionId?: string }).clientTransactionId ?? randomUUID(),
      // An amount of zero is only for verifications, which other tests cover.
      amount: Math.max(1, (body as { amount: number }).amount),
      currency,
      entryMode: 'Keyed',
      instrument: keyedSale()['instrument'],
      merchantId: undefined,
      storeId: undefined,
      deviceId: undefined,
      notAfter: undefined,
      // These members depend on each other and on the amount; other tests cover them.
      amounts: undefined,
      purpose: undefined,
      ksn: undefined,
      pinblock: undefined,
      pinblockFormat: undefined,
      stepUpOf: undefined,
      confirmWithinSeconds: undefined,
      offlineTransaction: undefined,
      offlineData: undefined,
      orderChannel: undefined,
      zipCode: undefined,
      houseNumber: undefined,
    }));

  test('a body that the schema of a sale accepts is processed, or refused for its content', async () => {
    let sold = 0;
    await assertHolds(payable, 15, async (body) => {
      const answer = await fair('POST', '/process', { body });
      if (answer.status === 200) sold += 1;
      else
        assert.match(
          answer.body.code,
          /^(?:client_id_(?:invalid|reused)|field_invalid)$/,
          answer.text,
        );
      return answer;
    });
    assert.ok(sold > 100, `${sold} sold`);
    await assertHolds(validBodies(ProcessRequest), 15, (body) =>
      fair('POST', '/process', { body }),
    );
  });

  test('a mutated sale is refused, or is still a sale', () =>
    assertHolds(mutatedBodies(ProcessRequest), 40, (body) => fair('POST', '/process', { body })));

  test('garbled bytes are refused, or still a sale', () =>
    assertHolds(garbledBodies(ProcessRequest), 20, (raw) => fair('POST', '/process', { raw })));

  const verbs = {
    capture: CaptureRequest,
    refund: RefundRequest,
    cancel: CancelRequest,
    refundbyweb: RefundByWebRequest,
  };
  for (const [verb, schema] of Object.entries(verbs)) {
    test(`${verb}: valid, mutated and garbled bodies`, async () => {
      const path = fc.nat(11).map((index) => `/${targets[index]}/${verb}`);
      const whole = fc.tuple(path, fc.oneof(validBodies(schema), mutatedBodies(schema)));
      await assertHolds(whole, 10, ([to, body]) => fair('POST', to, { body }));
      await assertHolds(fc.tuple(path, garbledBodies(schema)), 5, ([to, raw]) =>
        fair('POST', to, { raw }),
      );
    });
  }

  test('a capture of all: valid, mutated and garbled bodies', async () => {
    const dry = validBodies(CaptureAllRequest).map((body) => ({
      ...(body as object),
      dryRun: true,
    }));
    const all = fc.oneof(dry, mutatedBodies(CaptureAllRequest));
    await assertHolds(all, 10, (body) => fair('POST', '/captureall', { body }));
    await assertHolds(garbledBodies(CaptureAllRequest), 5, (raw) =>
      fair('POST', '/captureall', { raw }),
    );
  });

  test('random paths and queries', async () => {
    const part = fc
      .oneof(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 70 }),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 70 }).filter((t) => t.isWellFormed()),
        fc.uuid(),
      )
      .filter((text) => text !== '.' && text !== '..');
    const tail = fc.constantFrom('', '/allowedoperations');
    await assertHolds(fc.tuple(part, tail), 10, ([name, end]) =>
      fair('GET', `/${encodeURIComponent(name)}${end}`, {}),
    );
    const name = fc.oneof(fc.constantFrom('wait', 'merchantId'), fc.string({ maxLength: 10 }));
    const value = fc.oneof(fc.string({ maxLength: 20 }), fc.uuid(), fc.integer().map(String));
    const query = fc.array(fc.tuple(name, value), { maxLength: 3 });
    await assertHolds(query, 10, (pairs) =>
      fair('GET', `/never?${new URLSearchParams(pairs)}`, {}),
    );
  });
});
