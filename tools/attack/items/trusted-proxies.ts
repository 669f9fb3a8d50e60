// Item 3: only the proxies that the operator names may set Client-Cert and X-Forwarded-For.
import { X509Certificate } from 'node:crypto';
import { request } from 'node:http';
import { text as readAll } from 'node:stream/consumers';
import { createCertificateRequest } from '../../../packages/server/test/support/provisioning/test-devices.ts';
import type { Attack, Attempts } from '../attack.ts';
import { describeResponse } from '../describe-response.ts';
import type { Production } from '../platforms.ts';
import { recordRefusedStart } from '../refused-start.ts';
import { newSerial } from '../requests.ts';

const credentials = '/oauth2-mtls/v1/merchants-credentials';
const proxy = '127.0.0.5';
/** Each accepted range; the proxy of the attack, 127.0.0.5, belongs to some of them. */
const acceptedRanges = [
  { range: proxy, includesProxy: true },
  { range: `${proxy}/32`, includesProxy: true },
  { range: '127.0.0.4/31', includesProxy: true },
  { range: `10.0.0.0/8, ${proxy} ::1`, includesProxy: true },
  { range: '10.0.0.0/8', includesProxy: false },
  { range: '203.0.113.7', includesProxy: false },
  { range: 'fd00::/8', includesProxy: false },
  { range: '2001:db8::7/128', includesProxy: false },
];
const untrustedAddresses = ['127.0.0.1', '127.0.0.3', '127.0.0.6', '127.0.1.5'];
const wideRanges = [
  '0.0.0.0/0',
  '0.0.0.0/1,128.0.0.0/1',
  '::/0',
  '8.0.0.0/8',
  '203.0.113.6/31',
  '2000::/3',
  '10.0.0.0/7',
  '::ffff:0:0/96',
  '::ffff:127.0.0.1',
  'fe80::/9',
  '2001:db8::/127',
  '*',
  'true',
];

/** The limit of one address. */
const signUpsInHour = 60;

type ForgedRequest = { port: number; from: string; headers: Record<string, string>; path?: string };

function sendRequest({ port, from, headers, path = credentials }: ForgedRequest) {
  return new Promise<{ status: number; text: string; body: Record<string, string> }>(
    (resolve, reject) => {
      const host = '127.0.0.1';
      const all = { host: 'localhost', ...headers };
      const sent = request({ host, port, path, localAddress: from, headers: all }, (answer) => {
        readAll(answer).then((text) => {
          const body = text.startsWith('{') ? JSON.parse(text) : {};
          resolve({ status: answer.statusCode ?? 0, text, body });
        }, reject);
      });
      sent.on('error', reject).end();
    },
  );
}

/** A certificate of a claimed terminal of the victim: it is public, its key is not. */
async function victimCertificate(
  attempts: Attempts,
  { create, platform, victim }: Production,
): Promise<string> {
  const devices = '/provisioning/v2/physical-devices';
  const merchant = { name: 'Shop', country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' };
  const { token } = victim;
  const { merchantId } = await create(token, '/provisioning/v2/merchants', merchant);
  const serialNumber = newSerial(attempts);
  const hardware = { serialNumber, make: 'AXIUM', model: 'DX8000', family: 'axium', merchantId };
  const { physicalDeviceId } = await create(token, devices, hardware);
  const { key, csr } = await createCertificateRequest();
  const path = `${devices}/${physicalDeviceId}`;
  const { certificateChain: cert } = await create(token, `${path}/certificates`, {
    certificateRequest: csr,
  });
  const { security, api } = platform.asDevice({ cert, key });
  const claimCode = 'K7QM-2F9X';
  await security.call('POST', '/oauth2-mtls/v1/claims', { body: { claimCode } });
  await create(token, `${path}/claim`, { claimCode });
  security.close();
  api.close();
  return new X509Certificate(cert).raw.toString('base64');
}

async function forgeHeaderForEachRange(attempts: Attempts, production: Production, cert: string) {
  const forged = { 'client-cert': `:${cert}:` };
  for (const { range, includesProxy } of acceptedRanges) {
    const node = await production.platform.startProcess({
      SWITCHYARD_TLS: 'off',
      SWITCHYARD_TRUST_PROXY: range,
    });
    try {
      if (node.ended !== undefined) throw new Error(`${range}: ${node.ended.stderr}`);
      const port = node.devicePort;
      for (const from of untrustedAddresses) {
        const spoofed = [
          {},
          { 'x-forwarded-for': proxy },
          { 'x-forwarded-for': `203.0.113.7, ${proxy}` },
          { forwarded: `for=${proxy}` },
          { 'x-real-ip': proxy },
          { 'x-client-cert': `:${cert}:`, 'ssl-client-cert': cert },
        ];
        for (const headers of spoofed) {
          const answer = await sendRequest({ port, from, headers: { ...forged, ...headers } });
          const response = `forged Client-Cert: ${describeResponse(answer)}`;
          const description = `${range} from ${from} with ${Object.keys(headers)}`;
          attempts.record({ description, response, isDefended: answer.status === 401 });
        }
      }
      if (!includesProxy) continue;
      const answer = await sendRequest({ port, from: proxy, headers: forged });
      attempts.requireControl(
        `the proxy of ${range} may set Client-Cert: ${describeResponse(answer)}`,
        answer.status !== 401 && answer.status < 500,
      );
    } finally {
      await node.stop();
    }
  }
}

/** The listener with TLS and without a proxy. */
async function forgeHeaderOverTls(attempts: Attempts, { platform }: Production, cert: string) {
  const { security, api } = platform.asDevice({ cert: '', key: '' });
  for (const headers of [
    { 'client-cert': `:${cert}:` },
    { 'client-cert': `:${cert}:`, 'x-forwarded-for': '127.0.0.1' },
  ]) {
    const answer = await security.call('GET', credentials, { headers });
    const response = `forged Client-Cert over TLS: ${describeResponse(answer)}`;
    attempts.record({
      description: Object.keys(headers).join(),
      response,
      isDefended: answer.status === 401,
    });
  }
  security.close();
  api.close();
}

/** One client that names another address in each request is still one client. */
async function evadeRateLimit(attempts: Attempts, { clientFrom }: Production): Promise<void> {
  const client = clientFrom('127.0.0.15');
  let accepted = 0;
  for (let count = 0; count < signUpsInHour + 10; count += 1) {
    const headers = {
      'x-forwarded-for': `198.51.100.${count}`,
      forwarded: `for=198.51.100.${count}`,
    };
    const { status } = await client.call('POST', '/onboarding/v1/sign-ups', { headers, body: {} });
    accepted += status === 429 ? 0 : 1;
    attempts.record({
      description: `sign-up ${count}`,
      response: `one address under forged addresses: ${status}`,
      isDefended: accepted <= signUpsInHour,
    });
  }
}

export const trustedProxiesAttack: Attack = {
  item: 3,
  name: 'forged Client-Cert and X-Forwarded-For, wide ranges of proxies',
  async run(attempts, platforms) {
    const production = await platforms.production();
    for (const range of wideRanges) {
      await recordRefusedStart(attempts, production, {
        changes: { SWITCHYARD_TLS: 'off', SWITCHYARD_TRUST_PROXY: range },
        faults: [/SWITCHYARD_TRUST_PROXY/],
      });
    }
    const cert = await victimCertificate(attempts, production);
    await forgeHeaderOverTls(attempts, production, cert);
    await forgeHeaderForEachRange(attempts, production, cert);
    await evadeRateLimit(attempts, production);
  },
};
