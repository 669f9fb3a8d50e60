// What tests hold answers to: the document that clients read is true of everything that they get.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ProblemError, type ProblemExtensions } from '@switchyard/contract';
import { Type } from 'typebox';
import { route } from '../routes/declare-route.ts';
import { createSample, type Sample } from '../server/sample-server.fixture.ts';

const common = {
  method: 'GET',
  tags: ['Samples'],
  errors: [],
  summary: 'Be wrong',
  permission: 'public',
} as const;

describe('an undeclared response is an error in tests', () => {
  let sample: Sample;
  before(async () => {
    sample = await createSample();
    route(sample.app, {
      ...common,
      url: '/sample/v1/member',
      operationId: 'getMember',
      response: { 204: null },
      async handler() {
        const extensions = { colour: 'red' } as ProblemExtensions;
        throw new ProblemError('has_dependants', 'Still used.', { extensions });
      },
    });
    route(sample.app, {
      ...common,
      url: '/sample/v1/tag',
      operationId: 'getTag',
      response: { 200: Type.String(), 304: null },
      async handler({ headers }, reply) {
        reply.header('etag', '"1"');
        if (headers['if-none-match'] !== undefined) return reply.code(304).send();
        return reply.type('text/plain').send('bytes');
      },
    });
  });
  after(() => sample.close());

  async function faultOf(url: string, headers = {}): Promise<string> {
    const answer = await sample.app.inject({ url, headers });
    assert.equal(answer.json().code, 'internal_error', answer.body);
    return JSON.stringify(sample.lines.findLast(({ msg }) => msg === 'unexpected error'));
  }

  // Spec: PROB-2
  it('a member of a problem', async () => {
    const answer = await sample.app.inject('/sample/v1/member');
    assert.equal(answer.json().code, undefined, 'it is no problem that a test could take for one');
    assert.match(answer.json().message, /The problem response does not match its schema/);
  });

  // Spec: PROB-2
  it('a header, also of a response without JSON', async () => {
    assert.match(await faultOf('/sample/v1/tag'), /getTag 200 does not declare ETag/);
    const headers = { 'if-none-match': '"1"' };
    assert.match(await faultOf('/sample/v1/tag', headers), /getTag 304 does not declare ETag/);
  });
});
