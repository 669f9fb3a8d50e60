import assert from 'node:assert/strict';
import { hash, X509Certificate } from 'node:crypto';
import { Agent, get } from 'node:https';
import { text as readAll } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { settingsTable } from '../../platform/index.ts';
import { route } from '../routes/declare-route.ts';
import { callerWith, createSample, sampleBaseUrl } from '../server/sample-server.fixture.ts';
import { type MadeCertificate, makeCertificate } from './certificate.fixture.ts';
import {
  type CertificateStatus,
  type CertificateVerifier,
  createCertificateReader,
} from './client-certificates.ts';

const thumbprintOf = ({ cert }: MadeCertificate) =>
  hash('sha256', new X509Certificate(cert).raw, 'base64url');

const headerOf = ({ cert }: MadeCertificate) =>
  `:${new X509Certificate(cert).raw.toString('base64')}:`;

/** A verifier that accepts every certificate unless a test sets another status. */
function createVerifier() {
  const verdicts = new Map<string, 'expired' | 'revoked'>();
  const verifier = {
    judged: 0,
    changes: 0,
    verdicts,
    async verify(certificate: X509Certificate): Promise<CertificateStatus<string>> {
      verifier.judged += 1;
      const thumbprint = hash('sha256', certificate.raw, 'base64url');
      const status = verdicts.get(thumbprint);
      if (status !== undefined) return { status };
      return { status: 'valid', certificate, thumbprint, holder: certificate.subject };
    },
    revision: () => verifier.changes,
  };
  return verifier satisfies CertificateVerifier<string>;
}

/** A server that records the thumbprints that the token check received. */
async function createMirror(
  more: Parameters<typeof createSample>[0],
  options: { trustedProxy?: readonly string[]; now?: () => number } = {},
) {
  const thumbprints: (string | undefined)[] = [];
  const verifier = createVerifier();
  const { trustedProxy, now = () => 0 } = options;
  const certificates = createCertificateReader({ trustedProxy, verifier, clock: { now } });
  const sample = await createSample({
    ...more,
    certificates,
    verifyToken: async (_token, presented) => {
      thumbprints.push(await presented.thumbprint());
      return callerWith();
    },
  });
  const common = { tags: [], errors: [], response: { 200: Type.Object({}) } } as const;
  route(sample.app, {
    ...common,
    method: 'GET',
    url: '/mirror',
    operationId: 'mirror',
    summary: 'Mirror',
    permission: 'token',
    handler: async (request: FastifyRequest) => ({
      header: request.headers['client-cert'] ?? null,
    }),
  });
  route(sample.app, {
    ...common,
    method: 'GET',
    url: '/door/holder',
    operationId: 'holder',
    summary: 'Get the holder of the certificate',
    permission: 'certificate',
    handler: async (request: FastifyRequest) => ({
      holder: (await certificates.requireCertificate(request)).holder,
    }),
  });
  return { sample, seen: thumbprints, judge: verifier };
}

type Response = {
  status: number | undefined;
  code: string | undefined;
  holder: string | undefined;
};

function sendRequest(agent: Agent, port: number, path: string, headers = {}): Promise<Response> {
  const all = { authorization: 'Bearer x', ...headers };
  return new Promise((resolve, reject) => {
    get({ port, path, headers: all, agent }, (answer) => {
      readAll(answer).then((text) => {
        const { code, holder } = JSON.parse(text);
        resolve({ status: answer.statusCode, code, holder });
      }, reject);
    }).on('error', reject);
  });
}

async function withAgent<Result>(
  options: object,
  use: (agent: Agent) => Promise<Result>,
): Promise<Result> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...options });
  try {
    return await use(agent);
  } finally {
    agent.destroy();
  }
}

describe('client certificates', () => {
  test('are read from the connection only when their authority is known', async () => {
    const [server, known, unknown] = await Promise.all(
      ['server', 'known', 'unknown'].map(makeCertificate),
    );
    assert.ok(server && known && unknown);
    const { sample, seen: thumbprints } = await createMirror({
      tls: { ...server, clientAuthorities: [known.cert] },
    });
    const { port } = await sample.listen();
    const headers = { 'client-cert': headerOf(known) };
    const codes: unknown[] = [];
    try {
      for (const certificate of [known, unknown, {}]) {
        await withAgent({ ca: server.cert, ...certificate }, async (agent) => {
          await sendRequest(agent, port, '/mirror', headers);
          codes.push((await sendRequest(agent, port, '/door/holder', headers)).code);
        });
      }
      assert.deepEqual(thumbprints, [thumbprintOf(known), undefined, undefined]);
      assert.deepEqual(codes, [undefined, 'certificate_invalid', 'certificate_required']);
    } finally {
      await sample.close();
    }
  });

  test('are verified once per connection, after a change of the revision, and at intervals', async () => {
    const [server, known] = await Promise.all(['server', 'known'].map(makeCertificate));
    assert.ok(server && known);
    let now = 0;
    const { sample, judge: verifier } = await createMirror(
      { tls: { ...server, clientAuthorities: [known.cert] } },
      { now: () => now },
    );
    const { port } = await sample.listen();
    const holder = (agent: Agent) => sendRequest(agent, port, '/door/holder');
    try {
      await withAgent({ ca: server.cert, ...known }, async (agent) => {
        for (let times = 0; times < 3; times += 1) {
          assert.equal((await holder(agent)).holder, 'CN=known');
        }
        assert.equal(verifier.judged, 1);
        verifier.verdicts.set(thumbprintOf(known), 'expired');
        now += 30_000;
        assert.equal((await holder(agent)).code, 'certificate_expired');
        verifier.verdicts.set(thumbprintOf(known), 'revoked');
        assert.equal((await holder(agent)).code, 'certificate_expired');
        verifier.changes += 1;
        assert.equal((await holder(agent)).code, 'certificate_revoked');
        verifier.verdicts.clear();
        assert.equal((await holder(agent)).code, 'certificate_revoked');
      });
      // Another connection asks for itself, though its session is resumed.
      await withAgent({ ca: server.cert, ...known }, async (agent) => {
        assert.equal((await holder(agent)).holder, 'CN=known');
      });
    } finally {
      await sample.close();
    }
  });

  test('a failed verification is not cached', async () => {
    const [server, known] = await Promise.all(['server', 'known'].map(makeCertificate));
    assert.ok(server && known);
    const { sample, judge: verifier } = await createMirror({
      tls: { ...server, clientAuthorities: [known.cert] },
    });
    const { port } = await sample.listen();
    const { verify: verifyBefore } = verifier;
    verifier.verify = async () => {
      throw new Error('the database is not there');
    };
    try {
      await withAgent({ ca: server.cert, ...known }, async (agent) => {
        assert.equal((await sendRequest(agent, port, '/door/holder')).status, 500);
        verifier.verify = verifyBefore;
        assert.equal((await sendRequest(agent, port, '/door/holder')).holder, 'CN=known');
      });
    } finally {
      await sample.close();
    }
  });

  // Spec: SET-16
  test('are read from the header of a trusted proxy, and the header of any other client is removed', async () => {
    const certificate = await makeCertificate('device');
    const trustedProxy = ['10.0.0.0/8', '::1'];
    const {
      sample,
      seen: thumbprints,
      judge: verifier,
    } = await createMirror(
      {
        settings: {
          host: '127.0.0.1',
          port: 0,
          baseUrl: sampleBaseUrl,
          authUrl: sampleBaseUrl,
          trustProxy: trustedProxy,
        },
      },
      { trustedProxy },
    );
    const send = (remoteAddress: string, header: string, url = '/mirror') =>
      sample.app.inject({
        url,
        remoteAddress,
        headers: { authorization: 'Bearer x', 'client-cert': header },
      });
    try {
      await send('10.1.2.3', headerOf(certificate));
      await send('::1', headerOf(certificate));
      assert.equal(verifier.judged, 1);
      await send('10.1.2.3', 'nonsense');
      await send('10.1.2.3', ':bm9uc2Vuc2U=:');
      const stripped = await send('192.0.2.1', headerOf(certificate));
      assert.equal(stripped.json().header, null);
      const refused = await send('192.0.2.1', headerOf(certificate), '/door/holder');
      assert.equal(refused.json().code, 'certificate_required');
      assert.match(String(refused.headers['www-authenticate']), /^Bearer /);
      const thumbprint = thumbprintOf(certificate);
      assert.deepEqual(thumbprints, [thumbprint, thumbprint, undefined, undefined, undefined]);
    } finally {
      await sample.close();
    }
  });
});

/** Each form that SWITCHYARD_TRUST_PROXY accepts, with addresses inside it and the nearest ones outside. */
const trustedForms = [
  ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255', '::ffff:10.0.0.1'], ['9.255.255.255', '11.0.0.0']],
  ['10.1.2.3/8', ['10.0.0.0', '10.255.255.255'], ['9.255.255.255', '11.0.0.0', '::a00:1']],
  ['172.16.0.0/12', ['172.16.0.0', '172.31.255.255'], ['172.15.255.255', '172.32.0.0']],
  ['192.168.7.0/24', ['192.168.7.0', '192.168.7.255'], ['192.168.6.255', '192.168.8.0']],
  ['127.0.0.0/8', ['127.0.0.1'], ['126.255.255.255', '128.0.0.0', '::1']],
  ['203.0.113.7', ['203.0.113.7', '::ffff:203.0.113.7'], ['203.0.113.6', '203.0.113.8']],
  ['203.0.113.7/32', ['203.0.113.7'], ['203.0.113.6', '203.0.113.8', '::cb00:7107']],
  ['::1', ['::1'], ['::2', '127.0.0.1', '::ffff:127.0.0.1']],
  ['2001:db8::7', ['2001:db8::7'], ['2001:db8::6', '2001:db8::8']],
  ['2001:db8::7/128', ['2001:db8::7'], ['2001:db8::6', '2001:db8::8']],
  ['fd12:3456::/48', ['fd12:3456::', 'fd12:3456:0:ffff::'], ['fd12:3455:ffff::', 'fd12:3457::']],
  ['10.0.0.0/8, 203.0.113.7 ::1', ['10.0.0.1', '203.0.113.7', '::1'], ['203.0.113.6', '::2']],
] as const;

describe('a forged Client-Cert', () => {
  // Spec: SET-14
  test('is ignored from an address outside the trusted ranges, in each notation of the address', async () => {
    const certificate = await makeCertificate('device');
    for (const [setting, inside, outside] of trustedForms) {
      const trustedProxy = settingsTable.trustProxy.read(setting);
      const address = {
        host: '127.0.0.1',
        port: 0,
        baseUrl: sampleBaseUrl,
        authUrl: sampleBaseUrl,
      };
      const { sample } = await createMirror(
        { settings: { ...address, trustProxy: trustedProxy } },
        { trustedProxy },
      );
      const codeFor = async (remoteAddress: string, forwarded: Record<string, string>) => {
        const headers = { authorization: 'Bearer x', 'client-cert': headerOf(certificate) };
        const request = { url: '/door/holder', remoteAddress };
        const answer = await sample.app.inject({
          ...request,
          headers: { ...headers, ...forwarded },
        });
        return answer.json().code ?? answer.json().holder;
      };
      try {
        for (const from of inside) assert.equal(await codeFor(from, {}), 'CN=device', from);
        const [proxy] = inside;
        for (const from of outside) {
          for (const forwarded of [
            {},
            { 'x-forwarded-for': proxy },
            { 'x-forwarded-for': `${proxy}, ${proxy}` },
            { forwarded: `for=${proxy}` },
            { 'x-real-ip': proxy },
          ]) {
            const code = await codeFor(from, forwarded);
            assert.equal(code, 'certificate_required', `${from} at ${setting}`);
          }
        }
      } finally {
        await sample.close();
      }
    }
  });
});

describe('the listener for devices', () => {
  // Spec: SET-2
  test('serves only its own routes, and no other listener serves them', async () => {
    const [server, known] = await Promise.all(['server', 'known'].map(makeCertificate));
    assert.ok(server && known);
    const tls = { ...server, clientAuthorities: [known.cert] };
    const { sample } = await createMirror({
      tls: server,
      deviceListener: { port: 0, tls, prefix: '/door/', exclusiveRoutes: ['/door/holder'] },
    });
    const { port, devicePort: secondPort = 0 } = await sample.listen();
    try {
      await withAgent({ ca: server.cert, ...known }, async (agent) => {
        assert.equal((await sendRequest(agent, secondPort, '/door/holder')).holder, 'CN=known');
        for (const path of ['/mirror', '/openapi.json', '/', '/nothing', '/door', '/%64oor/x']) {
          const { status, code } = await sendRequest(agent, secondPort, path);
          assert.deepEqual([status, code], [404, 'route_not_found'], path);
        }
        const wrongMethod = await sendRequest(agent, secondPort, '/door/nothing');
        assert.equal(wrongMethod.code, 'route_not_found');
      });
      await withAgent({ ca: server.cert, ...known }, async (agent) => {
        assert.equal((await sendRequest(agent, port, '/mirror')).status, 200);
        for (const path of ['/door/holder', '/door/%68older']) {
          assert.equal((await sendRequest(agent, port, path)).code, 'route_not_found', path);
        }
      });
    } finally {
      await sample.close();
    }
    await withAgent({ ca: server.cert, ...known }, async (agent) => {
      await assert.rejects(sendRequest(agent, secondPort, '/door/holder'), {
        code: 'ECONNREFUSED',
      });
    });
  });
});
