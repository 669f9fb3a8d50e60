// Whole run: commands as users start them, each a process of its own.
// A terminal of the SDK at the demo platform: it connects, pays, sells offline, and claims itself by a code.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openWebsocket, systemClock } from '../../packages/sdk-core/src/index.ts';
import {
  convertDeviceProperties,
  createDeviceClient,
  createPaymentClient,
  createQrClient,
  createSaleProcessor,
  type DeviceError,
  type DeviceTls,
  machineTokens,
  openOfflineQueue,
} from '../../packages/sdk-device/src/index.ts';
import { websocketErrors } from '../../packages/sdk-device/src/support/device-error.ts';
import { createPosClient, PosError } from '../../packages/sdk-pos/src/index.ts';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import {
  type CuttableConnection,
  openCuttableConnection,
} from '../../packages/server/test/support/processes/cuttable-connection.ts';
import {
  createDemoServer,
  type DemoServer,
} from '../../packages/server/test/support/processes/demo-server.ts';
import type {
  DemoFacts,
  ServerProcess,
} from '../../packages/server/test/support/processes/server-process.ts';
import { eventually } from '../../packages/server/test/support/wait-for-condition.ts';

type Facts = DemoFacts & {
  authUrl: string;
  deviceAuthUrl: string;
  devices: { tsn: string; certFile: string; keyFile: string; storeId: string }[];
  qr: { paymentType: string };
};
type Members = Record<string, unknown>;

const number = `4${'1'.repeat(15)}`;
const sale = (amount = 1250) => ({
  clientTransactionId: randomUUID(),
  amount,
  currency: 'EUR',
  entryMode: 'Keyed' as const,
  instrument: { card: { number, expiryMonth: 12, expiryYear: 2030 } },
});

describe('an SDK terminal with the demo platform', { timeout: 300_000 }, () => {
  let demo: DemoServer;
  let directory: string;
  let server: ServerProcess;
  /** By which points of sale reach their sessions. */
  let wire: CuttableConnection;
  let facts: Facts;
  let tls: DeviceTls;
  let ca: string;
  before(async () => {
    const [port = 0] = await freePorts(1);
    wire = await openCuttableConnection(port);
    demo = await createDemoServer('sdk-device', {
      SWITCHYARD_PORT: String(port),
      SWITCHYARD_CONNECTOR_NODE_URL: `https://localhost:${wire.port}`,
    });
    ({ directory, server } = demo);
    await server.start();
    facts = (await server.demoFacts()) as Facts;
    ca = await readFile(facts.caFile, 'utf8');
    const [device] = facts.devices;
    assert.ok(device);
    const [cert, key] = await Promise.all([readFile(device.certFile), readFile(device.keyFile)]);
    tls = { ca, cert, key };
  });
  after(async () => {
    await demo.close();
    await wire.close();
  });

  const tokens = () =>
    machineTokens({ authUrl: facts.authUrl, deviceAuthUrl: facts.deviceAuthUrl, tls });

  /** A minimal point of sale. */
  async function pointOfSale(path: string, headers: Record<string, string>) {
    const receivedMessages: string[] = [];
    const target = {
      url: path,
      tls: { ca },
      headers,
      maxMessageBytes: 1_048_576,
      timeoutMs: 10_000,
      clock: systemClock,
      errors: websocketErrors,
    };
    const socket = await openWebsocket(target, {
      onMessage: (data) => receivedMessages.push(data.toString('utf8')),
      onClose() {},
    });
    return {
      socket,
      async next(): Promise<string> {
        await eventually('a message', () => receivedMessages.length > 0);
        return receivedMessages.shift() ?? '';
      },
    };
  }

  // Spec: CC-13
  test('a point of sale finds the terminal through the connector by its properties', async (t) => {
    const [{ tsn, certFile, keyFile }] = facts.devices as [Facts['devices'][0]];
    const { clientId, clientSecret } = facts.applications['cloud'] as DemoFacts['applications'][''];
    const api = facts.baseUrl.replace('https:', 'wss:');
    const settings = convertDeviceProperties(
      {
        ep_register_url: `${api}/cloud-connector/v1/device-listener`,
        enable_ssl: '1',
        ssl_profile_name: 'demo',
        connection_ssl_profile: 'demo',
        ssl_profile_crt: certFile,
        custom_registration_data: JSON.stringify({
          client_id: clientId,
          client_secret: clientSecret,
        }),
      },
      { ca, key: await readFile(keyFile) },
    );
    const client = createDeviceClient({ ...settings, tsn, retryDelays: { firstMs: 10 } });
    t.after(() => client.stop());
    const errors: DeviceError[] = [];
    client.on('error', (error) => errors.push(error));
    client.on('message', ({ data }) => void client.send(`heard ${data.toString('utf8')}`));
    client.start();
    await eventually('connected', () => client.state === 'Connected' || errors.length > 3).catch(
      () => {},
    );
    assert.deepEqual(
      errors.map(({ code, message }) => `${code} ${message}`),
      [],
    );

    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId });
    form.set('client_secret', clientSecret);
    const http = await server.client();
    const tokenResponse = await http.call('POST', `/oauth2/v1/${facts.userDomainId}/token`, {
      raw: form.toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const authorization = `Bearer ${tokenResponse.body.access_token}`;
    const control = await pointOfSale(`${api}/cloud-connector/v1/pos-listener`, { authorization });
    control.socket.send(JSON.stringify({ type: 'claim', requestId: '1', tsn, posId: 'till-1' }));
    const claimed = JSON.parse(await control.next()) as Members;
    assert.equal(claimed['type'], 'claimed', JSON.stringify(claimed));
    const session = await pointOfSale(String(claimed['sessionUrl']), { authorization });
    session.socket.send('{"SaleToPOIRequest":{}}');
    assert.equal(await session.next(), 'heard {"SaleToPOIRequest":{}}');

    const second = createDeviceClient({ ...settings, tsn });
    t.after(() => second.stop());
    second.start();
    await eventually('superseded', () => client.state === 'Superseded');
    session.socket.close();
    control.socket.close();
    http.close();
  });

  // Spec: NEXO-39
  test('an SDK point of sale reconnects after a break, and gets the missed messages first', async (t) => {
    const [, { tsn, certFile, keyFile }] = facts.devices as [unknown, Facts['devices'][0]];
    const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)]);
    const listener = facts.deviceAuthUrl.replace('https:', 'wss:');
    const terminal = createDeviceClient({
      tsn,
      tls: { ca, cert, key },
      retryDelays: { firstMs: 10 },
      registerUrl: `${listener}/cloud-connector/v1/device-listener`,
    });
    t.after(() => terminal.stop());
    const requests: string[] = [];
    terminal.on('message', ({ data }) => requests.push(data.toString('utf8')));
    terminal.start();
    await eventually('connected', () => terminal.state === 'Connected');
    const { clientId, clientSecret } = facts.applications['cloud'] as DemoFacts['applications'][''];
    const tokenUrl = `${facts.authUrl}/oauth2/v1/${facts.userDomainId}/token`;
    const tillOf = (posId: string) => {
      const credentials = { tokenUrl, clientId, clientSecret };
      const made = createPosClient({ baseUrl: facts.baseUrl, tls: { ca }, posId, credentials });
      t.after(() => made.close());
      return made;
    };
    const receivedMessages: (string | Buffer)[] = [];
    const breaks: PosError[] = [];
    const events = {
      onMessage: (data: string | Buffer) => receivedMessages.push(data),
      onConnectionLost: (error: PosError) => breaks.push(error),
    };
    const session = await tillOf('till-1').claim(tsn, { waitSeconds: 10 }, events);
    await session.send('before');
    await eventually('it is heard', () => requests.length === 1);
    const former = session.sessionId();

    wire.cut();
    await eventually('the break', () => breaks.length === 1);
    assert.equal(breaks[0]?.code, 'connection_lost');
    const other = tillOf('till-2');
    const ignore = { onMessage() {}, onConnectionLost() {} };
    await eventually('it is kept for its till', async () => {
      const refused = await other.claim(tsn, {}, ignore).catch((error: unknown) => error);
      assert.ok(refused instanceof PosError && refused.code === 'device_claimed');
      // While it is in use nobody can say how long; it is kept for half a minute.
      return (refused.retryAfterMs ?? 0) > 5000;
    });
    for (const message of ['one', 'two', Buffer.from([3])]) await terminal.send(message);
    wire.restore();
    assert.equal(await session.resume(), true);
    assert.notEqual(session.sessionId(), former);
    await terminal.send('four');
    await eventually('all of it', () => receivedMessages.length === 4);
    assert.deepEqual(receivedMessages, ['one', 'two', Buffer.from([3]), 'four']);
    await session.send('after');
    await eventually('the answer', () => requests.at(-1) === 'after');
    await session.release();
    const next = await other.claim(tsn, { waitSeconds: 5 }, ignore);
    await next.release();
    assert.equal(breaks.length, 1);
  });

  // Spec: SVC-29
  test('the terminal pays with the token of its certificate, and uploads offline sales', async (t) => {
    const source = tokens();
    const payments = createPaymentClient({ baseUrl: facts.baseUrl, tokens: source, tls });
    const key = Buffer.alloc(32, 3);
    const queue = openOfflineQueue({ file: join(directory, 'offline'), key, limits: { count: 5 } });
    t.after(() => {
      for (const each of [payments, source, queue]) each.close();
    });
    const till = createSaleProcessor({ payments, queue, approve: async () => '9A01B2' });
    const request = sale();
    const made = await till.sell(request);
    assert.ok(made.mode === 'Online' && made.transaction.approved);
    assert.equal((await payments.sell(request)).transactionId, made.transaction.transactionId);
    const status = await payments.find(request.clientTransactionId);
    assert.equal(status.state, 'Captured');
    const allowedOperations = await payments.allowedOperations(request.clientTransactionId);
    assert.equal(allowedOperations.operation, 'Refund');
    await assert.rejects(payments.find('nobody'), {
      kind: 'Refused',
      code: 'transaction_not_found',
    });
    till.setStandalone(true);
    await till.sell(sale(700));
    await till.sell(sale(800));
    till.setStandalone(false);
    const [first, second] = await queue.upload(payments);
    assert.equal(first?.outcome, 'Stored', JSON.stringify(first));
    assert.equal(second?.outcome, 'Stored');
    assert.equal(await till.checkPlatform(), undefined);
    assert.deepEqual(queue.sales, []);
  });

  test('the terminal shows a QR code, and gets the event of its payment', async (t) => {
    const source = tokens();
    const qr = createQrClient({ baseUrl: facts.baseUrl, tokens: source, tls });
    t.after(() => {
      qr.close();
      source.close();
    });
    const payment = await qr.create({
      paymentType: facts.qr.paymentType,
      paymentScenario: 'consumerscan',
      clientTransactionId: randomUUID(),
      paymentAmount: { amount: 1050, currency: 'EUR' },
    });
    assert.equal(payment.display?.type, 'image/png');
    const receivedMessages: string[] = [];
    for await (const { type } of qr.follow(payment.transactionId)) receivedMessages.push(type);
    assert.ok(
      receivedMessages.includes('qr.created') && receivedMessages.at(-1) === 'qr.completed',
      receivedMessages.join(' '),
    );
  });
});
