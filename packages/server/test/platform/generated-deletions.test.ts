// Whole run: many requests with generated values.
// Every DELETE and every secret rotation with generated identifiers, bodies and headers: never a
// 5xx, and no change in another organisation.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import fc from 'fast-check';
import {
  createMatrixTenant,
  type EntityIds,
  type MatrixTenant,
} from '../identity/permission-matrix-organizations.ts';
import { assertAnyProblem } from '../support/assert-problem-response.ts';
import {
  type DocumentedErrorCodes,
  readDocumentedErrorCodes,
} from '../support/documented-error-codes.ts';
import type { HttpResponse } from '../support/https-client.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
/** The requests of one run are sent together. */
const together = 8;
const runsOfRoute = 6;

/** These routes have no body, so the document lists no code for an unwanted one. */
const codesOfUnwantedBodies = new Set(['unsupported_media_type', 'malformed_json']);

type Route = { readonly method: string; readonly path: string; readonly names: readonly string[] };
type Generated = {
  readonly token: string | undefined;
  readonly values: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly raw: string | undefined;
};

const idsOf = ({
  shared,
  organization,
  merchant,
  otherMerchant,
  below,
}: MatrixTenant): EntityIds[] =>
  [organization, merchant, otherMerchant, below].map((level) => ({ ...shared, ...level }));

function routesOf(document: { paths: Record<string, Record<string, unknown>> }): Route[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((method) => method === 'delete' || (method === 'post' && path.endsWith('/secret')))
      .map((method) => ({
        method: method.toUpperCase(),
        path,
        names: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
      })),
  );
}

const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 70 })
  .filter((part) => part !== '.' && part !== '..' && part.isWellFormed());
const junk = fc.constantFrom('0', '-1', 'null', "' OR ''='", '%', '{}', 'x'.repeat(300), '\u0000');
const header = fc.stringMatching(/^[\x20-\x7e]{0,40}$/);

describe(`generated deletions and new secrets (seed ${seed})`, () => {
  let ownTenant: MatrixTenant;
  let otherTenant: MatrixTenant;
  let documents: DocumentedErrorCodes;
  let routes: Route[];
  let tokens: (string | undefined)[];
  let foreign: Set<string>;

  before(async () => {
    [ownTenant, otherTenant] = await Promise.all([createMatrixTenant(), createMatrixTenant()]);
    documents = await readDocumentedErrorCodes(ownTenant.setup.client);
    routes = routesOf((await ownTenant.setup.client.call('GET', '/openapi.json')).body);
    const { organizationId, merchant } = ownTenant.setup;
    const entity = { entityType: 'merchant', entityId: merchant.merchantId } as const;
    tokens = [
      ownTenant.setup.acquirerToken,
      ...(await Promise.all(
        ['Merchant', 'MerchantDeveloper', 'MerchantReadOnly'].map((role) =>
          ownTenant.setup.tokenFor({
            name: role,
            roles: [role],
            merchantId: merchant.merchantId,
            ...entity,
          }),
        ),
      )),
      await ownTenant.setup.tokenFor({
        name: 'Operator',
        entityType: 'tenant',
        entityId: organizationId,
        roles: ['PlatformOperator', 'ServiceProvider', 'Onboarding'],
      }),
      undefined,
      'not a token',
    ];
    const ownIds = new Set(idsOf(ownTenant).flatMap((things) => Object.values(things)));
    foreign = new Set(idsOf(otherTenant).flatMap((things) => Object.values(things)));
    for (const id of foreign) if (ownIds.has(id) || id.length < 10) foreign.delete(id);
  });

  const generated = ({ names }: Route): fc.Arbitrary<Generated> => {
    const identifierFor = (name: string) => {
      const idsInTenant = (world: MatrixTenant) =>
        idsOf(world).flatMap((things) => (things[name] === undefined ? [] : [things[name]]));
      const [ownCandidates, others] = [idsInTenant(ownTenant), idsInTenant(otherTenant)];
      return fc.oneof(
        { weight: 5, arbitrary: fc.constantFrom(...(others.length > 0 ? others : ['none'])) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(...(ownCandidates.length > 0 ? ownCandidates : ['none'])),
        },
        { weight: 1, arbitrary: fc.uuid() },
        { weight: 1, arbitrary: fc.oneof(text, junk) },
      );
    };
    const scope = fc.constantFrom(
      otherTenant.setup.organizationId,
      ownTenant.setup.organizationId,
      'x',
    );
    return fc.record({
      token: fc.constantFrom(...tokens),
      values: fc.record(Object.fromEntries(names.map((name) => [name, identifierFor(name)]))),
      query: fc.array(
        fc.oneof(
          fc.tuple(fc.constantFrom('organizationId', 'merchantId'), scope),
          fc.tuple(text, text),
        ),
        { maxLength: 2 },
      ),
      headers: fc.record(
        {
          'if-match': fc.oneof(fc.constantFrom('*', '"1"', 'W/"1"', '"999999"'), header),
          'idempotency-key': header,
          'content-type': fc.constantFrom('application/json', 'text/plain', 'x', ''),
          'x-http-method-override': fc.constantFrom('GET', 'PUT'),
          'x-forwarded-for': fc.ipV4(),
        },
        { requiredKeys: [] },
      ),
      raw: fc.option(
        fc.oneof(
          fc.constantFrom('{}', '[]', 'null', '{', '{"organizationId":"x"}'),
          fc.json(),
          fc.string({ maxLength: 200 }),
        ),
        { nil: undefined },
      ),
    });
  };

  async function send(route: Route, { token, values, query, headers, raw }: Generated) {
    const path = route.path.replace(/\{(\w+)\}/g, (_whole, name) =>
      encodeURIComponent(values[name] ?? ''),
    );
    const pairs = new URLSearchParams(
      query.map(([name, value]): [string, string] => [name, value]),
    );
    const url = query.length === 0 ? path : `${path}?${pairs}`;
    const call = { headers, ...defined({ token, raw }) };
    const answer = await ownTenant.setup.client.call(route.method, url, call);
    const details = `${route.method} ${url} ${JSON.stringify(headers)} ${raw}: ${answer.status} ${answer.text}`;
    const isForeign = Object.values(values).some((value) => foreign.has(value));
    assert.ok(!isForeign || answer.status >= 400, details);
    if (answer.status < 300) return;
    assertAnyProblem(answer, details);
    if (!codesOfUnwantedBodies.has(answer.body.code)) {
      documents.assertCode(route.method, path, answer);
    }
  }

  /** Removes members that deliveries and provider calls change by themselves. */
  const withoutCounters = (body: HttpResponse['body']) =>
    JSON.stringify(body, (name, value) => (/^(?:fail|last|retry)/.test(name) ? undefined : value));

  /** Reads all objects of the other organisation as their owner. */
  async function readTheirs(): Promise<Map<string, string>> {
    const otherEntities = new Map<string, string>();
    for (const { path, names } of routes) {
      const read = path.replace(/\/secret$/, '');
      for (const things of idsOf(otherTenant)) {
        if (names.some((name) => things[name] === undefined)) continue;
        const url = read.replace(/\{(\w+)\}/g, (_whole, name) => things[name] ?? '');
        const { acquirerToken: token, client, merchant } = otherTenant.setup;
        for (const each of [token, merchant.token]) {
          const { status, body } = await client.call('GET', url, { token: each });
          if (status === 200) otherEntities.set(url, withoutCounters(body));
        }
      }
    }
    return otherEntities;
  }

  // Spec: SET-13
  test('deletions and new secrets change nothing of another organisation, and have a documented error', async () => {
    assert.ok(routes.length > 20, `${routes.length} routes`);
    const before = await readTheirs();
    assert.ok(before.size > 20, `${before.size} things`);
    for (const route of routes) {
      await fc.assert(
        fc.asyncProperty(
          fc.array(generated(route), { minLength: together, maxLength: together }),
          async (list) => {
            await Promise.all(list.map((each) => send(route, each)));
          },
        ),
        { seed, numRuns: runsOfRoute, endOnFailure: true },
      );
    }
    const after = await readTheirs();
    for (const [url, body] of before) assert.equal(after.get(url), body, url);
    const { client, acquirerToken: token } = ownTenant.setup;
    const { status } = await client.call('GET', '/provisioning/v2/merchants', { token });
    assert.equal(status, 200, 'the caller still has a valid token');
  });
});
