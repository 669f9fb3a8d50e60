import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { errorCodes, ProcessRequest, Transaction } from '@switchyard/contract';
import { Type } from 'typebox';
import type { RouteDeclaration } from '../routes/route-declaration.ts';
import { createSample, type Sample, sampleBaseUrl } from '../server/sample-server.fixture.ts';
import { checkDocument, checkSchemas, type OpenApiDocument } from './openapi-document.fixture.ts';
import { buildOpenApiDocument, type OpenApiOptions } from './openapi-document.ts';

const facts: OpenApiOptions = {
  title: 'Sample',
  version: '1.0.0',
  description: 'A sample.',
  baseUrl: sampleBaseUrl,
  authUrl: sampleBaseUrl,
  tagDescriptions: { Samples: 'For tests.' },
};

const sale: RouteDeclaration = {
  method: 'POST',
  url: '/payment/v1/transactions/:transactionId/again',
  operationId: 'saleAgain',
  summary: 'Sell',
  tags: ['Samples'],
  permission: 'pay.sale',
  headers: { 'Idempotency-Key': 'Like clientOperationId.' },
  body: ProcessRequest,
  response: { 200: Transaction, 202: Transaction, 204: null },
  responseHeaders: { 202: ['Location', 'Retry-After'] },
  errors: ['client_id_reused'],
};

describe('the OpenAPI document', () => {
  let sample: Sample;
  before(async () => {
    sample = await createSample({ tagDescriptions: { Samples: 'For tests.' } });
    await sample.app.ready();
  });
  after(() => sample.close());

  // Spec: LIST-13 LIST-15
  it('is public, complete, and built from the declared routes', async () => {
    const answer = await sample.app.inject({ url: '/openapi.json' });
    assert.equal(answer.headers['content-type'], 'application/json');
    const document = answer.json<OpenApiDocument>();
    checkDocument(document);
    checkSchemas(document);
    assert.deepEqual(document.servers, [{ url: sampleBaseUrl }]);
    assert.deepEqual(Object.keys(document.paths), [
      '/openapi.json',
      '/asyncapi.json',
      '/sample/v1/things',
      '/sample/v1/things/{name}/close',
      '/sample/v1/fault',
      '/sample/v1/undeclared',
      '/sample/v1/refusal',
    ]);
    const tag = document.tags.find(({ name }) => name === 'Samples');
    assert.equal(tag?.description, 'For tests.');
  });

  it('answers 304 when it has not changed', async () => {
    const first = await sample.app.inject({ url: '/openapi.json' });
    const etag = String(first.headers['etag']);
    const second = await sample.app.inject({
      url: '/openapi.json',
      headers: { 'if-none-match': etag },
    });
    assert.equal(second.statusCode, 304);
    assert.equal(second.body, '');
  });

  it('contains each published schema once, with an example and the error codes of the operation', () => {
    const document = buildOpenApiDocument(facts, [sale]) as unknown as OpenApiDocument;
    checkDocument(document);
    checkSchemas(document);
    const operation = document.paths['/payment/v1/transactions/{transactionId}/again']?.['post'];
    assert.ok(operation !== undefined);
    const media = operation.requestBody?.content['application/json'];
    assert.deepEqual(media?.schema, { $ref: '#/components/schemas/ProcessRequest' });
    assert.match(JSON.stringify(media?.example), /"currency":"EUR"/);
    assert.ok(document.components['schemas']?.['Amount'] !== undefined);
    const answerTo = (status: number) => {
      const name = String(operation.responses[status]?.$ref).split('/').at(-1) ?? '';
      return JSON.stringify(document.components['responses']?.[name]);
    };
    for (const code of ['client_id_reused', 'amount_zero', 'malformed_json', 'permission_denied']) {
      const status = errorCodes[code as keyof typeof errorCodes].status;
      assert.ok(answerTo(status).includes(code), code);
    }
    assert.equal(operation.responses['204']?.content, undefined);
    assert.ok(operation.parameters.some(({ name }) => name === 'Idempotency-Key'));
    assert.ok(operation.description.includes('`pay.sale`'));
  });

  it('contains the headers that clients use, and the rate-limit headers with each response', () => {
    const made = { ...sale, operationId: 'made', url: '/made', response: { 201: Transaction } };
    const cached: RouteDeclaration = {
      ...sale,
      operationId: 'kept',
      url: '/kept',
      headers: {},
      response: { 200: Transaction, 304: null },
      responseHeaders: { 200: ['ETag', 'Location'] },
    };
    const located: RouteDeclaration = {
      ...sale,
      operationId: 'getSample',
      url: '/sample',
      response: { 200: Transaction },
      headers: {},
      responseHeaders: { 200: ['Location'] },
    };
    const document = buildOpenApiDocument(facts, [
      sale,
      made,
      cached,
      located,
    ]) as unknown as OpenApiDocument;
    checkDocument(document);
    const headersOf = (path: string, status: number) =>
      Object.keys(document.paths[path]?.['post']?.responses[status]?.headers ?? {}).sort();
    const always = ['RateLimit', 'RateLimit-Policy', 'X-Request-Id'];
    const again = '/payment/v1/transactions/{transactionId}/again';
    assert.deepEqual(headersOf(again, 200), ['Idempotent-Replayed', ...always]);
    const later = ['Idempotent-Replayed', 'Location', 'Retry-After', ...always].sort();
    assert.deepEqual(headersOf(again, 202), later);
    assert.deepEqual(headersOf('/made', 201), ['Idempotent-Replayed', 'Location', ...always]);
    assert.deepEqual(headersOf('/sample', 200), ['Location', ...always]);
    assert.deepEqual(headersOf('/kept', 200), ['ETag', 'Location', ...always]);
    assert.deepEqual(headersOf('/kept', 304), ['ETag', ...always]);
    const problems = JSON.stringify(document.components['responses']);
    assert.match(problems, /RateLimit-Policy/);
  });

  it('has a token URL that can be called when the user domain is known', () => {
    type Flows = { oauth2: { flows: { clientCredentials: { tokenUrl: string } } } };
    const tokenUrl = (exampleUserDomain?: string) => {
      const { components } = buildOpenApiDocument(
        { ...facts, exampleUserDomain: exampleUserDomain },
        [sale],
      );
      const { securitySchemes } = components as { securitySchemes: Flows };
      return securitySchemes.oauth2.flows.clientCredentials.tokenUrl;
    };
    assert.equal(tokenUrl('demo'), `${sampleBaseUrl}/oauth2/v1/demo/token`);
    assert.equal(tokenUrl(), `${sampleBaseUrl}/oauth2/v1/%7Brealm%7D/token`);
  });

  it('shows the example bodies of a route, and errors in its own format', () => {
    const body = Type.Object({ grant_type: Type.String(), scope: Type.Optional(Type.String()) });
    const examples = { Short: { grant_type: 'a' }, Long: { grant_type: 'a', scope: 'b' } };
    const refusal = Type.Object({ error: Type.String() });
    const response = { 200: Type.Object({}), 400: refusal };
    const form = { ...sale, body, examples, response, readsForm: true, hasOwnErrors: true };
    const document = buildOpenApiDocument(facts, [form]) as unknown as OpenApiDocument;
    checkSchemas(document);
    const operation = document.paths['/payment/v1/transactions/{transactionId}/again']?.['post'];
    const media = operation?.requestBody?.content['application/x-www-form-urlencoded'];
    assert.deepEqual(media?.examples, {
      Short: { value: examples.Short },
      Long: { value: examples.Long },
    });
    assert.deepEqual(Object.keys(operation?.responses ?? {}), ['200', '400']);
  });

  it('rejects a repeated operation id', () => {
    assert.throws(() => buildOpenApiDocument(facts, [sale, { ...sale, url: '/other' }]), TypeError);
  });
});
