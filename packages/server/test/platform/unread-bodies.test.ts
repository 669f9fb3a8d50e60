// Routes that accept files: after a refusal the connection closes, and the server does not read the
// rest.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { before, describe, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { maxAcceptedBytes, sendEndlessBody } from '../support/send-endless-body.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

const bulk = '/provisioning/v2/bulk';
const reconciliations = '/reporting/v1/reconciliations';
const unknownLink = '0198ffff-ffff-7fff-bfff-ffffffffffff';

describe('refused uploads', () => {
  let setup: TestOrganization;
  before(async () => {
    setup = await createTestOrganization();
  });

  async function dial(): Promise<TLSSocket> {
    const { hostname, port } = new URL(setup.settings.baseUrl);
    const socket = connect({ host: hostname, port: Number(port), ca: setup.ca });
    socket.on('error', () => {});
    await once(socket, 'secureConnect');
    return socket;
  }

  /**
   * Sends until the server closes. @returns the head of the response, and the number of bytes that
   * the server accepted
   */
  async function upload(path: string, headers: readonly string[]) {
    const socket = await dial();
    let response = '';
    socket.on('data', (chunk) => {
      response += chunk;
    });
    const { host } = new URL(setup.settings.baseUrl);
    socket.write(`POST ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers.join('\r\n')}\r\n\r\n`);
    // One chunk of 1 TiB.
    if (headers.includes('Transfer-Encoding: chunked')) socket.write('10000000000\r\n');
    const { acceptedBytes } = await sendEndlessBody(socket);
    return { response, acceptedBytes };
  }

  const authorized = () => `Authorization: Bearer ${setup.acquirerToken}`;
  const chunked = 'Transfer-Encoding: chunked';
  const declared = `Content-Length: ${2 ** 40}`;
  const cases: readonly (readonly [
    name: string,
    status: number,
    path: () => string,
    headers: () => string[],
  ])[] = [
    [
      'a longer import than allowed',
      413,
      () => bulk,
      () => [authorized(), 'Content-Type: application/jsonl', declared],
    ],
    [
      'an import with a wrong name',
      422,
      () => `${bulk}?bulkId=${'x'.repeat(65)}`,
      () => [authorized(), 'Content-Type: application/jsonl', chunked],
    ],
    [
      'an import with an unknown parameter',
      422,
      () => `${bulk}?x=1`,
      () => [authorized(), 'Content-Type: text/csv', chunked],
    ],
    [
      'an import of another media type',
      415,
      () => bulk,
      () => [authorized(), 'Content-Type: application/xml', chunked],
    ],
    [
      'an import without a token',
      401,
      () => bulk,
      () => ['Content-Type: application/jsonl', chunked],
    ],
    [
      'a longer file of an acquirer than allowed',
      413,
      () => `${reconciliations}?acquirerLinkId=${setup.linkId}&from=2026-11-01&to=2026-11-01`,
      () => [authorized(), 'Content-Type: text/csv', declared],
    ],
    [
      'a file of an acquirer without its days',
      422,
      () => `${reconciliations}?acquirerLinkId=${setup.linkId}`,
      () => [authorized(), 'Content-Type: text/csv', chunked],
    ],
    [
      'a file of an unknown acquirer',
      404,
      () => `${reconciliations}?acquirerLinkId=${unknownLink}&from=2026-11-01&to=2026-11-01`,
      () => [authorized(), 'Content-Type: text/csv', chunked],
    ],
  ];
  for (const [name, status, path, headers] of cases) {
    test(`${name} is answered ${status}, and the rest of the body is not read`, async () => {
      const { response, acceptedBytes } = await upload(path(), headers());
      assert.match(response, new RegExp(`^HTTP/1\\.1 ${status} `), response.slice(0, 300));
      assert.match(response, /^connection: close\r$/im);
      assert.ok(response.includes('application/problem+json'), response.slice(0, 300));
      assert.ok(acceptedBytes < maxAcceptedBytes, `${acceptedBytes} bytes`);
    });
  }
});
