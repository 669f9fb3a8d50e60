// Whole run: much is made, or waited for, before it shows.
// The API reference of the complete platform: all parts are valid, and the token address is a real
// one.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { checkChipData, parseChipData } from '@switchyard/emv';
import { type Application, createApplication } from '../../src/application.ts';
import {
  checkDocument,
  checkNames,
  checkSchemas,
  type OpenApiDocument,
} from '../../src/http/openapi/openapi-document.fixture.ts';
import { createLog, type Database, openDatabase, readSettings } from '../../src/platform/index.ts';

describe('the API reference', () => {
  let database: Database;
  let application: Application;
  let document: OpenApiDocument;

  before(async () => {
    const settings = readSettings({
      SWITCHYARD_LOG_LEVEL: 'silent',
      SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
      SWITCHYARD_VAULT_KEY: randomBytes(32).toString('base64'),
    });
    const log = createLog(settings);
    // Describing the routes needs no database query.
    database = openDatabase({ url: 'postgresql://nobody@127.0.0.1:1/none', log });
    application = await createApplication({ settings, database, log, exampleUserDomain: 'demo' });
    document = (await application.http.app.inject('/openapi.json')).json();
  });
  after(async () => {
    await application.stop();
    await database.close();
  });

  // Spec: NEXO-68
  test('all references resolve, and each example matches its schema', () => {
    checkDocument(document);
    checkSchemas(document);
  });

  test('each operation has a verb and a noun as its id, a summary, and each list a named schema', () => {
    checkNames(document);
  });

  test('the reference names the token endpoint, and its sign-in works', () => {
    const token = document.paths['/oauth2/v1/{realm}/token']?.['post'];
    assert.deepEqual(token?.security, []);
    assert.ok(token?.requestBody?.content['application/x-www-form-urlencoded']);
    assert.deepEqual(Object.keys(token?.responses ?? {}), ['200', '400', '401', '404', '429']);
    const text = JSON.stringify(document.components['securitySchemes']);
    assert.match(text, /"tokenUrl":"https:\/\/localhost:8443\/oauth2\/v1\/demo\/token"/);
  });

  test('each Idempotency-Key parameter names an existing member', () => {
    const described: Record<string, string[]> = {};
    for (const [path, verbs] of Object.entries(document.paths)) {
      for (const operation of Object.values(verbs)) {
        const ownParameters = operation.parameters.filter(({ $ref }) => $ref === undefined);
        const key = ownParameters.find(({ name }) => name.toLowerCase() === 'idempotency-key');
        const identifierNames = String(key?.description).match(/\b(client\w+|bulk)Id\b/g) ?? [];
        const body = operation.requestBody?.content['application/json']?.schema ?? {};
        const ref =
          String((body as { $ref?: string }).$ref)
            .split('/')
            .at(-1) ?? '';
        const schema = document.components['schemas']?.[ref] ?? body;
        const members = Object.keys((schema as { properties?: object }).properties ?? {});
        const parameterNames = ownParameters.map(({ name }) => name);
        for (const name of identifierNames) {
          assert.ok([...members, ...parameterNames].includes(name), `${path} has no ${name}`);
        }
        if (identifierNames.length > 0) described[path] = identifierNames;
      }
    }
    const base = '/payment/v1/transactions';
    assert.deepEqual(described[`${base}/process`], ['clientTransactionId']);
    assert.deepEqual(described[`${base}/{transactionId}/refund`], ['clientOperationId']);
  });

  test('the example of a chip sale has chip data that matches the sale', () => {
    const sale = document.paths['/payment/v1/transactions/process']?.['post'];
    const example = sale?.requestBody?.content['application/json']?.examples?.['Chip'];
    const { value } = example as { value: { amount: number; instrument: { emvData: string } } };
    const chip = parseChipData(value.instrument.emvData);
    assert.deepEqual(chip.missing, []);
    assert.deepEqual(checkChipData(chip, { amount: value.amount, currencyNumeric: '978' }), []);
  });
});
