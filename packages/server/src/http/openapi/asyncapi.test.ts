import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import asyncApiSchema from '@asyncapi/specs/schemas/3.0.0-without-$id.json' with { type: 'json' };
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { createSample, type Sample } from '../server/sample-server.fixture.ts';

type Message = {
  readonly payload: Record<string, unknown>;
  readonly examples?: readonly { readonly payload: unknown }[];
};
type AsyncApiDocument = {
  readonly operations: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly messages: Readonly<Record<string, Message>> };
};

function createAjv(): Ajv {
  const ajv = new Ajv({ strict: false });
  addFormats.default(ajv);
  return ajv;
}

describe('the AsyncAPI document that is served', () => {
  let sample: Sample;
  let document: AsyncApiDocument;
  before(async () => {
    sample = await createSample();
    await sample.app.ready();
    const answer = await sample.app.inject({ url: '/asyncapi.json' });
    assert.equal(answer.statusCode, 200);
    document = answer.json<AsyncApiDocument>();
  });
  after(() => sample.close());

  it('needs no token, can be cached, and answers 304 when it has not changed', async () => {
    const first = await sample.app.inject({ url: '/asyncapi.json' });
    assert.equal(first.headers['content-type'], 'application/json');
    assert.equal(first.headers['cache-control'], 'public, max-age=300');
    const again = await sample.app.inject({
      url: '/asyncapi.json',
      headers: { 'if-none-match': String(first.headers['etag']) },
    });
    assert.deepEqual([again.statusCode, again.body], [304, '']);
  });

  // Spec: LIST-17
  it('is valid by the published schema of AsyncAPI 3.0', () => {
    const validate = createAjv().compile(asyncApiSchema);
    assert.ok(validate(document), JSON.stringify(validate.errors));
    const { claimTerminal = {}, ...operations } = document.operations;
    const wrong = { ...operations, claimTerminal: { ...claimTerminal, action: 'claim' } };
    assert.equal(validate({ ...document, operations: wrong }), false);
  });

  it('has schemas that compile, and examples that fit them', () => {
    const ajv = createAjv();
    ajv.addSchema({ $id: 'asyncapi', ...document });
    const messages = Object.entries(document.components.messages);
    assert.ok(messages.length > 80);
    for (const [name, { examples = [] }] of messages) {
      const validate = ajv.compile({ $ref: `asyncapi#/components/messages/${name}/payload` });
      for (const { payload } of examples) {
        assert.ok(validate(payload), `${name}: ${JSON.stringify(validate.errors)}`);
      }
    }
  });
});
