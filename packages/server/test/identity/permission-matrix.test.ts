// Whole run: much is made, or waited for, before it shows.
// Every route × every group and role × every owner: compares the platform with the published
// permission table.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import type { RegisteredRoute, RouteDeclaration } from '../../src/http/index.ts';
import { until } from '../support/wait-for-result.ts';
import { createMatrixCallers, type MatrixCaller } from './permission-matrix-callers.ts';
import {
  createMatrixTenant,
  type EntityIds,
  type MatrixTenant,
  restoreExport,
} from './permission-matrix-organizations.ts';
import { expectedOf, type MatrixRequest, matrixRequestsOf } from './permission-matrix-requests.ts';
import {
  oauthPaths,
  openRoutes,
  operationsRunLast,
  operationsThatShowRequests,
  pagePaths,
  socketPaths,
} from './permission-matrix-routes.ts';

type MatrixResponse = {
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
};

const nothing: MatrixResponse = { status: 0, code: undefined, text: '' };

/** The error codes of a missing permission. */
const deniedCodes: ReadonlySet<unknown> = new Set(['permission_denied', 'insufficient_scope']);

describe('the permission matrix', () => {
  let ownTenant: MatrixTenant;
  let otherTenant: MatrixTenant;
  let callers: readonly MatrixCaller[];
  let routes: readonly RegisteredRoute[];
  let examples: ReadonlyMap<string, unknown>;
  let foreign: readonly string[];

  before(async () => {
    [ownTenant, otherTenant] = await Promise.all([createMatrixTenant(), createMatrixTenant()]);
    callers = await createMatrixCallers(ownTenant);
    ({ routes } = ownTenant.setup.platform.http);
    examples = examplesOf((await ownTenant.setup.client.call('GET', '/openapi.json')).body);
    foreign = identifiersOf(otherTenant);
  });

  const declared = () => routes.flatMap(({ facts }) => (facts === undefined ? [] : [facts]));
  const isBelow = (url: string, paths: readonly string[]) =>
    paths.some((path) => url.startsWith(path));
  /** Such routes need the session of a page, and have their own tests. */
  const isOfPage = ({ isHidden, url }: { isHidden?: boolean; url: string }) =>
    isHidden === true && (url === '/' || isBelow(url, pagePaths));
  const guarded = () =>
    declared()
      .filter((facts) => facts.permission !== 'public' && !isOfPage(facts))
      .filter(({ permission }) => permission !== 'certificate')
      .sort(
        (a, b) =>
          Number(operationsRunLast.has(a.operationId)) -
          Number(operationsRunLast.has(b.operationId)),
      );

  /** A streamed body needs a real connection. */
  async function send(
    { facts, url, body }: MatrixRequest,
    type: string,
    token: string,
  ): Promise<MatrixResponse> {
    const headers = { 'content-type': type };
    const call = { token, headers, ...(typeof body === 'string' ? { raw: body } : { body }) };
    const answer = await ownTenant.setup.client.call(facts.method, url, call);
    const code = answer.status >= 400 ? String(answer.body.code) : undefined;
    return { status: answer.status, code, text: answer.text };
  }

  /** Repeats the request after a rate limit response. */
  const sendRequest = (trial: MatrixRequest, token: string): Promise<MatrixResponse> =>
    until(async () => {
      const response = await sendOnce(trial, token);
      return response.status === 429 ? undefined : response;
    }, `an answer to ${trial.facts.operationId}`);

  async function sendOnce(trial: MatrixRequest, token: string): Promise<MatrixResponse> {
    const { facts, url, body } = trial;
    const type = 'application/json';
    const [streamed] = facts.streamedMediaTypes ?? [];
    if (streamed !== undefined) return send(trial, streamed, token);
    const answer = await ownTenant.setup.platform.http.app.inject({
      method: facts.method,
      url,
      headers: {
        authorization: `Bearer ${token}`,
        // The version matches no object, so a permitted caller gets an error and changes nothing.
        ...(facts.method === 'GET' ? {} : { 'if-match': '"999999"' }),
        ...defined({ 'content-type': body === undefined ? undefined : type }),
      },
      ...defined({
        payload:
          body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
      }),
    });
    const isProblem = String(answer.headers['content-type']).includes('problem+json');
    const code = isProblem ? String(answer.json<{ code: string }>().code) : undefined;
    return { status: answer.statusCode, code, text: answer.body };
  }

  const trials = (facts: RouteDeclaration) =>
    matrixRequestsOf(facts, examples.get(facts.operationId), { ownTenant, otherTenant });

  /** Returns the fault of a response, or undefined if it agrees with the table. */
  function faultOf(
    caller: MatrixCaller,
    trial: MatrixRequest,
    response: MatrixResponse,
  ): string | undefined {
    const expected = expectedOf(caller, trial);
    const showsRequests = operationsThatShowRequests.has(trial.facts.operationId);
    const leaked = showsRequests
      ? undefined
      : foreign.find((id) => response.text.includes(id) && !trial.sent.includes(id));
    const isAsExpected = {
      denied: response.status === 403 && deniedCodes.has(response.code),
      outOfScope: response.status === 403 && response.code === 'entity_out_of_scope',
      notFound: response.status === 404,
      allowed: ![401, 403, 404].includes(response.status) && response.status < 500,
    }[expected];
    if (isAsExpected && leaked === undefined) return undefined;
    const { method, url } = trial.facts;
    const wrong = leaked === undefined ? `is not ${expected}` : `tells ${leaked}`;
    return `${caller.name}, ${method} ${url} (${trial.owner}): ${response.status} ${response.code ?? ''} ${wrong}`;
  }

  /**
   * A foreign object and an unknown object get the same response, which hides whether the object
   * exists.
   */
  function requireSameResponses(
    caller: MatrixCaller,
    requests: readonly MatrixRequest[],
    responses: readonly MatrixResponse[],
  ) {
    const at = (owner: string) =>
      responses[requests.findLastIndex((trial) => trial.owner === owner)];
    const [first] = requests;
    if (first?.last === undefined) return undefined;
    const { method, url } = first.facts;
    if (!url.includes(`:${first.last}`)) return undefined;
    // With a nested path, both requests must have the same own parent.
    const isBelow = (url.match(/:/g) ?? []).length > 1;
    const [otherTenantResponse, unknown] = [at(isBelow ? 'smuggled' : 'stranger'), at('unknown')];
    if (otherTenantResponse?.status !== 404 || unknown?.status !== 404) return undefined;
    if (otherTenantResponse.code === unknown.code) return undefined;
    return `${caller.name}, ${method} ${url}: ${otherTenantResponse.code} tells a stranger’s from ${unknown.code}`;
  }

  /**
   * Sends many requests in parallel, but streamed bodies one at a time, because the server limits
   * those.
   */
  async function sendAll(callers: readonly MatrixCaller[], requests: readonly MatrixRequest[]) {
    const answers = new Map<MatrixCaller, readonly MatrixResponse[]>();
    const isStream = requests.some(({ facts }) => facts.streamedMediaTypes !== undefined);
    const isDeleted = requests.some(({ facts }) => facts.operationId === 'deleteExport');
    const sendForCaller = async (caller: MatrixCaller) => {
      const responses: MatrixResponse[] = [];
      for (const trial of requests) {
        if (isDeleted)
          await restoreExport(ownTenant.setup, ownTenant.organization['exportId'] ?? '');
        responses.push(await sendRequest(trial, caller.token));
      }
      answers.set(caller, responses);
    };
    if (isStream || isDeleted) for (const caller of callers) await sendForCaller(caller);
    else await Promise.all(callers.map(sendForCaller));
    return answers;
  }

  async function checkAll(callers: readonly MatrixCaller[], some: readonly RouteDeclaration[]) {
    const faults: string[] = [];
    let pairs = 0;
    for (const facts of some) {
      const requests = trials(facts);
      for (const [caller, responses] of await sendAll(callers, requests)) {
        const found = requests.map((trial, index) =>
          faultOf(caller, trial, responses[index] ?? nothing),
        );
        pairs += found.length;
        faults.push(
          ...[...found, requireSameResponses(caller, requests, responses)].filter(
            (one) => one !== undefined,
          ),
        );
      }
    }
    return { faults, pairs };
  }

  // Spec: GRP-9
  test('each route is in a list: guarded, open by intent, a page, or of the authorization server', () => {
    for (const { url, method, facts } of routes) {
      const name = `${method} ${url}`;
      if (facts === undefined) {
        assert.ok(isBelow(url, [...oauthPaths, ...socketPaths]), `${name} declares nothing`);
      } else if (facts.permission === 'certificate') assert.ok(isBelow(url, oauthPaths), name);
      else if (facts.permission === 'public') {
        assert.ok(
          isOfPage(facts) || openRoutes.has(facts.operationId),
          `${name} is open to anybody`,
        );
      }
    }
  });

  test('each guarded route is tested with entities of each owner', () => {
    const existingIds: EntityIds = {
      ...ownTenant.organization,
      ...ownTenant.merchant,
      ...ownTenant.shared,
    };
    for (const facts of guarded()) {
      for (const [, name = ''] of facts.url.matchAll(/:(\w+)/g)) {
        assert.ok(existingIds[name] !== undefined, `${facts.url}: nothing stands for ${name}`);
      }
      const isReady = facts.body === undefined || facts.bodyOptional === true;
      const { body } = trials(facts)[0] ?? {};
      assert.ok(isReady || body !== undefined, `${facts.operationId} has no example`);
    }
  });

  test('U+0000 in an address is a client error, because no database stores it', async () => {
    const faults: string[] = [];
    let requestCount = 0;
    for (const facts of guarded()) {
      // One permitted caller of each kind, so that the request reaches the database.
      const allowedRequests = trials(facts).flatMap((trial) =>
        callers
          .filter((caller) => expectedOf(caller, trial) === 'allowed')
          .map((caller) => ({ trial, caller })),
      );
      const some = new Map(
        allowedRequests.map((pair) => [`${pair.caller.level} ${pair.caller.isDevice}`, pair]),
      );
      for (const { trial, caller } of some.values()) {
        for (const url of withNul(trial)) {
          const responses = await sendRequest({ ...trial, url }, caller.token);
          requestCount += 1;
          if (responses.status >= 500)
            faults.push(`${caller.name}, ${facts.method} ${url}: ${responses.text}`);
        }
      }
    }
    assert.deepEqual(faults, []);
    assert.ok(requestCount >= 200, `${requestCount} addresses`);
  });

  // Spec: GRP-9 IDENT-48
  test('every caller gets the access of the table, and nothing of other tenants', async (context) => {
    const some = guarded();
    const began = Date.now();
    const { faults, pairs } = await checkAll(callers, some);
    context.diagnostic(
      `${pairs} pairs, ${some.length} routes, ${callers.length} callers, ${Date.now() - began} ms`,
    );
    assert.deepEqual(faults, []);
    assert.ok(callers.length >= 23 && some.length >= 80 && pairs >= 5000, `${pairs} pairs`);
  });

  test('a table with too many or too few permissions is detected', async () => {
    const some = guarded().filter(({ operationId }) => operationId === 'getMerchant');
    const callersNamed = (name: string) => callers.filter((caller) => caller.name === name);
    const [custcare, operator] = [
      ...callersNamed('group org_custcare'),
      ...callersNamed('group org_operator'),
    ];
    assert.ok(custcare !== undefined && operator !== undefined);
    const less = { ...custcare, granted: new Set<never>() };
    const more = { ...operator, granted: custcare.granted };
    for (const wrong of [less, more]) {
      const { faults, pairs } = await checkAll([wrong], some);
      assert.equal(faults.length, pairs, faults.join('\n'));
    }
  });
});

type Json = Record<string, unknown>;

/** The address with U+0000 in each path parameter, and for GET in each text query parameter. */
function withNul({ facts, url }: MatrixRequest): string[] {
  const [path = '', query] = url.split('?', 2);
  const pathParts = path.split('/');
  const inPath = facts.url.split('/').flatMap((name, index) => {
    const requestCount = pathParts.with(index, '%00').join('/');
    return name.startsWith(':')
      ? [query === undefined ? requestCount : `${requestCount}?${query}`]
      : [];
  });
  const words = Object.entries((facts.query as Json | undefined)?.['properties'] ?? {});
  const inQuery = words.flatMap(([name, schema]) =>
    facts.method === 'GET' && (schema as Json)['type'] === 'string'
      ? [`${url}${query === undefined ? '?' : '&'}${name}=a%00`]
      : [],
  );
  return [...inPath, ...inQuery];
}

/** The example body of each operation in the document. */
function examplesOf(document: Json): ReadonlyMap<string, unknown> {
  const examples = new Map<string, unknown>();
  for (const methods of Object.values(document['paths'] as Json)) {
    for (const operation of Object.values(methods as Json) as Json[]) {
      const content = (operation['requestBody'] as Json | undefined)?.['content'] as Json;
      const media = content?.['application/json'] as Json | undefined;
      const [callersNamed] = Object.values((media?.['examples'] ?? {}) as Record<string, Json>);
      const example = media?.['example'] ?? callersNamed?.['value'];
      if (example !== undefined) examples.set(String(operation['operationId']), example);
    }
  }
  return examples;
}

/** Identifiers too long to occur by chance, without identifiers of published objects. */
function identifiersOf({ organization, merchant, otherMerchant }: MatrixTenant): readonly string[] {
  const {
    serviceId,
    serviceIds,
    organizationId,
    entityId,
    scope,
    signUpId,
    conflictId,
    ...allowedRequests
  } = organization;
  return [allowedRequests, merchant, otherMerchant]
    .flatMap((things) => Object.values(things))
    .filter((id) => id.length >= 20);
}
