// Every route × every group and role × every owner: compares the platform with the published
// permission table.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import type { RegisteredRoute, RouteDeclaration } from '../../src/http/index.ts';
import { until } from '../support/wait-for-result.ts';
import { everybody, type MatrixCaller } from './permission-matrix-callers.ts';
import {
  putExportBack,
  type Tenant,
  type Things,
  tenant,
} from './permission-matrix-organizations.ts';
import { expectedOf, type Trial, trialsOf } from './permission-matrix-requests.ts';
import {
  last,
  oauthPaths,
  openRoutes,
  pagePaths,
  socketPaths,
  tellsOfRequests,
} from './permission-matrix-routes.ts';

type Told = { readonly status: number; readonly code: string | undefined; readonly text: string };

const nothing: Told = { status: 0, code: undefined, text: '' };

/** The error codes of a missing permission. */
const deniedCodes: ReadonlySet<unknown> = new Set(['permission_denied', 'insufficient_scope']);

describe('the permission matrix', () => {
  let ours: Tenant;
  let theirs: Tenant;
  let callers: readonly MatrixCaller[];
  let routes: readonly RegisteredRoute[];
  let examples: ReadonlyMap<string, unknown>;
  let foreign: readonly string[];

  before(async () => {
    [ours, theirs] = await Promise.all([tenant(), tenant()]);
    callers = await everybody(ours);
    ({ routes } = ours.on.platform.http);
    examples = examplesOf((await ours.on.client.call('GET', '/openapi.json')).body);
    foreign = identifiersOf(theirs);
  });

  const declared = () => routes.flatMap(({ facts }) => (facts === undefined ? [] : [facts]));
  const guarded = () =>
    declared()
      .filter(({ permission }) => permission !== 'public' && permission !== 'certificate')
      .sort((a, b) => Number(last.has(a.operationId)) - Number(last.has(b.operationId)));

  /** A streamed body needs a real connection. */
  async function send({ facts, url, body }: Trial, type: string, token: string): Promise<Told> {
    const headers = { 'content-type': type };
    const call = { token, headers, ...(typeof body === 'string' ? { raw: body } : { body }) };
    const answer = await ours.on.client.call(facts.method, url, call);
    const code = answer.status >= 400 ? String(answer.body.code) : undefined;
    return { status: answer.status, code, text: answer.text };
  }

  /** Repeats the request after a rate limit response. */
  const ask = (trial: Trial, token: string): Promise<Told> =>
    until(async () => {
      const told = await askOnce(trial, token);
      return told.status === 429 ? undefined : told;
    }, `an answer to ${trial.facts.operationId}`);

  async function askOnce(trial: Trial, token: string): Promise<Told> {
    const { facts, url, body } = trial;
    const type = 'application/json';
    const [streamed] = facts.streamedMediaTypes ?? [];
    if (streamed !== undefined) return send(trial, streamed, token);
    const answer = await ours.on.platform.http.app.inject({
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
    trialsOf(facts, examples.get(facts.operationId), { ours, theirs });

  /** Returns the fault of a response, or undefined if it agrees with the table. */
  function faultOf(caller: MatrixCaller, trial: Trial, told: Told): string | undefined {
    const expected = expectedOf(caller, trial);
    const isSaidAgain = tellsOfRequests.has(trial.facts.operationId);
    const leaked = isSaidAgain
      ? undefined
      : foreign.find((id) => told.text.includes(id) && !trial.sent.includes(id));
    const isAsExpected = {
      denied: told.status === 403 && deniedCodes.has(told.code),
      outOfScope: told.status === 403 && told.code === 'entity_out_of_scope',
      notFound: told.status === 404,
      allowed: ![401, 403, 404].includes(told.status) && told.status < 500,
    }[expected];
    if (isAsExpected && leaked === undefined) return undefined;
    const { method, url } = trial.facts;
    const wrong = leaked === undefined ? `is not ${expected}` : `tells ${leaked}`;
    return `${caller.name}, ${method} ${url} (${trial.whose}): ${told.status} ${told.code ?? ''} ${wrong}`;
  }

  /**
   * A foreign object and an unknown object get the same response, which hides whether the object
   * exists.
   */
  function tellApart(caller: MatrixCaller, all: readonly Trial[], told: readonly Told[]) {
    const at = (whose: string) => told[all.findLastIndex((trial) => trial.whose === whose)];
    const [first] = all;
    if (first?.last === undefined) return undefined;
    const { method, url } = first.facts;
    if (!url.includes(`:${first.last}`)) return undefined;
    // With a nested path, both requests must have the same own parent.
    const isBelow = (url.match(/:/g) ?? []).length > 1;
    const [theirs, unknown] = [at(isBelow ? 'smuggled' : 'stranger'), at('unknown')];
    if (theirs?.status !== 404 || unknown?.status !== 404) return undefined;
    if (theirs.code === unknown.code) return undefined;
    return `${caller.name}, ${method} ${url}: ${theirs.code} tells a stranger’s from ${unknown.code}`;
  }

  /**
   * Sends many requests in parallel, but streamed bodies one at a time, because the server limits
   * those.
   */
  async function askAll(who: readonly MatrixCaller[], all: readonly Trial[]) {
    const answers = new Map<MatrixCaller, readonly Told[]>();
    const isStream = all.some(({ facts }) => facts.streamedMediaTypes !== undefined);
    const isDeleted = all.some(({ facts }) => facts.operationId === 'deleteExport');
    const askFor = async (caller: MatrixCaller) => {
      const told: Told[] = [];
      for (const trial of all) {
        if (isDeleted) await putExportBack(ours.on, ours.organization['exportId'] ?? '');
        told.push(await ask(trial, caller.token));
      }
      answers.set(caller, told);
    };
    if (isStream || isDeleted) for (const caller of who) await askFor(caller);
    else await Promise.all(who.map(askFor));
    return answers;
  }

  async function tryAll(who: readonly MatrixCaller[], some: readonly RouteDeclaration[]) {
    const faults: string[] = [];
    let pairs = 0;
    for (const facts of some) {
      const all = trials(facts);
      for (const [caller, told] of await askAll(who, all)) {
        const found = all.map((trial, index) => faultOf(caller, trial, told[index] ?? nothing));
        pairs += found.length;
        faults.push(...[...found, tellApart(caller, all, told)].filter((one) => one !== undefined));
      }
    }
    return { faults, pairs };
  }

  test('each route is in a list: guarded, open by intent, a page, or of the authorization server', () => {
    const isBelow = (url: string, paths: readonly string[]) =>
      paths.some((path) => url.startsWith(path));
    for (const { url, method, facts } of routes) {
      const name = `${method} ${url}`;
      if (facts === undefined) {
        assert.ok(isBelow(url, [...oauthPaths, ...socketPaths]), `${name} declares nothing`);
      } else if (facts.permission === 'certificate') assert.ok(isBelow(url, oauthPaths), name);
      else if (facts.permission === 'public') {
        const isPage = facts.isHidden === true && (url === '/' || isBelow(url, pagePaths));
        assert.ok(isPage || openRoutes.has(facts.operationId), `${name} is open to anybody`);
      }
    }
  });

  test('each guarded route is tried with things of the world', () => {
    const known: Things = { ...ours.organization, ...ours.shop, ...ours.shared };
    for (const facts of guarded()) {
      for (const [, name = ''] of facts.url.matchAll(/:(\w+)/g)) {
        assert.ok(known[name] !== undefined, `${facts.url}: nothing stands for ${name}`);
      }
      const isReady = facts.body === undefined || facts.bodyOptional === true;
      const { body } = trials(facts)[0] ?? {};
      assert.ok(isReady || body !== undefined, `${facts.operationId} has no example`);
    }
  });

  test('U+0000 in an address, which no database holds, is a fault of whoever sends it', async () => {
    const faults: string[] = [];
    let asked = 0;
    for (const facts of guarded()) {
      // One permitted caller of each kind, so that the request reaches the database.
      const own = trials(facts).flatMap((trial) =>
        callers
          .filter((caller) => expectedOf(caller, trial) === 'allowed')
          .map((caller) => ({ trial, caller })),
      );
      const some = new Map(
        own.map((pair) => [`${pair.caller.level} ${pair.caller.isDevice}`, pair]),
      );
      for (const { trial, caller } of some.values()) {
        for (const url of withNul(trial)) {
          const told = await ask({ ...trial, url }, caller.token);
          asked += 1;
          if (told.status >= 500)
            faults.push(`${caller.name}, ${facts.method} ${url}: ${told.text}`);
        }
      }
    }
    assert.deepEqual(faults, []);
    assert.ok(asked >= 200, `${asked} addresses`);
  });

  test('everybody gets what the table says, and nothing of anybody else', async (context) => {
    const some = guarded();
    const began = Date.now();
    const { faults, pairs } = await tryAll(callers, some);
    context.diagnostic(
      `${pairs} pairs, ${some.length} routes, ${callers.length} callers, ${Date.now() - began} ms`,
    );
    assert.deepEqual(faults, []);
    assert.ok(callers.length >= 23 && some.length >= 80 && pairs >= 5000, `${pairs} pairs`);
  });

  test('a table that says too much or too little is found out', async () => {
    const some = guarded().filter(({ operationId }) => operationId === 'getMerchant');
    const named = (name: string) => callers.filter((caller) => caller.name === name);
    const [custcare, operator] = [...named('group org_custcare'), ...named('group org_operator')];
    assert.ok(custcare !== undefined && operator !== undefined);
    const less = { ...custcare, granted: new Set<never>() };
    const more = { ...operator, granted: custcare.granted };
    for (const wrong of [less, more]) {
      const { faults, pairs } = await tryAll([wrong], some);
      assert.equal(faults.length, pairs, faults.join('\n'));
    }
  });
});

type Json = Record<string, unknown>;

/** The address with U+0000 in each path parameter, and for GET in each text query parameter. */
function withNul({ facts, url }: Trial): string[] {
  const [path = '', query] = url.split('?', 2);
  const places = path.split('/');
  const inPath = facts.url.split('/').flatMap((name, index) => {
    const asked = places.with(index, '%00').join('/');
    return name.startsWith(':') ? [query === undefined ? asked : `${asked}?${query}`] : [];
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
  const found = new Map<string, unknown>();
  for (const methods of Object.values(document['paths'] as Json)) {
    for (const operation of Object.values(methods as Json) as Json[]) {
      const content = (operation['requestBody'] as Json | undefined)?.['content'] as Json;
      const media = content?.['application/json'] as Json | undefined;
      const [named] = Object.values((media?.['examples'] ?? {}) as Record<string, Json>);
      const example = media?.['example'] ?? named?.['value'];
      if (example !== undefined) found.set(String(operation['operationId']), example);
    }
  }
  return found;
}

/** Identifiers too long to occur by chance, without identifiers of published objects. */
function identifiersOf({ organization, shop, neighbour }: Tenant): readonly string[] {
  const { serviceId, serviceIds, organizationId, entityId, scope, signUpId, conflictId, ...own } =
    organization;
  return [own, shop, neighbour]
    .flatMap((things) => Object.values(things))
    .filter((id) => id.length >= 20);
}
