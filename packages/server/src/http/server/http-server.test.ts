import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { defined, errorCodes, isErrorCode, type Problem } from '@switchyard/contract';
import fc from 'fast-check';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { createSample, type Sample, sampleBaseUrl, transaction } from './sample-server.fixture.ts';

const good = { name: 'cup', amount: 1999 };
const things = '/sample/v1/things';
const json = { 'content-type': 'application/json' };
const all = { authorization: 'Bearer all' };

describe('http', () => {
  let sample: Sample;
  before(async () => {
    sample = await createSample();
    await sample.app.ready();
  });
  after(() => sample.close());

  const send = (options: InjectOptions) => sample.app.inject(options);
  const post = (payload: string | object, headers: Record<string, string> = {}) =>
    send({ method: 'POST', url: things, payload, headers: { ...json, ...all, ...headers } });

  function problemOf(answer: LightMyRequestResponse, code: string): Problem {
    assert.equal(answer.headers['content-type'], 'application/problem+json', answer.body);
    const problem = answer.json<Problem>();
    assert.equal(problem.code, code, answer.body);
    assert.ok(isErrorCode(code));
    const facts = errorCodes[code];
    assert.equal(answer.statusCode, facts.status);
    assert.equal(problem.status, facts.status);
    assert.equal(problem.title, facts.title);
    assert.equal(problem.retryable, facts.retryable);
    assert.equal(problem.type, `${sampleBaseUrl}/docs/errors/${code}`);
    assert.equal(problem.requestId, answer.headers['x-request-id']);
    assert.match(String(problem.outcome), /^(NotProcessed|Processed|Unknown)$/);
    return problem;
  }

  const pointersOf = (problem: Problem) =>
    (problem.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`);

  it('passes a valid request to its handler', async () => {
    const answer = await post(good);
    assert.equal(answer.statusCode, 200);
    assert.deepEqual(answer.json(), { ...good, clientId: 'client-1' });
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
  });

  // Spec: PROB-9
  describe('order of checks', () => {
    const large = 'x'.repeat(1_048_577);
    const faults: [string, InjectOptions, string][] = [
      [
        'size before media type',
        { headers: { 'content-type': 'text/plain' }, payload: large },
        'payload_too_large',
      ],
      [
        'media type before authentication',
        { headers: { 'content-type': 'text/plain' }, payload: '{' },
        'unsupported_media_type',
      ],
      [
        'authentication before permission',
        { headers: { ...json, authorization: 'Bearer nobody' }, payload: '{' },
        'token_invalid',
      ],
      [
        'permission before syntax',
        { headers: { ...json, authorization: 'Bearer reader' }, payload: '{' },
        'permission_denied',
      ],
      [
        'syntax before fields',
        { headers: { ...json, ...all }, payload: '{"amount":0,"amount":0}' },
        'malformed_json',
      ],
      ['fields last', { headers: { ...json, ...all }, payload: '{"amount":0}' }, 'field_required'],
    ];
    for (const [name, options, code] of faults) {
      it(name, async () => {
        const handled = sample.handled();
        problemOf(await send({ method: 'POST', url: things, ...options }), code);
        assert.equal(sample.handled(), handled);
      });
    }
  });

  describe('media types', () => {
    it('refuses a body without a media type', async () => {
      const headers = { ...all, 'content-length': '2' };
      problemOf(
        await send({ method: 'POST', url: things, headers, payload: Buffer.from('{}') }),
        'unsupported_media_type',
      );
    });

    it('refuses a missing body without a media type where one is expected', async () => {
      problemOf(
        await send({ method: 'POST', url: things, headers: all }),
        'unsupported_media_type',
      );
    });

    it('accepts other spellings of application/json', async () => {
      for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
        assert.equal((await post(good, { 'content-type': type })).statusCode, 200, type);
      }
    });

    it('refuses other charsets, other types and encodings', async () => {
      for (const headers of [
        { 'content-type': 'application/json; charset=latin1' },
        { 'content-type': 'application/jsonp' },
        { 'content-type': 'application/x-www-form-urlencoded' },
        { 'content-type': 'multipart/form-data; boundary=x' },
        { 'content-encoding': 'gzip' },
      ]) {
        problemOf(await post(JSON.stringify(good), headers), 'unsupported_media_type');
      }
    });

    it('rejects a client that does not accept JSON', async () => {
      for (const accept of ['text/html', 'application/json;q=0', 'image/*, text/*;q=0.5']) {
        problemOf(await post(good, { accept }), 'not_acceptable');
      }
      for (const accept of ['*/*', 'application/*', 'text/html, application/json;q=0.1', '']) {
        assert.equal((await post(good, { accept })).statusCode, 200, accept);
      }
    });
  });

  describe('authentication', () => {
    const cases: [string, string | undefined, string, string][] = [
      ['no token', undefined, 'token_missing', 'Bearer realm="switchyard"'],
      ['another scheme', 'Basic abc', 'token_invalid', 'error="invalid_token"'],
      ['an unreadable token', 'Bearer a b', 'token_invalid', 'error="invalid_token"'],
      ['an empty token', 'Bearer ', 'token_invalid', 'error="invalid_token"'],
      ['an unknown token', 'Bearer nobody', 'token_invalid', 'error="invalid_token"'],
      ['an expired token', 'Bearer expired', 'token_expired', 'error="invalid_token"'],
    ];
    for (const [name, authorization, code, challenge] of cases) {
      it(`answers for ${name}`, async () => {
        const headers = { ...json, ...defined({ authorization }) };
        const answer = await send({ method: 'POST', url: things, headers, payload: good });
        assert.equal(problemOf(answer, code).outcome, 'NotProcessed');
        assert.ok(String(answer.headers['www-authenticate']).includes(challenge));
      });
    }

    // Spec: CALLS-1
    it('accepts any valid token when the route declares it', async () => {
      const headers = { authorization: 'bearer reader' };
      const url = `${things}/cup/close`;
      assert.equal((await send({ method: 'POST', url, headers })).statusCode, 200);
    });

    it('accepts one of several permissions', async () => {
      const headers = { authorization: 'Bearer reader' };
      assert.equal((await send({ url: things, headers })).statusCode, 200);
    });

    it('hides an error during authentication, and reports that nothing was processed', async () => {
      const answer = await post(good, { authorization: 'Bearer fault' });
      assert.equal(problemOf(answer, 'internal_error').outcome, 'NotProcessed');
    });
  });

  describe('fields', () => {
    const cases: [string, object, string[]][] = [
      ['a missing member', { name: 'cup' }, ['/amount field_required']],
      ['an unknown member', { ...good, x: 1 }, ['/x field_unknown']],
      ['a number as text', { ...good, amount: '12' }, ['/amount amount_invalid']],
      ['a zero', { ...good, amount: 0 }, ['/amount amount_zero']],
      ['a negative amount', { ...good, amount: -1 }, ['/amount amount_invalid']],
      ['a large amount', { ...good, amount: 1_000_000_000_000 }, ['/amount amount_too_large']],
      ['an amount beyond exact numbers', { ...good, amount: 1e20 }, ['/amount amount_too_large']],
      ['one error for each member', { ...good, name: 'A'.repeat(30) }, ['/name field_invalid']],
      ['a word outside its list', { ...good, colour: 'blue' }, ['/colour field_invalid']],
      ['a null', { ...good, colour: null }, ['/colour field_invalid']],
      [
        'several',
        { amount: 0, colour: 1 },
        ['/name field_required', '/amount amount_zero', '/colour field_invalid'],
      ],
      [
        'the alternative that was meant',
        { ...good, shape: { kind: 'circle', radius: 0, side: 1 } },
        ['/shape/side field_unknown', '/shape/radius field_invalid'],
      ],
      [
        'an unknown alternative',
        { ...good, shape: { kind: 'star' } },
        ['/shape/kind field_invalid'],
      ],
      ['no alternative', { ...good, shape: 3 }, ['/shape field_invalid']],
      [
        'escaped pointers',
        { ...good, parts: [{ 'a/b': 1 }, { 'a/b': 'x' }] },
        ['/parts/1/a~1b field_invalid'],
      ],
      ['a name of a record', { ...good, labels: { UP: 'x' } }, ['/labels/UP field_invalid']],
      ['a list for an object', [good], [' field_invalid']],
    ];
    for (const [name, payload, expected] of cases) {
      it(`points at ${name}`, async () => {
        const answer = await post(
          JSON.stringify(payload).replace('100000000000000000000', '1'.repeat(21)),
        );
        const problem = answer.json<Problem>();
        assert.deepEqual(pointersOf(problem).sort(), [...expected].sort(), answer.body);
        problemOf(answer, String(problem.errors?.[0]?.code));
      });
    }

    it('never repeats sent values', async () => {
      const pan = '4111111111111111';
      const answer = await post({
        name: pan,
        amount: Number(pan),
        colour: pan,
        [pan]: pan,
        labels: { [pan]: 1 },
        shape: { kind: pan },
      });
      assert.equal(answer.statusCode, 422);
      const text = answer.body.replaceAll(answer.json().requestId, '');
      assert.ok(!text.includes('4111'), text);
    });

    it('lists at most twenty errors', async () => {
      const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`m${n}`, n]));
      assert.equal(problemOf(await post({ ...good, ...many }), 'field_unknown').errors?.length, 20);
    });

    it('answers a body with many errors as cheaply as a body with one error', async () => {
      const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`m${n}`, n]));
      assert.equal(problemOf(await post({ ...good, ...many }), 'field_unknown').errors?.length, 1);
    });

    // Spec: JSON-8
    it('reads numbers out of a query and points into it', async () => {
      const list = (query: string) => send({ url: `${things}?${query}`, headers: all });
      assert.equal((await list('limit=3')).json<{ items: [] }>().items.length, 3);
      assert.equal((await list('')).json<{ items: [] }>().items.length, 50);
      for (const [query, expected] of [
        ['limit=0', '?limit field_invalid'],
        ['limit=201', '?limit field_invalid'],
        ['limit=x', '?limit field_invalid'],
        ['limit=1e400', '?limit field_invalid'],
        ['limit=-1e400', '?limit field_invalid'],
        ['limit=1&limit=2', '?limit field_invalid'],
        ['page=2', '?page field_unknown'],
        ['cursor=', '?cursor cursor_invalid'],
        ['cursor=bm9uc2Vuc2U', '?cursor cursor_invalid'],
      ] as const) {
        const answer = await list(query);
        assert.equal(answer.statusCode, 422, query);
        assert.deepEqual(pointersOf(answer.json()), [expected]);
      }
    });

    it('points at a path parameter', async () => {
      const answer = await send({ method: 'POST', url: `${things}/c/close`, headers: all });
      assert.deepEqual(pointersOf(problemOf(answer, 'field_invalid')), [':name field_invalid']);
    });
  });

  describe('optional bodies', () => {
    const close = (payload?: string, headers = {}) =>
      send({
        method: 'POST',
        url: `${things}/cup/close`,
        headers: { ...all, ...headers },
        ...defined({ payload }),
      });

    it('counts a missing body as an empty object', async () => {
      for (const answer of [await close(), await close('', json), await close('{}', json)]) {
        assert.deepEqual(answer.json(), { body: {}, name: 'cup' });
      }
    });

    it('validates a sent body', async () => {
      problemOf(await close('{"amount":0}', json), 'amount_zero');
      problemOf(await close('{"amount":1', json), 'malformed_json');
    });

    it('rejects members when the route has no body schema', async () => {
      const url = '/sample/v1/refusal';
      const headers = { ...json, ...all };
      problemOf(await send({ method: 'POST', url, headers, payload: '{"a":1}' }), 'field_unknown');
    });
  });

  describe('paths and methods', () => {
    it('answers route_not_found for an unknown path, with and without a token', async () => {
      problemOf(await send({ url: '/nowhere' }), 'route_not_found');
      problemOf(await send({ method: 'POST', url: `${things}/`, payload: 'x' }), 'route_not_found');
    });

    it('names the methods of a path', async () => {
      const answer = await send({ method: 'DELETE', url: things });
      problemOf(answer, 'method_not_allowed');
      assert.equal(answer.headers['allow'], 'GET, HEAD, OPTIONS, POST');
      const closing = await send({ url: `${things}/x/close?y=1` });
      problemOf(closing, 'method_not_allowed');
      assert.equal(closing.headers['allow'], 'OPTIONS, POST');
    });

    it('answers OPTIONS and HEAD', async () => {
      const options = await send({ method: 'OPTIONS', url: things });
      assert.equal(options.statusCode, 204);
      assert.equal(options.headers['allow'], 'GET, HEAD, OPTIONS, POST');
      problemOf(await send({ method: 'OPTIONS', url: '/nowhere' }), 'route_not_found');
      const head = await send({ method: 'HEAD', url: things, headers: all });
      assert.equal(head.statusCode, 200);
      assert.equal(head.body, '');
      assert.equal((await send({ method: 'HEAD', url: things })).statusCode, 401);
    });

    it('rejects URLs that are too long or malformed', async () => {
      problemOf(await send({ url: `${things}?x=${'y'.repeat(9000)}` }), 'uri_too_long');
      problemOf(
        await send({ method: 'POST', url: `${things}/${'y'.repeat(300)}/close` }),
        'uri_too_long',
      );
      problemOf(await send({ url: '/%zz' }), 'request_malformed');
    });
  });

  describe('request identifiers', () => {
    // Spec: LIST-8
    it('keeps a valid X-Request-Id and replaces others', async () => {
      const clientRequestId = await post(good, { 'x-request-id': 'till-7:000123' });
      assert.equal(clientRequestId.headers['x-request-id'], 'till-7:000123');
      for (const name of ['a b', 'x'.repeat(129), 'é', '<script>', 'a4111111111111']) {
        const answer = await post(good, { 'x-request-id': name });
        assert.match(String(answer.headers['x-request-id']), /^[0-9a-f-]{36}$/, name);
      }
    });

    it('uses the identifier as the instance of a problem', async () => {
      const problem = problemOf(await post({}, { 'x-request-id': 'till-7' }), 'field_required');
      assert.equal(problem.instance, 'urn:request:till-7');
      const made = problemOf(await post({}), 'field_required');
      assert.equal(made.instance, `urn:uuid:${made.requestId}`);
    });

    it('carries the trace into the log', async () => {
      const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
      await post({}, { traceparent: `00-${trace}-00f067aa0ba902b7-01` });
      assert.equal(sample.lines.at(-1)?.['trace_id'], trace);
      await post({}, { traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` });
      assert.equal(sample.lines.at(-1)?.['trace_id'], undefined);
    });
  });

  describe('problem responses and unexpected errors', () => {
    // Spec: ERR-8 PROB-1
    it('contains the extensions of a problem, which cannot override its members', async () => {
      const answer = await send({ method: 'POST', url: '/sample/v1/refusal', headers: all });
      const problem = problemOf(answer, 'transaction_in_progress');
      assert.equal(problem.retryAfterMs, 1200);
      assert.equal(problem.outcome, 'Unknown');
      assert.deepEqual(problem.transaction, transaction);
      assert.equal(answer.headers['retry-after'], '2');
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.equal(sample.lines.at(-1)?.['logDetail'], 'queue 2');
      assert.ok(!answer.body.includes('queue'));
    });

    it('hides an unexpected error and logs it with the identifier of the request', async () => {
      const url = '/sample/v1/fault';
      const answer = await send({ method: 'POST', url, headers: all });
      const problem = problemOf(answer, 'internal_error');
      assert.equal(problem.outcome, 'Unknown');
      assert.ok(!answer.body.includes('secret-of-the-server'));
      const line = sample.lines.findLast(({ msg }) => msg === 'unexpected error');
      assert.equal(line?.['requestId'], problem.requestId);
      assert.ok(JSON.stringify(line).includes('secret-of-the-server'));
      assert.equal(problemOf(await send({ url }), 'internal_error').outcome, 'NotProcessed');
    });

    it('logs the route and never the address, the headers or the body', async () => {
      const marker = 'marker0815';
      await send({
        method: 'POST',
        url: `${things}?secret=${marker}`,
        headers: { ...json, authorization: `Bearer ${marker}`, cookie: marker },
        payload: { name: marker },
      });
      const line = sample.lines.at(-1);
      assert.equal(line?.['route'], things);
      assert.equal(line?.['status'], 401);
      assert.equal(line?.['code'], 'token_invalid');
      assert.ok(!JSON.stringify(sample.lines).includes(marker));
    });
  });

  it('reports in tests when a response is not declared', async () => {
    problemOf(await send({ url: '/sample/v1/undeclared' }), 'internal_error');
    const line = sample.lines.findLast(({ msg }) => msg === 'unexpected error');
    assert.match(JSON.stringify(line), /getUndeclared 200 does not match its schema/);
  });

  it('never answers a mutated request with an internal error', async () => {
    const body = JSON.stringify({
      ...good,
      shape: { kind: 'circle', radius: 2 },
      labels: { a: 'b' },
    });
    const edit = fc.record({
      at: fc.nat(body.length),
      drop: fc.nat(6),
      put: fc.oneof(
        fc.string({ maxLength: 4 }),
        fc.constantFrom('{', '"', '[', 'null', '-', '\\u'),
      ),
    });
    const value = fc.anything({ maxDepth: 2, withNullPrototype: false });
    const payloads = fc.oneof(
      fc
        .array(edit, { maxLength: 3 })
        .map((edits) =>
          edits.reduce(
            (text, { at, drop, put }) => text.slice(0, at) + put + text.slice(at + drop),
            body,
          ),
        ),
      fc
        .record({ name: value, amount: value, shape: value, parts: value, labels: value })
        .map((record) => JSON.stringify(record, (_, v) => (typeof v === 'bigint' ? `${v}` : v))),
    );
    await fc.assert(
      fc.asyncProperty(payloads, async (payload) => {
        const answer = await post(payload);
        assert.ok(answer.statusCode < 500, `${payload} gives ${answer.body}`);
      }),
      { numRuns: 1000 },
    );
  });
});
