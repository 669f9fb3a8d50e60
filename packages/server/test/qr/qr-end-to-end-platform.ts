// A platform, a reference provider and a webhook receiver, each as a separate process or server.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defined } from '@switchyard/contract';
import { qrLedgerDifferences, readQrLedger } from '@switchyard/simulators';
import { scanFolder, scanText } from '../support/card-data/leak-scan.ts';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import { type EventStream, openEventStream } from '../support/event-stream-client.ts';
import { freePorts } from '../support/free-ports.ts';
import { createClient, type HttpResponse } from '../support/https-client.ts';
import {
  createServerProcess,
  inheritedEnvironment,
  type ServerProcess,
} from '../support/processes/server-process.ts';
import { eventually } from '../support/wait-for-condition.ts';
import {
  type Json,
  openReceiver,
  type ProviderProcess,
  providerProcess,
  type Receiver,
  startLimitMs,
  waitForExit,
} from './webhook-receiver-and-qr-provider.ts';

export type { Json } from './webhook-receiver-and-qr-provider.ts';

export const qrBase = '/qrcode-payment/v1/transactions';
const serverMain = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const asForm = { 'content-type': 'application/x-www-form-urlencoded' };

export type Rig = {
  readonly platform: ServerProcess;
  readonly provider: ProviderProcess;
  readonly receiver: Receiver;
  readonly paymentType: string;
  /** A token as in the demo: a user of the merchant signs in for a simulated terminal. */
  customToken(): Promise<string>;
  /** A token by the device certificate, which every call must then use. */
  certifiedDevice(): Promise<{ token: string; certificate: ClientCertificate }>;
  call(method: string, path: string, options?: CallOptions): Promise<HttpResponse>;
  /** Starts another process of the same platform without jobs, and returns its address. */
  startBeside(): Promise<string>;
  request(members?: Json): Json;
  follow(id: string, options: FollowOptions): Promise<EventStream>;
  /** All payments of this rig, read by the merchant's own application. */
  payments(): Promise<Json[]>;
  /** The differences between the ledgers of platform and provider. */
  differences(): Promise<string[]>;
  close(): Promise<void>;
};

export type ClientCertificate = { readonly cert: string; readonly key: string };
export type CallOptions = {
  token?: string;
  body?: unknown;
  certificate?: ClientCertificate;
  form?: Json;
};
export type FollowOptions = {
  token: string;
  lastEventId?: number;
  certificate?: ClientCertificate;
  baseUrl?: string;
};

type Facts = Awaited<ReturnType<ServerProcess['demoFacts']>> & {
  deviceAuthUrl: string;
  users: { username: string; password: string; otpSecret?: string; groups: string[] }[];
  devices: { tsn: string; logicalDeviceId: string; certFile: string; keyFile: string }[];
};

async function done(rig: Pick<Rig, 'call'>, path: string, body: unknown, token: string) {
  const answer = await rig.call('POST', path, { token, body });
  assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`);
  return answer.body as Json;
}

/** Declares the provider's service and activates it at every device of the acquirer. */
async function joinProvider(
  rig: Pick<Rig, 'call'>,
  service: { providerToken: string; acquirerToken: string; spiUrl: string; paymentType: string },
): Promise<{ signingSecret: string; activate(): Promise<void> }> {
  const { providerToken, acquirerToken, spiUrl, paymentType } = service;
  const catalogue = '/service-catalog/v1';
  const declaration = { name: 'QR', domain: 'Payments', paymentTypes: [paymentType], spiUrl };
  const { serviceId, signingSecret } = await done(
    ...([rig, `${catalogue}/services`, declaration, providerToken] as const),
  );
  await done(rig, `${catalogue}/services/${serviceId}/publish`, {}, providerToken);
  return {
    signingSecret,
    async activate() {
      const offer = { name: 'QR of this test', serviceIds: [serviceId] };
      const { packageId } = await done(rig, `${catalogue}/packages`, offer, acquirerToken);
      await done(rig, `${catalogue}/subscriptions`, { packageId }, acquirerToken);
      const organizationId = (await rig.call('GET', '/provisioning/v2/organizations', {
        token: acquirerToken,
      })) as HttpResponse;
      const entityId = organizationId.body.items[0].organizationId as string;
      const activation = { serviceId, level: 'Organization', entityId };
      const made = await done(rig, `${catalogue}/activations`, activation, acquirerToken);
      await eventually('the service is active', async () => {
        const path = `${catalogue}/activations/${made['activationId']}`;
        const { body } = await rig.call('GET', path, { token: acquirerToken });
        return body.status === 'Active';
      });
    },
  };
}

/** @param stepMs the pause between two steps of a payment at the provider */
export async function openRig(stepMs = 0): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-qr-'));
  const dataDir = join(folder, 'platform');
  const databaseUrl = await testDatabaseCopyUrl();
  const [port, devicePort, metricsPort, acquirerPort, providerPort] = await freePorts(5);
  const shared = {
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_DATABASE_URL: databaseUrl,
    SWITCHYARD_SIMULATORS: 'off',
    SWITCHYARD_LOG_LEVEL: 'warn',
    SWITCHYARD_ACQUIRER_PORT: String(acquirerPort),
  };
  const platform = createServerProcess({
    ...shared,
    SWITCHYARD_PORT: String(port),
    SWITCHYARD_DEVICE_PORT: String(devicePort),
    SWITCHYARD_METRICS_PORT: String(metricsPort),
  });
  const provider = providerProcess(folder, providerPort ?? 0, stepMs);
  const receiver = await openReceiver();
  const beside: ChildProcess[] = [];
  const clients = new Map<string, ReturnType<typeof createClient>>();
  await platform.start();
  const facts = (await platform.demoFacts()) as Facts;
  const ca = await readFile(facts.caFile, 'utf8');
  const paymentType = `pay${randomUUID().slice(0, 8)}`;
  const clientIds: string[] = [];

  function clientOf(baseUrl: string, certificate?: ClientCertificate) {
    const key = `${baseUrl} ${certificate?.cert ?? ''}`;
    const cached = clients.get(key);
    if (cached !== undefined) return cached;
    const made = createClient(baseUrl, ca, certificate);
    clients.set(key, made);
    return made;
  }

  async function call(
    method: string,
    path: string,
    options: CallOptions = {},
  ): Promise<HttpResponse> {
    const { token, body, certificate, form } = options;
    const isDevice = path.startsWith('/oauth2-mtls/');
    const client = clientOf(isDevice ? facts.deviceAuthUrl : facts.baseUrl, certificate);
    return client.call(
      method,
      path,
      defined({
        token,
        body,
        raw: form === undefined ? undefined : new URLSearchParams(form).toString(),
        headers: form === undefined ? undefined : asForm,
      }),
    );
  }

  async function tokenOf(name: string): Promise<string> {
    const credentials = facts.applications[name];
    assert.ok(credentials, name);
    const { clientId, clientSecret } = credentials;
    return clientOf(facts.baseUrl).token(facts.userDomainId, clientId, clientSecret);
  }

  const service = await joinProvider(
    { call },
    {
      providerToken: await tokenOf('provider'),
      acquirerToken: await tokenOf('acquirer'),
      spiUrl: provider.url,
      paymentType,
    },
  );
  const { signingSecret } = service;
  await writeFile(
    join(folder, 'platform.json'),
    JSON.stringify({
      signingSecrets: [signingSecret],
      baseUrl: facts.baseUrl,
      caFile: facts.caFile,
      tokenUrl: `${facts.baseUrl}/oauth2/v1/${facts.userDomainId}/token`,
      ...facts.applications['provider'],
    }),
    { mode: 0o600 },
  );
  await provider.start();
  await service.activate();
  const endpoint = await call('POST', '/webhooks/v1/endpoints', {
    token: await tokenOf('acquirer'),
    body: { url: receiver.url, eventTypes: ['qr.*'] },
  });
  assert.equal(endpoint.status, 201, endpoint.text);
  receiver.secret = endpoint.body.secret;

  const rig: Rig = {
    platform,
    provider,
    receiver,
    paymentType,
    call,
    async customToken() {
      const person = facts.users.find(
        ({ otpSecret, groups }) =>
          otpSecret === undefined && groups.some((group) => group.endsWith('_merchant_manager')),
      );
      assert.ok(person);
      const realm = facts.userDomainId;
      const signedIn = await call('POST', `/oauth2/v1/${realm}/token`, {
        form: {
          grant_type: 'password',
          client_id: facts.applications['device']?.clientId,
          username: person.username,
          password: person.password,
        },
      });
      assert.equal(signedIn.status, 200, signedIn.text);
      const token = signedIn.body.access_token;
      const device = facts.devices[0];
      const answer = await call('POST', `/auth/realms/${realm}/custom-token`, {
        token,
        form: { device_model: 'DX8000', device_id: device?.tsn, method: 'api' },
      });
      assert.equal(answer.status, 200, answer.text);
      return answer.body.access_token;
    },
    async certifiedDevice() {
      const device = facts.devices[0];
      assert.ok(device);
      const certificate = {
        cert: await readFile(device.certFile, 'utf8'),
        key: await readFile(device.keyFile, 'utf8'),
      };
      const serial = device.tsn.split('-')[1];
      const listed = await call(
        'GET',
        `/oauth2-mtls/v1/merchants-credentials?serial_number=${serial}`,
        { certificate },
      );
      assert.equal(listed.status, 200, listed.text);
      const [merchant] = listed.body;
      const answer = await call('POST', '/oauth2-mtls/v1/token', {
        certificate,
        form: {
          grant_type: 'client_credentials',
          client_id: merchant.clientId,
          client_secret: merchant.clientSecret,
        },
      });
      assert.equal(answer.status, 200, answer.text);
      return { token: answer.body.access_token, certificate };
    },
    async startBeside() {
      const [otherPort, otherMetrics] = await freePorts(2);
      const child = spawn(process.execPath, [serverMain], {
        env: {
          ...inheritedEnvironment(),
          ...shared,
          SWITCHYARD_PORT: String(otherPort),
          SWITCHYARD_METRICS_PORT: String(otherMetrics),
          SWITCHYARD_ROLES: 'cards',
          SWITCHYARD_BASE_URL: facts.baseUrl,
        },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      beside.push(child);
      const ready = () =>
        fetch(`http://127.0.0.1:${otherMetrics}/readyz`).then(
          ({ status }) => status === 200,
          () => false,
        );
      await eventually('the other process', ready, startLimitMs);
      return `https://localhost:${otherPort}`;
    },
    request(members = {}) {
      const clientTransactionId = randomUUID();
      clientIds.push(clientTransactionId);
      return {
        paymentType,
        paymentScenario: 'consumerscan',
        clientTransactionId,
        paymentAmount: { amount: 1050, currency: 'EUR' },
        ...members,
      };
    },
    follow(id, { token, lastEventId, certificate, baseUrl = facts.baseUrl }) {
      return openEventStream(`${baseUrl}${qrBase}/${id}/events`, {
        token,
        ca,
        ...certificate,
        ...defined({ lastEventId }),
      });
    },
    async payments() {
      const token = await tokenOf('merchant');
      const payments: Json[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const { status, body, text } = await call('GET', `${qrBase}?limit=200${query}`, { token });
        assert.equal(status, 200, text);
        payments.push(...body.items);
        cursor = body.nextCursor;
      }
      return payments;
    },
    async differences() {
      const others = (await rig.payments()).map((payment) => ({
        transactionId: payment['transactionId'],
        status: payment['status'],
        ...payment['paymentAmount'],
        refunded: payment['refundedAmount'] ?? 0,
      }));
      const ledger = readQrLedger(provider.dataDir);
      return [...ledger.faults, ...qrLedgerDifferences(ledger, others)];
    },
    async close() {
      for (const client of clients.values()) client.close();
      for (const child of beside) {
        child.kill('SIGKILL');
        await waitForExit(child);
      }
      await provider.kill();
      const code = await platform.stop();
      await receiver.close();
      for (const { body } of receiver.received) scanText('a webhook', body);
      scanFolder(dataDir);
      await rm(folder, { recursive: true, force: true });
      assert.equal(code, 0, platform.output().slice(-2000));
    },
  };
  return rig;
}
