// Whole run: starts the demo, NATS and Prometheus, and makes payments until all metrics have values.
// Each query of a dashboard and each metric of an alert has data at a Prometheus that scrapes the platform.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connectorPaths } from '@switchyard/contract';
import { WebSocket } from 'ws';
import { type Line, lineOf } from '../../packages/server/test/connector/test-connector.ts';
import {
  heardBy,
  paidOf,
  paymentOf,
} from '../../packages/server/test/connector/test-retail-api.ts';
import {
  transactionsPath,
  waitForLink,
} from '../../packages/server/test/faults/load-during-faults.ts';
import { bearerHeaders } from '../../packages/server/test/support/bearer-headers.ts';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import type { Client, HttpResponse } from '../../packages/server/test/support/https-client.ts';
import { keyedSale } from '../../packages/server/test/support/keyed-sale.ts';
import {
  createDemoServer,
  type DemoServer,
} from '../../packages/server/test/support/processes/demo-server.ts';
import {
  createNatsServer,
  type NatsServer,
  natsPassword,
  natsUser,
} from '../../packages/server/test/support/processes/nats-server.ts';
import type { DemoFacts } from '../../packages/server/test/support/processes/server-process.ts';
import { until } from '../../packages/server/test/support/wait-for-result.ts';
import {
  receiver as openReceiver,
  type Receiver,
} from '../../packages/server/test/webhooks/webhook-receiver.ts';
import { repositoryRoot } from '../repository-root.ts';
import { ruleFiles, rules } from './alert-rules.ts';
import { type Prometheus, prometheusSkipReason, promtool, startPrometheus } from './prometheus.ts';

/** Series that a healthy demo does not have. */
const absentSeries = new Set([
  // Absent while the circuit breaker is closed.
  'switchyard_provider_circuit_breaker_state',
  // The link of the demo has no client certificate.
  'switchyard_acquirer_link_certificate_expiry_timestamp_seconds',
  // No request has failed.
  'switchyard_http_request_duration_seconds_count{operation="processTransaction",status=~"5.."}',
]);

const dashboardsFolder = join(repositoryRoot, 'deploy/dashboards');
const form = { 'content-type': 'application/x-www-form-urlencoded' };

type DashboardJson = {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: { readonly expr: string }[];
  }[];
};

/** Demo facts of this test. */
type Facts = DemoFacts & {
  readonly qr: { readonly paymentType: string };
  readonly users: readonly { username: string; password: string; otpSecret?: string }[];
};

function assertStatus(response: HttpResponse, status: number): HttpResponse {
  assert.equal(response.status, status, response.text);
  return response;
}

async function sell(client: Client, token: string, { devices }: Facts): Promise<void> {
  await waitForLink(client, token);
  const deviceId = devices[0]?.logicalDeviceId;
  const process = async (members: Record<string, unknown>) =>
    assertStatus(
      await client.call('POST', `${transactionsPath}/process`, {
        token,
        body: keyedSale({ deviceId, ...members }),
      }),
      200,
    ).body;
  assert.equal((await process({ amount: 1000 })).state, 'Captured');
  // The simulated host does not answer this amount.
  const { transactionId } = await process({ amount: 9091 });
  await until(async () => {
    const path = `${transactionsPath}/${transactionId}`;
    const { body } = await client.call('GET', path, { token });
    return body.state === 'Reversed' ? true : undefined;
  }, 'the reversal');
}

/** A payment at a terminal over the connector, after the terminal was refused with a wrong secret. */
async function payAtTerminal(client: Client, facts: Facts): Promise<void> {
  const { baseUrl, caFile, devices, applications, userDomainId } = facts;
  const [terminal] = devices;
  const { clientId = '', clientSecret = '' } = applications['cloud'] ?? {};
  assert.ok(terminal);
  const ca = readFileSync(caFile, 'utf8');
  const token = await client.token(userDomainId, clientId, clientSecret);
  const sockets: WebSocket[] = [];
  async function open(path: string, bearer?: string): Promise<Line> {
    const url = `${baseUrl.replace(/^http/, 'ws')}${path}`;
    const socket = new WebSocket(url, { ca, headers: bearerHeaders(bearer) });
    sockets.push(socket);
    const line = lineOf(socket);
    await once(socket, 'open');
    return line;
  }
  async function register(secret: string) {
    const listener = await open(connectorPaths.deviceListener);
    const credentials = { client_id: clientId, client_secret: secret };
    listener.send({ type: 'register', tsn: terminal?.tsn, ...credentials });
    return listener;
  }
  await (await register('wrong')).closed();
  const { connectionUrl, token: deviceToken } = await (await register(clientSecret)).next();
  const device = await open(new URL(connectionUrl).pathname, deviceToken);
  const paying = client.call('POST', `/retail/v1/devices/${terminal.tsn}/sync?posId=p1`, {
    token,
    body: paymentOf(),
  });
  device.send(paidOf(await heardBy(device)));
  assertStatus(await paying, 200);
  for (const socket of sockets) socket.close();
}

async function payByQrCode(client: Client, facts: Facts): Promise<void> {
  const { userDomainId: realm, applications, devices, users, qr } = facts;
  const { username = '', password = '' } =
    users.find(({ otpSecret }) => otpSecret === undefined) ?? {};
  const sendForm = async (path: string, values: Record<string, string>, headers = {}) =>
    assertStatus(
      await client.call('POST', path, {
        raw: new URLSearchParams(values).toString(),
        headers: { ...form, ...headers },
      }),
      200,
    ).body.access_token;
  const clientId = applications['device']?.clientId ?? '';
  const login = { grant_type: 'password', client_id: clientId, username, password };
  const userToken = await sendForm(`/oauth2/v1/${realm}/token`, login);
  const device = { device_model: 'X', device_id: devices[0]?.tsn ?? '', method: 'api' };
  const token = await sendForm(
    `/auth/realms/${realm}/custom-token`,
    device,
    bearerHeaders(userToken),
  );
  const clientTransactionId = 'qr-of-this-test';
  const body = {
    paymentType: qr.paymentType,
    paymentScenario: 'consumerscan',
    clientTransactionId,
    paymentAmount: { amount: 500, currency: 'EUR' },
  };
  const payments = '/qrcode-payment/v1/transactions';
  const created = await client.call('POST', payments, { token, body });
  assert.ok(created.status < 300, created.text);
  await until(async () => {
    const { body: payment } = await client.call('GET', `${payments}/${clientTransactionId}`, {
      token,
    });
    return payment.status === 'Completed' ? true : undefined;
  }, 'the QR payment');
}

describe('queries of alerts and dashboards', {
  skip: prometheusSkipReason,
  timeout: 300_000,
}, () => {
  let demo: DemoServer | undefined;
  let nats: NatsServer | undefined;
  let prometheus: Prometheus | undefined;
  let receiver: Receiver | undefined;
  let metricsUrl = '';

  before(async () => {
    const [natsPort = 0, prometheusPort = 0, qrPort = 0] = await freePorts(3);
    nats = createNatsServer(natsPort);
    await nats.start();
    demo = await createDemoServer('observability', {
      SWITCHYARD_NATS_URL: `nats://${natsUser}:${natsPassword}@localhost:${natsPort}`,
      SWITCHYARD_QR_PROVIDER_PORT: String(qrPort),
      SWITCHYARD_ACQUIRER_TIMEOUT_MS: '1000',
      SWITCHYARD_LOG_LEVEL: 'warn',
    });
    await demo.server.start();
    const facts = (await demo.server.demoFacts()) as Facts;
    metricsUrl = facts.metricsUrl;
    prometheus = await startPrometheus({
      directory: demo.directory,
      port: prometheusPort,
      target: new URL(metricsUrl).host,
      ruleFiles,
    });
    const client = await demo.server.client();
    const tokenOf = (application: string) => {
      const { clientId = '', clientSecret = '' } = facts.applications[application] ?? {};
      return client.token(facts.userDomainId, clientId, clientSecret);
    };
    receiver = await openReceiver();
    const { received } = receiver;
    const endpoint = { url: receiver.url, eventTypes: ['transaction.*'] };
    const token = await tokenOf('acquirer');
    assertStatus(
      await client.call('POST', '/webhooks/v1/endpoints', { token, body: endpoint }),
      201,
    );
    await sell(client, await tokenOf('merchant'), facts);
    await payAtTerminal(client, facts);
    await payByQrCode(client, facts);
    await until(async () => (received.length > 0 ? true : undefined), 'a webhook');
  });
  after(async () => {
    await prometheus?.stop();
    await receiver?.stop();
    await demo?.close();
    await nats?.kill();
  });

  /** The counter must be scraped, and the rule evaluated, before the query has data. */
  async function assertHasData(expression: string): Promise<void> {
    await until(async () => {
      const samples = (await prometheus?.query(expression)) ?? [];
      return samples.length > 0 ? true : undefined;
    }, expression);
  }

  it('names its metrics by the conventions of Prometheus', async () => {
    const text = await (await fetch(`${metricsUrl}/metrics`)).text();
    const lines = text.split('\n').filter((line) => line.includes('switchyard_'));
    promtool(['check', 'metrics'], `${lines.join('\n')}\n`);
  });

  it('evaluates each rule without an error, and each recorded value exists', async () => {
    for (const record of new Set(rules.flatMap((rule) => rule.record ?? [])))
      await assertHasData(record);
    for (const { name, health, lastError } of (await prometheus?.rules()) ?? [])
      assert.equal(health, 'ok', `${name}: ${lastError}`);
  });

  it('has each metric that a rule reads', async () => {
    const selectors = new Set(
      rules.flatMap(
        ({ expr }) => expr.match(/(?<!:)\b(?:switchyard_\w+|up\b)(?:\{[^}]*\})?/g) ?? [],
      ),
    );
    for (const selector of selectors)
      if (!absentSeries.has(selector)) await assertHasData(selector);
  });

  for (const file of readdirSync(dashboardsFolder).filter((name) => name.endsWith('.json'))) {
    it(`has data for each query of the dashboard ${file}`, async () => {
      const { panels } = JSON.parse(
        readFileSync(join(dashboardsFolder, file), 'utf8'),
      ) as DashboardJson;
      assert.ok(panels.length > 0);
      for (const { expr } of panels.flatMap(({ targets }) => targets)) {
        const query = expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m');
        await assertHasData(query);
      }
    });
  }
});
