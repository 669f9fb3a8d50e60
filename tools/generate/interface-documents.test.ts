import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkLintRules,
  checkPatterns,
  checkUsedComponents,
  findAmbiguousPaths,
} from '../../packages/server/src/http/openapi/document-checks.fixture.ts';
import { acquirerSpiDocument } from './acquirer-spi.ts';
import { asyncApiText } from './asyncapi-and-terminal-parameters.ts';
import { providerSpiDocument } from './provider-spi.ts';

type Json = Readonly<Record<string, unknown>>;

// Spec: NEXO-68
test('the SPI documents contain security, contact, tags and unambiguous paths, as linters require', () => {
  for (const text of [acquirerSpiDocument(), providerSpiDocument()]) {
    checkLintRules(JSON.parse(text));
  }
});

test('paths are ambiguous if one address matches both and neither is more specific', () => {
  const capture = '/transactions/{transactionId}/capture';
  const pairs: [string, string, boolean][] = [
    [capture, '/transactions/captureall/{batchId}', true],
    [capture, '/transactions/{id}/capture', true],
    ['/{a}/{b}/x', '/s/t/{c}', true],
    [capture, '/transactions/captureall', false],
    [capture, '/transactions/technical/capture', false],
    ['/transactions/{id}', '/transactions/captureall', false],
    [capture, '/transactions/{id}/refund', false],
  ];
  for (const [one, other, isAmbiguous] of pairs) {
    assert.deepEqual(findAmbiguousPaths([one, other]), isAmbiguous ? [[one, other]] : []);
  }
});

/** Its connection ends before the device has registered. */
const withoutSecurity = ['tellDeviceFault'];

// Spec: NEXO-68
test('the AsyncAPI document contains the members that linters require', () => {
  const document = JSON.parse(asyncApiText()) as Record<
    'info' | 'servers' | 'channels' | 'operations' | 'components',
    Json
  >;
  const { contact, license, tags } = document.info;
  assert.deepEqual(Object.keys(contact as Json), ['name', 'url']);
  assert.deepEqual(Object.keys(license as Json), ['name', 'url']);
  assert.ok((tags as Json[]).every(({ description }) => typeof description === 'string'));
  for (const [name, channel] of Object.entries(document.channels) as [string, Json][]) {
    const { address = '', parameters = {} } = channel;
    assert.equal(typeof address, 'string', name);
    const inAddress = [...String(address).matchAll(/\{(\w+)\}/g)].map(([, part]) => part);
    assert.deepEqual(Object.keys(parameters as Json), inAddress, name);
  }
  const isSecured = ({ security = [] }: Json) => (security as Json[]).length > 0;
  const withoutTags = Object.entries(document.operations).filter(([, value]) => {
    const operation = value as { channel: { $ref: string } } & Json;
    const channel = document.channels[operation.channel.$ref.split('/').at(-1) ?? ''] as Json;
    const servers = (channel['servers'] ?? []) as { $ref: string }[];
    const names = servers.map(({ $ref }) => $ref.split('/').at(-1) ?? '');
    const isServerSecured = names.some((name) => isSecured(document.servers[name] as Json));
    return !isSecured(operation) && !isServerSecured;
  });
  assert.deepEqual(
    withoutTags.map(([name]) => name),
    withoutSecurity,
  );
  checkPatterns(document);
  checkUsedComponents(document, ['schemas', 'messages', 'securitySchemes']);
});
