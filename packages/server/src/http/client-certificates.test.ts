import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { Agent, get } from 'node:https';
import { describe, it } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type MadeCertificate, makeCertificate } from './certificate.fixture.ts';
import { route } from './routes.ts';
import { callerWith, createSample } from './server.fixture.ts';

const thumbprintOf = ({ cert }: MadeCertificate) =>
  createHash('sha256').update(new X509Certificate(cert).raw).digest('base64url');

const headerOf = ({ cert }: MadeCertificate) =>
  `:${new X509Certificate(cert).raw.toString('base64')}:`;

/** A server whose only route tells which certificate the token check has seen. */
async function createMirror(more: Parameters<typeof createSample>[0]) {
  const seen: (string | undefined)[] = [];
  const sample = await createSample({
    ...more,
    verifyToken: async (_token, presented) => {
      seen.push(presented.certificateThumbprint());
      return callerWith();
    },
  });
  route(sample.app, {
    method: 'GET',
    url: '/mirror',
    operationId: 'mirror',
    summary: 'Mirror',
    tags: [],
    permission: 'token',
    response: { 200: Type.Object({}) },
    errors: [],
    handler: async (request: FastifyRequest) => ({
      header: request.headers['client-cert'] ?? null,
    }),
  });
  return { sample, seen };
}

describe('client certificates', () => {
  it('are read from the connection when their authority is known, and only then', async () => {
    const [server, known, unknown] = await Promise.all(
      ['server', 'known', 'unknown'].map(makeCertificate),
    );
    assert.ok(server && known && unknown);
    const { sample, seen } = await createMirror({
      tls: { ...server, clientAuthority: known.cert },
    });
    const { port } = await sample.listen();
    const ask = (shown: object) =>
      new Promise<void>((resolve, reject) => {
        const agent = new Agent({ ca: server.cert, ...shown });
        const headers = { authorization: 'Bearer x', 'client-cert': headerOf(known) };
        get({ port, path: '/mirror', headers, agent }, (answer) => {
          answer.resume().on('end', () => {
            agent.destroy();
            resolve();
          });
        }).on('error', reject);
      });
    try {
      await ask(known);
      await ask(unknown);
      await ask({});
      assert.deepEqual(seen, [thumbprintOf(known), undefined, undefined]);
    } finally {
      await sample.close();
    }
  });

  it('are read from the header of the trusted proxy, and stripped from anybody else', async () => {
    const certificate = await makeCertificate('device');
    const { sample, seen } = await createMirror({
      settings: {
        host: '127.0.0.1',
        port: 0,
        baseUrl: 'https://switchyard.example',
        authUrl: 'https://switchyard.example',
        trustProxy: ['10.0.0.0/8', '::1'],
      },
    });
    const ask = (remoteAddress: string, header: string) =>
      sample.app.inject({
        url: '/mirror',
        remoteAddress,
        headers: { authorization: 'Bearer x', 'client-cert': header },
      });
    try {
      await ask('10.1.2.3', headerOf(certificate));
      await ask('::1', headerOf(certificate));
      await ask('10.1.2.3', 'nonsense');
      await ask('10.1.2.3', ':bm9uc2Vuc2U=:');
      const stripped = await ask('192.0.2.1', headerOf(certificate));
      assert.equal(stripped.json().header, null);
      const thumbprint = thumbprintOf(certificate);
      assert.deepEqual(seen, [thumbprint, thumbprint, undefined, undefined, undefined]);
    } finally {
      await sample.close();
    }
  });
});
