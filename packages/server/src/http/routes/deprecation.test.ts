import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Type } from 'typebox';
import { checkDocument, type OpenApiDocument } from '../openapi/openapi-document.fixture.ts';
import { createSample, type Sample } from '../server/sample-server.fixture.ts';
import { route } from './declare-route.ts';
import { type Deprecation, deprecationHeaders } from './deprecation.ts';

const deprecated: Deprecation = {
  since: '2027-03-01',
  sunset: '2029-03-01',
  successor: '/sample/v2/things',
};

describe('a deprecated operation', () => {
  let sample: Sample;
  before(async () => {
    sample = await createSample({ tagDescriptions: { Samples: 'For tests.' } });
    route(sample.app, {
      tags: ['Samples'],
      errors: [],
      permission: 'pay.read',
      deprecated,
      method: 'GET',
      url: '/sample/v1/old',
      operationId: 'oldThings',
      summary: 'Old things',
      query: Type.Object({ size: Type.Optional(Type.Integer()) }, { additionalProperties: false }),
      response: { 200: Type.Object({}) },
      handler: async () => ({}),
    });
    await sample.app.ready();
  });
  after(() => sample.close());

  // Spec: LIST-9
  it('has the headers in each response, also in a problem response', async () => {
    const cases: [url: string, token: string, status: number][] = [
      ['/sample/v1/old', 'all', 200],
      ['/sample/v1/old', 'nobody', 401],
      ['/sample/v1/old?size=x', 'all', 422],
    ];
    for (const [url, token, status] of cases) {
      const authorization = `Bearer ${token}`;
      const { statusCode, headers } = await sample.app.inject({ url, headers: { authorization } });
      assert.equal(statusCode, status);
      assert.equal(headers['deprecation'], `@${Date.parse('2027-03-01T00:00:00Z') / 1000}`);
      assert.equal(headers['sunset'], 'Thu, 01 Mar 2029 00:00:00 GMT');
      assert.equal(headers['link'], '</sample/v2/things>; rel="successor-version"');
    }
  });

  it('is marked in the OpenAPI document, and other operations are not', async () => {
    const document = (await sample.app.inject('/openapi.json')).json<OpenApiDocument>();
    checkDocument(document);
    type Marked = { deprecated?: boolean; description: string };
    const old = document.paths['/sample/v1/old']?.['get'] as Marked | undefined;
    assert.equal(old?.deprecated, true);
    assert.match(
      old?.description ?? '',
      /since 2027-03-01.* from 2029-03-01\. Use `\/sample\/v2\/things`/,
    );
    const operationText = JSON.stringify(old);
    for (const name of ['Deprecation', 'Sunset', 'Successor']) {
      assert.ok(operationText.includes(`#/components/headers/${name}`), name);
    }
    const other = document.paths['/sample/v1/things']?.['get'] as Marked | undefined;
    assert.equal(other?.deprecated, undefined);
    const headers = { authorization: 'Bearer all' };
    const answer = await sample.app.inject({ url: '/sample/v1/things', headers });
    assert.equal(answer.headers['deprecation'] ?? answer.headers['sunset'], undefined);
  });

  // Spec: VER-8 LIST-9
  it('must stay for at least 24 months', () => {
    const from = (since: string, sunset: string) => () =>
      deprecationHeaders({ ...deprecated, since, sunset });
    assert.ok(from('2027-03-01', '2029-03-01')());
    assert.throws(from('2027-03-01', '2029-02-28'), /less than 24 months/);
    assert.ok(from('2028-02-29', '2030-02-28')());
    assert.throws(from('2028-02-29', '2030-02-27'), /less than 24 months/);
    for (const day of ['2027-02-30', '2027-3-1', 'soon']) {
      assert.throws(from(day, '2031-01-01'), /not a day in the format/);
    }
    assert.throws(
      () =>
        route(sample.app, {
          tags: ['Samples'],
          errors: [],
          permission: 'pay.read',
          method: 'GET',
          url: '/sample/v1/hasty',
          operationId: 'hasty',
          summary: 'Hasty',
          deprecated: { ...deprecated, sunset: '2027-04-01' },
          response: { 200: null },
          handler: async () => ({}),
        }),
      /less than 24 months/,
    );
  });
});
